// The sentence of tutorial 004, sizes, and JSON.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <tapegrad/autograd/io/internal/json.h>
#include <tapegrad/tapegrad.h>
#include <tapegrad/tasks/language/messages.h>
#include <tapegrad/tutorials/attention/decoding.h>
#include <tapegrad/tutorials/pages/journey.h>
#include <tapegrad/tutorials/programs/attention.h>

#include <cmath>

namespace tapegrad::tasks::tutorial {

const std::vector<std::string>& journey_words() {
  static const std::vector<std::string> kWords{"Your", "journey", "starts", "with", "one", "step"};
  return kWords;
}

JourneyRoles::JourneyRoles() {
  manual_seed(123);
  w_query = rand({3, 2}), w_key = rand({3, 2}), w_value = rand({3, 2});
  const Tensor x = given::journey();
  queries = matmul(x, w_query), keys = matmul(x, w_key), values = matmul(x, w_value);
}

Tensor journey_scores() {
  manual_seed(789);
  const SelfAttention_v2 attention(3, 2);
  const Tensor x = given::journey();
  return matmul(attention.query(x), attention.key(x).t());
}

nn::TransformerConfig sizes_of_model(int64_t vocab, int64_t hidden, int64_t layers, int64_t heads, int64_t inner,
                                     int64_t length, double dropout) {
  return {.vocab_size = vocab,
          .hidden_size = hidden,
          .num_hidden_layers = layers,
          .num_attention_heads = heads,
          .intermediate_size = inner,
          .dropout_prob = dropout,
          .hidden_dropout_prob = dropout,
          .attention_probs_dropout_prob = dropout,
          .max_position_embeddings = length};
}

std::string json_of(const Tensor& x) {
  if (x.dim() == 0) return fmt::format("{}", std::round(x.item() * 1e4) / 1e4);
  std::vector<std::string> parts;
  for (int64_t i = 0; i < x.size(0); ++i) parts.push_back(json_of(x[i]));
  return fmt::format("[{}]", fmt::join(parts, ","));
}

std::string json_of(const std::vector<std::string>& texts) {
  std::vector<std::string> quoted;  // the pages' words have neither quotes nor backslashes
  for (const std::string& text : texts) quoted.push_back(fmt::format("\"{}\"", text));
  return fmt::format("[{}]", fmt::join(quoted, ","));
}

std::string json_of(const Text& text) { return fmt::format("\"{}\"", text.in(language_of_locale())); }

std::string json_of(const std::vector<FormulaInput>& inputs, const std::vector<FormulaResult>& results, int digits) {
  std::vector<std::string> sliders, shown;
  for (const FormulaInput& one : inputs)
    sliders.push_back(
        fmt::format("{{\"key\":\"{}\",\"name\":{},\"min\":{},\"max\":{},\"step\":{},\"value\":{},\"power\":{}}}",
                    one.key, json_of(one.name), one.min, one.max, one.step, one.value, one.power));
  for (const FormulaResult& one : results)
    shown.push_back(fmt::format("{{\"name\":{},\"formula\":{}}}", json_of(one.name), one.formula));
  return fmt::format("{{\"inputs\":[{}],\"results\":[{}],\"digits\":{}}}", fmt::join(sliders, ","),
                     fmt::join(shown, ","), digits);
}

std::string json_of_mask(const std::vector<std::string>& tokens, const Tensor& scores, const Tensor& allowed) {
  return fmt::format("{{\"tokens\":{},\"scores\":{},\"allowed\":{},\"when\":\"before\"}}", json_of(tokens),
                     json_of(scores), json_of(allowed.to(kFloat32).expand(scores.shape())));
}

std::string json_of_heads(const Tensor& weights, const Text& group, const std::vector<std::string>& rows,
                          const std::vector<std::string>& columns) {
  std::vector<HeadMap> heads;
  for (int64_t h = 0; h < weights.size(0); ++h) {
    HeadMap head;
    head.label = said("Head {}", h);
    head.heading = group.in(language_of_locale());
    head.self = rows == columns;
    head.row_tokens = rows;
    head.column_tokens = columns;
    head.weights = weights[h].contiguous().to_vector<float>();
    heads.push_back(std::move(head));
  }
  return json::text_of(heads_json(heads));
}

std::string json_of_heads(const nn::AttentionMaps& maps, const std::vector<std::string>& source,
                          const std::vector<std::string>& target) {
  std::vector<HeadMap> all;
  for (std::size_t i = 0; i < maps.size(); ++i) {
    const std::string& name = maps[i].name;  // "encoder.layers.0.attention"
    const bool encoder = name.starts_with("encoder"), cross = name.ends_with("cross_attn");
    const std::string kind = encoder ? said("Encoder: self-attention")
                             : cross ? said("Decoder: cross-attention")
                                     : said("Decoder: masked self-attention");
    HeadMap like;
    like.name = encoder ? "encoder" : "decoder";
    like.heading = kind;
    like.layer = name[name.find("layers.") + 7] - '0';
    like.self = !cross;
    like.row_tokens = encoder ? source : target;
    like.column_tokens = encoder || cross ? source : target;
    for (HeadMap& head : heads_of(maps, i, like)) all.push_back(std::move(head));
  }
  return json::text_of(heads_json(all));
}

}  // namespace tapegrad::tasks::tutorial
