// The forward passes of the Transformer and of the GPT, operation by operation.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/nn/learned_positions.h>
#include <tapegrad/nn/mask.h>
#include <tapegrad/nn/position_kind.h>
#include <tapegrad/tasks/settings/bad_request.h>
#include <tapegrad/tutorials/step/forward.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace tapegrad::tasks::step {
namespace {

using nlohmann::ordered_json;

void require_plain(const std::string& positions, const nn::PositionOptions& options,
                   const nn::AttentionChoice& attention) {
  require(attention.name() == "full", "--model",
          fmt::format("expected a model with full attention, got {} (a page shows every score)", attention.name()));
  std::vector<std::string_view> known;
  for (const nn::PositionKind* kind : nn::position_kinds())
    if (kind->ignores_tokens()) known.push_back(kind->name);
  require(std::find(known.begin(), known.end(), positions) != known.end(), "--model",
          fmt::format("expected positions {}, got {}", fmt::join(known, ", "), positions));
  require(options.of<nn::LearnedPositionOptions>().interpolate_to == 0, "--model",
          "expected learned positions that are not interpolated (--interpolate-to 0)");
}

// Token vectors plus what the model adds for positions.
int64_t embedded(Trace& trace, const std::string& name, const std::string& table, const nn::Embedding& embedding,
                 const nn::AddedPositions& positions, const std::string& positions_table, int64_t tokens) {
  const int64_t vectors = trace.rows(name + ".tokens", trace.parameter(table + ".weight"), tokens, embedding.padding);
  if (!positions.encoding.defined()) return vectors;
  const Shape shape = trace.value(vectors).shape();
  const bool learned = trace.parameters().has(positions_table + ".weight");
  const int64_t added =
      learned ? trace.first_rows(name + ".positions", trace.parameter(positions_table + ".weight"), shape[0])
              : trace.constant(name + ".positions", positions(zeros({1, shape[0], shape[1]})).select(0, 0));
  return trace.add(name + ".sum", vectors, added);
}

// The names of one attention module's parameters.
struct Projections {
  std::string query, key, value, output;
};

int64_t attended(Trace& trace, const std::string& name, const Projections& layers, int64_t x, int64_t memory,
                 int64_t heads, const std::optional<Mask>& mask) {
  const int64_t q = trace.heads(name + ".q", trace.linear(name + ".query", x, layers.query), heads);
  const int64_t k = trace.heads(name + ".k", trace.linear(name + ".key", memory, layers.key), heads);
  const int64_t v = trace.heads(name + ".v", trace.linear(name + ".value", memory, layers.value), heads);
  const double width = static_cast<double>(trace.value(q).size(2));
  int64_t scores = trace.scale(name + ".scaled", trace.scores(name + ".scores", q, k), 1 / std::sqrt(width));
  if (mask) scores = trace.mask(name + ".masked", scores, *mask);
  const int64_t weights = trace.softmax(name + ".weights", scores);
  const int64_t joined = trace.join(name + ".joined", trace.mix(name + ".contexts", weights, v));
  return trace.linear(name + ".output", joined, layers.output);
}

Mask causal(int64_t length) { return {nn::causal_mask(length), {{"rule", "causal"}}}; }

// --- encoder and decoder ---

// Names and parts that all layers share.
class Writer {
 public:
  Writer(Trace& trace, const nn::Transformer& model) : trace_(trace), config_(model.config) {}

  int64_t norm(const std::string& name, int64_t x, const std::string& layer) {
    return trace_.norm(name, x, layer + ".gamma", layer + ".beta", config_.layer_norm_eps, true);
  }
  // x + block(norm(x)), or norm(x + block(x)).
  int64_t around(const std::string& name, const std::string& norms, int64_t x, auto&& block) {
    if (config_.post_norm) return norm(name + ".norm", trace_.add(name + ".residual", x, block(x)), norms);
    return trace_.add(name + ".residual", x, block(norm(name + ".norm", x, norms)));
  }
  int64_t attention(const std::string& name, int64_t x, int64_t memory, const std::optional<Mask>& mask) {
    const auto layer = [&](int i) { return fmt::format("{}.linear_layers.{}", name, i); };
    return attended(trace_, name, {layer(0), layer(1), layer(2), layer(3)}, x, memory, config_.num_attention_heads,
                    mask);
  }
  int64_t feed_forward(const std::string& name, int64_t x) {
    const int64_t wide = trace_.linear(name + ".expanded", x, name + ".w_1");
    return trace_.linear(name + ".contracted", trace_.activation(name + ".activated", wide, config_.activation),
                         name + ".w_2");
  }
  int64_t embeddings(const std::string& name, const nn::Embeddings& part, int64_t tokens) {
    const std::string of = name + ".embeddings";
    const int64_t sum = embedded(trace_, of, of + ".token_embeddings", part.token_embeddings, part.position_embeddings,
                                 of + ".position_embeddings", tokens);
    return norm(of + ".norm", sum, of + ".norm");
  }
  int64_t encoder(const nn::TransformerEncoder& encoder, int64_t tokens, const std::optional<Mask>& mask) {
    int64_t x = embeddings("encoder", encoder.embeddings, tokens);
    for (std::size_t i = 0; i < encoder.layers.size(); ++i) {
      const std::string layer = fmt::format("encoder.layers.{}", i);
      x = around(layer + ".sublayer.0", layer + ".sublayer.0.norm", x,
                 [&](int64_t y) { return attention(layer + ".attention", y, y, mask); });
      x = around(layer + ".sublayer.1", layer + ".sublayer.1.norm", x,
                 [&](int64_t y) { return feed_forward(layer + ".feed_forward", y); });
    }
    return norm("encoder.norm", x, "encoder.norm");
  }
  int64_t decoder(const nn::TransformerDecoder& decoder, int64_t tokens, int64_t memory,
                  const std::optional<Mask>& mask) {
    int64_t x = embeddings("decoder", decoder.embeddings, tokens);
    const Mask later = causal(trace_.value(x).size(0));
    for (std::size_t i = 0; i < decoder.layers.size(); ++i) {
      const std::string layer = fmt::format("decoder.layers.{}", i);
      x = around(layer + ".self_attn", layer + ".norm1", x,
                 [&](int64_t y) { return attention(layer + ".self_attn", y, y, later); });
      x = around(layer + ".cross_attn", layer + ".norm2", x,
                 [&](int64_t y) { return attention(layer + ".cross_attn", y, memory, mask); });
      x = around(layer + ".feed_forward", layer + ".norm3", x,
                 [&](int64_t y) { return feed_forward(layer + ".feed_forward", y); });
    }
    return norm("decoder.norm", x, "decoder.norm");
  }

