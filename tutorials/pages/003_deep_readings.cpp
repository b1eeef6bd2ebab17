// Tutorial 003, deep dives 5 to 9 of section 8.2.3: stability, frequencies and information, and analogies.
#include <fmt/format.h>
#include <tapegrad/tapegrad.h>
#include <tapegrad/tasks/language/messages.h>
#include <tapegrad/train/drawing/charts.h>
#include <tapegrad/tutorials/numbers.h>
#include <tapegrad/tutorials/pages.h>
#include <tapegrad/tutorials/pages/journey.h>
#include <tapegrad/tutorials/programs/claims.h>
#include <tapegrad/tutorials/show/show.h>

#include <algorithm>
#include <utility>

namespace tapegrad::tasks::tutorial {
namespace {

// The four scores of the page.
Tensor four_scores() { return tensor({2.0, 1.0, 0.5, 0.0}, kFloat64); }

// Scores of 32 random tokens, queries and keys of size 16.
Tensor scores_of_32() {
  Generator generator(0);
  const Tensor q = randn({32, 16}, kFloat64, &generator), k = randn({32, 16}, kFloat64, &generator);
  return matmul(q, k.t()) / 4;
}

std::vector<Number> numbers_of_information() {
  std::string rows = "scores x  entropy  low frequencies, %\n";
  for (const double scale : {0.0, 0.5, 1.0, 2.0, 4.0}) {
    const Tensor weights = softmax(scores_of_32() * scale);
    rows += fmt::format("{:>8} {:>8.3f} {:>19.1f}\n", scale, entropy(weights), 100 * low_frequencies(weights));
  }
  return {own(rows)};
}

// Both measures, as curves over the sharpness.
std::vector<Figure> figures_of_information() {
  drawing::Series spread{said("entropy")}, low{said("low frequencies")};
  for (double scale = 0; scale <= 6; scale += 0.5) {
    const Tensor weights = softmax(scores_of_32() * scale);
    spread.add(scale, entropy(weights));
    low.add(scale, low_frequencies(weights));
  }
  const auto chart = [](std::string title, std::string label, drawing::Series series, double high) {
    return draw(drawing::LineChart{.title = std::move(title),
                                   .x_label = said("scores times"),
                                   .y_label = std::move(label),
                                   .series = {std::move(series)},
                                   .y_low = 0,
                                   .y_high = high,
                                   .width = 300,
                                   .height = 170});
  };
  return {{.panels = {chart(said("Entropy of the weights"), said("nats"), spread, 3.5),
                      chart(said("Share of low frequencies"), said("share"), low, 1)}}};
}

std::string scores_as_choice() {
  return fmt::format("{{\"start\":\"{}\",\"words\":[\"k1\",\"k2\",\"k3\",\"k4\"],\"logits\":{}}}", "q",
                     json_of(four_scores()));
}

// Ranks of scores and of weights, by the size of queries and keys.
std::vector<Number> numbers_of_bond() {
  std::string rows = " r  rank of q k^T  rank of softmax(q k^T)\n";
  for (const int64_t r : {1, 2, 4, 8, 16}) {
    Generator generator(0);
    const Tensor q = randn({32, r}, kFloat64, &generator), k = randn({32, r}, kFloat64, &generator);
    const Tensor scores = bonded_scores(q, k);
    rows += fmt::format("{:>2} {:>14} {:>23}\n", r, rank(scores), rank(softmax(scores)));
  }
  return {own(rows)};
}

std::vector<Figure> figures_of_bond() {
  Generator generator(0);
  const Tensor q = randn({32, 4}, kFloat64, &generator), k = randn({32, 4}, kFloat64, &generator);
  const auto curve = [](std::string name, const Tensor& x) {
    const Tensor values = maximum(svdvals(x), 1e-16);  // 0 has no logarithm
    return drawing::Series::numbered(std::move(name), values.to_vector<double>(), 1);
  };
  return {{draw(drawing::LineChart{
      .title = said("Singular values"),
      .x_label = said("number"),
      .y_label = said("value"),
      .series = {curve(said("Scores"), bonded_scores(q, k)), curve(said("Weights"), softmax(bonded_scores(q, k)))},
      .log_y = true,
      .width = 540})}};
}

std::string bond_as_words() {
  Generator generator(0);
  const Tensor q = randn({5, 2}, kFloat64, &generator), k = randn({5, 2}, kFloat64, &generator);
  return fmt::format(
      "{{\"tokens\":[\"t1\",\"t2\",\"t3\",\"t4\",\"t5\"],\"queries\":{0},\"keys\":{1},\"values\":{1},\"scale\":false}}",
      json_of(q), json_of(k));
}

// Entropies of softmax at three temperatures, and of the uniform distribution.
std::string entropies() {
  std::string out;
  for (const double temperature : {0.5, 1.0, 4.0})
    out += said("softmax, T = {:<3} entropy {:.3f}\n", temperature,
                entropy(softmax(four_scores() / temperature).unsqueeze(0)));
  return out + said("uniform          entropy {:.3f}\n", log(full({}, 4, kFloat64)).item());
}

// The share of low frequencies for the identity and for averaging.
std::string shares_at_extremes() {
  return said("each token attends to itself:  {:.2f}\nall tokens attend to all:      {:.2f}\n",
              low_frequencies(eye(32, kFloat64)), low_frequencies(full({32, 32}, 1.0 / 32, kFloat64)));
}

}  // namespace

const Computation k003_8_2_3_5{"003-8.2.3-5.1",
                               numbers_of_information,
                               figures_of_information,
                               {scores_as_choice},
                               {entropies, shares_at_extremes}};
const Computation k003_8_2_3_7{"003-8.2.3-7.1", numbers_of_bond, figures_of_bond, {bond_as_words}};

}  // namespace tapegrad::tasks::tutorial
