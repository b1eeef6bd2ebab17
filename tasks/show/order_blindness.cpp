// The topic order-blindness (tutorial 001, section 2.1): without positions, attention gives the words of a sentence the
// same vectors in any order.
#include <fmt/format.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/random.h>
#include <tapegrad/nn/mask.h>
#include <tapegrad/nn/transformer.h>
#include <tapegrad/tasks/drawing/tables.h>
#include <tapegrad/tasks/language/messages.h>
#include <tapegrad/tasks/settings/bad_request.h>
#include <tapegrad/tasks/show/show.h>

#include <algorithm>
#include <array>

namespace tapegrad::tasks {
namespace order_blindness {
namespace {

// The tutorial's sentences: "I am a cat and you are a human", and with the two exchanged.
constexpr std::array<std::string_view, 6> kWords{"나는", "고양이", "이고", "너는", "사람", "이다"};
constexpr std::array<int64_t, 6> kOther{0, 4, 2, 3, 1, 5};
constexpr double kEqual = 1e-9;  // float64: differences below are those of rounding

// How a model sees the two sentences.
struct Seen {
  std::string name;
  double word, mean;     // the largest difference of a word's vector, and of the mean of all vectors
  Tensor first, second;  // [T, C]; the second in the order of its own words
};

Seen seen_by(std::string_view name, nn::Positions positions, bool causal, int64_t dim, uint64_t seed) {
  constexpr auto kLength = static_cast<int64_t>(kWords.size());
  manual_seed(seed);
  nn::TransformerEncoder encoder({.vocab_size = kLength + 1,
                                  .hidden_size = dim,
                                  .num_hidden_layers = 2,
                                  .num_attention_heads = 4,
                                  .intermediate_size = 4 * dim,
                                  .max_position_embeddings = kLength,
                                  .positions = positions});
  nn::to(encoder, kFloat64);
  nn::eval(encoder);
  const Tensor order = tensor(std::vector<int64_t>(kOther.begin(), kOther.end()), {kLength});
  const Tensor mask = causal ? nn::causal_mask(kLength) : Tensor();
  const Tensor first = encoder((arange(kLength) + 1).unsqueeze(0), mask)[0];
  const Tensor second = encoder((order + 1).unsqueeze(0), mask)[0];
  return {std::string(name), amax(abs(second - index_select(first, 0, order))).item(),
          amax(abs(mean(second, {0}) - mean(first, {0}))).item(), first, second};
}

std::string sentence(bool exchanged) {
  std::string out;
  for (std::size_t i = 0; i < kWords.size(); ++i)
    out += fmt::format("{}{}", i == 0 ? "" : " ", kWords[exchanged ? static_cast<std::size_t>(kOther[i]) : i]);
  return out;
}

std::vector<drawing::Drawing> drawings_of(const Seen& seen) {
  constexpr int64_t kShown = 8;  // features
  std::vector<std::string> first(kWords.begin(), kWords.end()), second, features;
  for (const int64_t i : kOther) second.push_back(first[static_cast<std::size_t>(i)]);
  for (int64_t i = 0; i < kShown; ++i) features.push_back(fmt::format("{}", i));
  const double high = std::max(amax(abs(seen.first)).item(), amax(abs(seen.second)).item());
  return {draw_matrix(said("{}: first sentence", seen.name), narrow(seen.first, 1, 0, kShown), first, features, -high,
                      high),
          draw_matrix(said("{}: second sentence", seen.name), narrow(seen.second, 1, 0, kShown), second, features,
                      -high, high)};
}

// "a, b and c"; "none" for no names.
std::string list_of(const std::vector<std::string>& names) {
  std::string out = names.empty() ? "none" : names.front();
  for (std::size_t i = 1; i < names.size(); ++i) out += (i + 1 == names.size() ? said(" and ") : ", ") + names[i];
  return out;
}

Exhibit exhibit_of(const ShowRequest& request) {
  const int64_t dim = request.dim.value_or(32);
  require(dim % 8 == 0, "--dim", fmt::format("must be a multiple of 8, got {}", dim));
  const uint64_t seed = request.seed.value_or(0);
  std::vector<Seen> all;
  for (const std::string_view name : nn::position_names())
    all.push_back(seen_by(name, nn::positions_named(name), false, dim, seed));
  all.push_back(seen_by(said("none, causal"), nn::Positions::none, true, dim, seed));

  Exhibit exhibit;
  exhibit.title = said("Attention without positions cannot see the order of words (001)");
  exhibit.text = said(
      "Two sentences of the same words:\n  {}\n  {}\n"
      "An encoder of random weights (2 layers, width {}, 4 heads, float64) reads both.\n"
      "The largest difference of a word's vector between the sentences, wherever the\n"
      "word is, and of the mean of all vectors:\n\n",
      sentence(false), sentence(true), dim);
  exhibit.text +=
      fmt::format("{:<18}{:>12}{:>12}  {}\n", said("positions"), said("word"), said("mean"), said("tells them apart"));
  std::vector<std::string> blind;
  for (const Seen& seen : all) {
    const bool apart = seen.word > kEqual;
    exhibit.text += fmt::format("{:<18}{:>12.2g}{:>12.2g}  {}\n", seen.name, seen.word, seen.mean,
                                apart ? said("yes") : said("no"));
    if (!apart) blind.push_back(seen.name);
  }
  exhibit.text += drawing::wrapped(said(
      "\nNot distinguished with: {}. There the vectors of the second sentence are the first sentence's in another "
      "order, up to rounding, whatever is learned later: \"who is the cat\" has one answer for both. (\"index\" adds "
      "the "
      "position to every feature, and the layer normalisation after the embeddings removes what all features have in "
      "common. With a causal mask, the number of words that a word can see depends on its position.)\n",
      list_of(blind)));
  for (const Seen& seen : all)
    if (seen.name == "none" || seen.name == "sinusoidal")
      for (drawing::Drawing& drawing : drawings_of(seen)) exhibit.drawings.push_back(std::move(drawing));
  return exhibit;
}

}  // namespace
}  // namespace order_blindness

Exhibit show_order_blindness(const ShowRequest& request) { return order_blindness::exhibit_of(request); }

}  // namespace tapegrad::tasks
