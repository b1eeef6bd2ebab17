// The topic order-blindness (tutorial 001, section 2.1): without positions, attention gives the words of a sentence the
// same vectors in any order.
#include <fmt/format.h>
#include <tapegrad/tapegrad.h>
#include <tapegrad/tasks/language/language.h>
#include <tapegrad/tasks/language/messages.h>
#include <tapegrad/tasks/settings/bad_request.h>
#include <tapegrad/train/drawing/tables.h>
#include <tapegrad/tutorials/show/show.h>

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

// The words' vectors in both sentences, and what changes in the vector of a word: nothing, where order is not seen.
std::vector<drawing::Drawing> drawings_of(const Seen& seen) {
  constexpr int64_t kShown = 8;  // features
  constexpr std::string_view kEnglish[] = {"I", "cat", "am", "you", "human", "are"};
  std::vector<std::string> first, second, features;
  const bool korean = language_of_locale() == Language::ko;
  for (std::size_t i = 0; i < kWords.size(); ++i)
    first.push_back(korean ? std::string(kWords[i]) : fmt::format("{} ({})", kWords[i], kEnglish[i]));
  for (const int64_t i : kOther) second.push_back(first[static_cast<std::size_t>(i)]);
  for (int64_t i = 0; i < kShown; ++i) features.push_back(fmt::format("{}", i));
  std::vector<std::size_t> exchanged;
  for (std::size_t i = 0; i < kOther.size(); ++i)
    if (kOther[i] != static_cast<int64_t>(i)) exchanged.push_back(i);
  const Tensor order = tensor(std::vector<int64_t>(kOther.begin(), kOther.end()), {seen.first.size(0)});
  const Tensor moved = index_select(seen.second, 0, order);  // an exchange is its own inverse
  const double high = std::max(amax(abs(seen.first)).item(), amax(abs(seen.second)).item());
  const auto map = [&](const std::string& title, const Tensor& x, const std::vector<std::string>& words) {
    return draw_matrix(title, narrow(x, 1, 0, kShown), words, features, -high, high, 2, exchanged);
  };
  return {map(said("{}: first sentence, features 0-7 of {}", seen.name, seen.first.size(1)), seen.first, first),
          map(said("{}: second sentence", seen.name), seen.second, second),
          map(said("{}: second - first, by word", seen.name), moved - seen.first, first)};
}

// "a, b and c"; "none" for no names.
std::string list_of(const std::vector<std::string>& names) {
  std::string out = names.empty() ? "none" : names.front();
  for (std::size_t i = 1; i < names.size(); ++i) out += (i + 1 == names.size() ? said(" and ") : ", ") + names[i];
  return out;
}

}  // namespace
}  // namespace order_blindness

Exhibit show_order_blindness(const ShowRequest& request) {
  using namespace order_blindness;
  const int64_t dim = request.dim.value_or(32);
  require(dim % 8 == 0, "--dim", fmt::format("expected a multiple of 8, got {}", dim));
  const uint64_t seed = request.seed.value_or(0);
  std::vector<Seen> all;
  for (const std::string_view name : nn::position_names())
    all.push_back(seen_by(name, nn::positions_named(name), false, dim, seed));
  all.push_back(seen_by(said("none, causal"), nn::Positions::none, true, dim, seed));

  Exhibit exhibit{.title = said("Attention without positions cannot see the order of words (001)"),
                  .text = told("order-blindness-1", sentence(false), sentence(true), dim)};
  Table table({-18, 12, 12, 2});
  table.row(said("positions"), said("word"), said("mean"), "  " + said("tells them apart"));
  std::vector<std::string> blind;
  for (const Seen& seen : all) {
    const bool apart = seen.word > kEqual;
    table.row(seen.name, fmt::format("{:.2g}", seen.word), fmt::format("{:.2g}", seen.mean),
              "  " + (apart ? said("yes") : said("no")));
    if (!apart) blind.push_back(seen.name);
  }
  exhibit.text += table;
  exhibit.text += "\n" + drawing::wrapped(told("order-blindness-2", list_of(blind)));
  for (const Seen& seen : all) {
    if (seen.name != "none" && seen.name != "sinusoidal") continue;
    const std::vector<drawing::Drawing> drawings = drawings_of(seen);
    const auto place = exhibit.drawings.begin() + static_cast<std::ptrdiff_t>(exhibit.drawings.size() * 2 / 3);
    exhibit.drawings.insert(place, drawings.begin(), drawings.begin() + 2);  // the differences are last
    exhibit.drawings.push_back(drawings[2]);
  }
  return exhibit;
}

}  // namespace tapegrad::tasks
