// Tutorial 003, sections 8.4.3 and 8.4.4: the decoder, choosing tokens, and the whole Transformer.
#include <fmt/format.h>
#include <tapegrad/tapegrad.h>
#include <tapegrad/tasks/language/messages.h>
#include <tapegrad/train/drawing/charts.h>
#include <tapegrad/tutorials/numbers.h>
#include <tapegrad/tutorials/pages.h>
#include <tapegrad/tutorials/pages/journey.h>
#include <tapegrad/tutorials/show/architecture_models.h>
#include <tapegrad/tutorials/show/show.h>

#include <algorithm>
#include <utility>

namespace tapegrad::tasks::tutorial {
namespace {

// What may follow "나는": the tutorial's four words, with probabilities of ours.
Tensor next_words() { return tensor({0.45, 0.30, 0.15, 0.10}, kFloat64); }

// The k most likely words, renormalised. The words are in order of probability.
Tensor first_words(int64_t k) {
  const Tensor kept = next_words() * (arange(4) < static_cast<double>(k)).to(kFloat64);
  return kept / sum(kept);
}

Tensor with_temperature(double temperature) { return softmax(log(next_words()) / temperature); }

// The strategies of the figure, and what each makes of the probabilities.
std::vector<std::pair<std::string, Tensor>> strategies() {
  return {{said("model"), next_words()},      {said("greedy"), first_words(1)},   {"top-k, k = 2", first_words(2)},
          {"top-p, p = 0.9", first_words(3)}, {"T = 0.5", with_temperature(0.5)}, {"T = 1.5", with_temperature(1.5)}};
}

std::vector<Number> numbers_of_choice() {
  std::string rows;
  for (const auto& [name, probabilities] : strategies())
    rows += fmt::format("{:<15} {}\n", name, rows_of(probabilities, 4));
  return {own(rows)};
}

std::vector<Figure> figures_of_choice() {
  const std::vector<std::string> words{"학교에", "집에", "공원에", "밥을"};
  std::vector<drawing::Series> series;
  for (const auto& [name, probabilities] : strategies())
    series.push_back({.name = name, .y = probabilities.to_vector<double>()});
  return {{draw(drawing::BarChart{
      .title = said("Probability of the next word"), .labels = words, .series = series, .width = 560, .height = 220})}};
}

// How many words a nucleus of 0.8 keeps by either rule.
std::string sizes_of_nucleus() {
  const std::vector<double> sums = cumsum(next_words(), 0).to_vector<double>();
  std::string out = said("words  sum\n");
  for (std::size_t i = 0; i < sums.size(); ++i) out += fmt::format("{:>5}  {:.2f}\n", i + 1, sums[i]);
  const auto below = std::count_if(sums.begin(), sums.end(), [](double sum) { return sum <= 0.8; });
  return out + said("p = 0.8: \"not above\" keeps {} words, \"the fewest that reach it\" are {}\n", below, below + 1);
}

nn::TransformerConfig embedding_config() {
  return {.vocab_size = 1000, .hidden_size = 768, .max_position_embeddings = 512};
}

std::vector<Number> numbers_of_whole() {
  manual_seed(0);
  const nn::Embeddings embeddings(embedding_config());
  const Tensor ids = tensor({{1, 5, 9, 2}, {6, 3, 7, 4}}), embedded = embeddings(ids);
  return {same("Input shape", plain_shape(ids)), same("Shape after embedding", plain_shape(embedded)),
          drawn("Part of the embedding vector for the first token of the first sequence",
                rows_of(embedded[0][0].slice(0, 0, 8), 4) + "\n" + rows_of(embedded[0][0].slice(0, 8, 10), 4))};
}

// A small untrained Transformer that reads four tokens and two of padding, and its attention.
const std::vector<std::string> kSourceOfWhole{"7", "4", "9", "5", "PAD", "PAD"};

std::vector<std::string> target_of_whole(std::string start) { return {std::move(start), "7", "4", "9", "5"}; }

nn::AttentionMaps maps_of_whole() {
  manual_seed(0);
  const nn::Transformer model(sizes_of_model(20, 32, 2, 2, 64, 8));
  const Tensor src = tensor({{7, 4, 9, 5, 0, 0}}), tgt = tensor({{0, 7, 4, 9, 5}});
  nn::AttentionMaps maps;
  static_cast<void>(model(src, tgt, nn::padding_mask(src), nn::causal_mask(5), &maps));
  return maps;
}

std::string whole_as_player() { return json_of_heads(maps_of_whole(), kSourceOfWhole, target_of_whole("0")); }

std::vector<Figure> figures_of_whole() {
  const nn::AttentionMaps maps = maps_of_whole();
  const auto map_of = [&](std::string_view name) {  // the first head of the first sequence
    return std::find_if(maps.begin(), maps.end(), [&](const auto& map) { return map.name == name; })->tensor[0][0];
  };
  const std::vector<std::string>&source = kSourceOfWhole, target = target_of_whole(said("start"));
  const drawing::FlowChart parts = chart_of(architecture::architecture_of_copy());
  return {{draw(parts), draw_columns(parts)},
          {.panels = {
               draw_matrix(said("Encoder: self-attention"), map_of("encoder.layers.0.attention"), source, source, 0, 1),
               draw_matrix(said("Decoder: masked self-attention"), map_of("decoder.layers.0.self_attn"), target, target,
                           0, 1),
               draw_matrix(said("Decoder: cross-attention"), map_of("decoder.layers.0.cross_attn"), target, source, 0,
                           1)}}};
}

}  // namespace

const Computation k003_8_4_3{"003-8.4.3", numbers_of_choice, figures_of_choice, {}, {sizes_of_nucleus}};
const Computation k003_8_4_4{"003-8.4.4", numbers_of_whole, figures_of_whole, {whole_as_player}};

}  // namespace tapegrad::tasks::tutorial