 private:
  Trace& trace_;
  const nn::TransformerConfig& config_;
};

// The source's mask of keys, which is none, or hides one token.
std::optional<Mask> source_mask(const Task& task, const Tensor& source, int64_t tokens) {
  const Tensor mask = task.source_mask(source);  // [1, 1, 1, S]
  if (!mask.defined()) return {};
  require(any(mask), "--text", "expected a source with at least one token that is not padding");
  return Mask{mask.reshape({1, source.size(1)}), {{"rule", "padding"}, {"tokens", tokens}, {"hidden", 0}}};
}

}  // namespace

void trace_transformer(Trace& trace, const nn::Transformer& model, const Task& task, const Batch& example) {
  require_plain(std::string(nn::name(model.config.positions)), model.config.position_options, model.config.attention);
  const int64_t source = trace.tokens("source", example.source.select(0, 0));
  const int64_t target =
      trace.tokens("target", example.target.select(0, 0), {{"link", {{"to", source + 2}, {"by", 1}}}});
  const int64_t read = trace.tokens("read", shifted(task, example.target).select(0, 0), {{"fixed", true}});
  const std::optional<Mask> mask = source_mask(task, example.source, source);
  Writer writer(trace, model);
  const int64_t memory = writer.encoder(model.encoder, source, mask);
  const int64_t hidden = writer.decoder(model.decoder, read, memory, mask);
  const int64_t logs = trace.log_softmax("log_probabilities", trace.linear("logits", hidden, "generator"));
  const Tensor loss = task.loss(trace.value(logs).unsqueeze(0), example.target);
  trace.loss("loss", logs, target, task.padding() ? "sum" : "sum_eps", task.padding(), loss);
}

// --- GPT ---

void trace_gpt(Trace& trace, const nn::GPTModel& model, const Tensor& ids) {
  const nn::GPTConfig& config = model.config;
  require_plain(std::string(nn::name(config.positions)), config.position_options, config.attention);
  require(config.n_kv_heads == 0 || config.n_kv_heads == config.n_heads, "--model",
          fmt::format("expected as many heads of keys and values as of queries, got {} and {}", config.n_kv_heads,
                      config.n_heads));
  const int64_t length = ids.size(0) - 1;
  const int64_t read = trace.tokens("read", narrow(ids, 0, 0, length), {{"link", {{"to", 1}, {"by", -1}}}});
  const int64_t target = trace.tokens("target", narrow(ids, 0, 1, length), {{"link", {{"to", 0}, {"by", 1}}}});
  int64_t x = embedded(trace, "embeddings", "tok_emb", model.tok_emb, model.pos_emb, "pos_emb", read);
  const Mask later = causal(length);
  const auto norm = [&](const std::string& name, int64_t y) {
    return trace.norm(name, y, name + ".scale", name + ".shift", model.final_norm.eps, false);
  };
  for (std::size_t i = 0; i < model.trf_blocks.size(); ++i) {
    const std::string block = fmt::format("trf_blocks.{}", i), att = block + ".att", ff = block + ".ff";
    const int64_t n = norm(block + ".norm1", x);
    const int64_t y = attended(trace, att, {att + ".W_query", att + ".W_key", att + ".W_value", att + ".out_proj"}, n,
                               n, config.n_heads, later);
    x = trace.add(att + ".residual", x, y);
    const int64_t wide = trace.linear(ff + ".expanded", norm(block + ".norm2", x), ff + ".layers.0");
    const int64_t bent = trace.activation(ff + ".activated", wide, nn::Activation::gelu_tanh);
    x = trace.add(ff + ".residual", x, trace.linear(ff + ".contracted", bent, ff + ".layers.2"));
  }
  const std::string head = config.tied_head ? "tok_emb.weight" : "out_head.weight";
  const int64_t logits = trace.product("logits", norm("final_norm", x), trace.parameter(head));
  const int64_t logs = trace.log_softmax("log_probabilities", logits);
  trace.loss("loss", logs, target, "mean", {}, nll_loss(trace.value(logs), trace.value(target)));
}

}  // namespace tapegrad::tasks::step
