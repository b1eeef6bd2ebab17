// Tutorial 003, deep dives 1 to 4 of section 8.2.3: cost, kernels and singular values, energy, and rank.
#include <fmt/format.h>
#include <tapegrad/tapegrad.h>
#include <tapegrad/tasks/language/messages.h>
#include <tapegrad/train/drawing/charts.h>
#include <tapegrad/tutorials/numbers.h>
#include <tapegrad/tutorials/pages.h>
#include <tapegrad/tutorials/pages/depth.h>
#include <tapegrad/tutorials/pages/journey.h>
#include <tapegrad/tutorials/programs/claims.h>
#include <tapegrad/tutorials/show/show.h>

#include <cmath>

namespace tapegrad::tasks::tutorial {
namespace {

// Multiplications of one head of size 64, by the number of tokens: full attention, and the three forms of the table.
std::vector<Figure> figures_of_cost() {
  constexpr double kDim = 64, kKept = 256;
  drawing::Series full_cost{said("full: 2 n^2 d")}, linear{"Linformer: 4 n k d"}, features{"Performer: 4 n m d"};
  for (double n = 256; n <= 65536; n *= 2) {
    full_cost.add(n, 2 * n * n * kDim);
    linear.add(n, 4 * n * kKept * kDim);
    features.add(n, 4 * n * kKept * kDim);
  }
  features.mark = drawing::Series::Mark::dashes;
  return {{draw(drawing::LineChart{.title = said("Cost of attention, by length"),
                                   .x_label = said("tokens"),
                                   .y_label = said("multiplications"),
                                   .series = {full_cost, linear, features},
                                   .log_y = true,
                                   .width = 540})}};
}

// Queries, times this, and keys of 64 random tokens.
struct RandomHead {
  Tensor queries, keys;
  explicit RandomHead(double scale) {
    Generator generator(0);
    queries = randn({64, 16}, kFloat64, &generator) * scale;
    keys = randn({64, 16}, kFloat64, &generator);
  }
  std::vector<double> values() const { return singular_values(queries, keys).to_vector<double>(); }
};

std::vector<Number> numbers_of_scale() {
  Generator generator(0);
  std::string rows = "  d  deviation  p(1 - p)  divided: deviation  p(1 - p)\n";
  for (const int64_t d : {4, 16, 64, 256}) {
    const Tensor q = randn({200, d}, kFloat64, &generator), k = randn({32, d}, kFloat64, &generator);
    const Tensor scores = matmul(q, k.t()), divided = scores / std::sqrt(static_cast<double>(d));
    const auto slope = [](const Tensor& x) {  // of the largest weight
      const Tensor p = amax(softmax(x), {-1});
      return mean(p * (1 - p)).item();
    };
    rows += fmt::format("{:>3} {:>10.2f} {:>9.3f} {:>19.2f} {:>9.3f}\n", d, std(scores).item(), slope(scores),
                        std(divided).item(), slope(divided));
  }
  return {own(rows)};
}

std::string cost_as_formula() {
  return json_of({{"n", {"log2 n (토큰 n개)", "log2 n (n tokens)"}, 8, 17, 1, 12, true},
                  {"d", {"헤드의 차원 d", "size d of a head"}, 16, 256, 16, 64},
                  {"k", {"투영한 키 k개", "k projected keys"}, 32, 1024, 32, 256}},
                 {{{"토큰 n", "tokens n"}, "\"n\""},
                  {{"전체: 2n²d / 10⁶", "full: 2n²d / 10⁶"}, "[\"/\",[\"*\",2,\"n\",\"n\",\"d\"],1000000]"},
                  {{"Linformer: 4nkd / 10⁶", "Linformer: 4nkd / 10⁶"}, "[\"/\",[\"*\",4,\"n\",\"k\",\"d\"],1000000]"},
                  {{"비율 n / 2k", "ratio n / 2k"}, "[\"/\",\"n\",[\"*\",2,\"k\"]]"}},
                 1);
}

std::vector<Number> numbers_of_kernel() {
  std::string rows = "queries x       1       2       3       4       5  squares of 5, %\n";
  for (const double scale : {0.25, 1.0, 4.0}) {
    const std::vector<double> values = RandomHead(scale).values();
    double all = 0, first = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      all += values[i] * values[i];
      if (i < 5) first += values[i] * values[i];
    }
    rows += fmt::format("{:>9} {:>7.3f} {:>7.3f} {:>7.3f} {:>7.3f} {:>7.3f} {:>16.1f}\n", scale, values[0], values[1],
                        values[2], values[3], values[4], 100 * first / all);
  }
  return {own(rows)};
}

// The first five queries and keys, three numbers of each.
std::string kernel_as_words() {
  const RandomHead head(1);
  const auto cut = [](const Tensor& x) { return json_of(x.slice(0, 0, 5).slice(1, 0, 3)); };
  const std::string queries = cut(head.queries), keys = cut(head.keys);
  return fmt::format("{{\"tokens\":[\"t1\",\"t2\",\"t3\",\"t4\",\"t5\"],\"queries\":{0},\"keys\":{1},\"values\":{1}}}",
                     queries, keys);
}

std::vector<Figure> figures_of_kernel() {
  const auto curve = [](std::string name, double scale) {
    return drawing::Series::numbered(std::move(name), RandomHead(scale).values(), 1);
  };
  return {{draw(drawing::LineChart{
      .title = said("Singular values"),
      .x_label = said("number"),
      .y_label = said("value"),
      .series = {curve(said("queries x 1/4"), 0.25), curve(said("queries x 1"), 1), curve(said("queries x 4"), 4)},
      .log_y = true,
      .width = 540})}};
}

// The rank of untrained attention weights in floating point, and how many singular values hold 90 % of the squares.
std::string ranks() {
  std::string out = said("queries x  rank of 64  values that hold 90 % of the squares\n");
  for (const double scale : {0.25, 1.0, 4.0}) {
    const std::vector<double> values = RandomHead(scale).values();
    double all = 0, kept = 0;
    int64_t rank = 0, needed = 0;
    for (const double v : values) all += v * v, rank += v > 64 * 2.2e-16 * values[0] ? 1 : 0;
    for (const double v : values) {
      if (kept >= 0.9 * all) break;
      kept += v * v, ++needed;
    }
    out += fmt::format("{:>9} {:>11} {:>5}\n", scale, rank, needed);
  }
  return out;
}

// From one of 8 stored patterns with noise: energy and distance to the pattern before each update.
struct Recall {
  std::vector<double> energies, distances;
  Recall() {
    Generator generator(0);
    const Tensor patterns = randn({8, 16}, kFloat64, &generator);
    Tensor x = patterns[3] + 0.8 * randn({16}, kFloat64, &generator);
    for (int update = 0; update <= 6; ++update) {
      energies.push_back(energy(patterns, x));
      distances.push_back(sqrt(sum(square(x - patterns[3]))).item());
      x = recalled(patterns, x);
    }
  }
};

std::vector<Number> numbers_of_energy() {
  const Recall recall;
  std::string rows = "updates   energy  distance\n";
  for (std::size_t i = 0; i < recall.energies.size(); ++i)
    rows += fmt::format("{:>7} {:>8.4f} {:>9.4f}\n", i, recall.energies[i], recall.distances[i]);
  return {own(rows)};
}

std::vector<Figure> figures_of_energy() {
  const Recall recall;
  const auto chart = [](std::string title, std::string name, const std::vector<double>& values) {
    return draw(drawing::LineChart{.title = std::move(title),
                                   .x_label = said("update"),
                                   .y_label = name,
                                   .series = {drawing::Series::numbered(name, values)},
                                   .width = 300,
                                   .height = 170});
  };
  return {{.panels = {chart(said("Energy x.x / 2 - log sum exp(P x)"), said("energy"), recall.energies),
                      chart(said("Distance"), said("distance to the pattern"), recall.distances)}}};
}

// Patterns of three numbers, and states near them: one update of each.
std::string patterns_as_words() {
  Generator generator(1);
  const Tensor patterns = randn({4, 3}, kFloat64, &generator) * 2,
               states = patterns + randn({4, 3}, kFloat64, &generator) * 0.5;
  return fmt::format(
      "{{\"tokens\":[\"p1\",\"p2\",\"p3\",\"p4\"],\"queries\":{},\"keys\":{},\"values\":{},\"scale\":false}}",
      json_of(states), json_of(patterns), json_of(patterns));
}

// The likeness of 12 random tokens after layers of attention without projections, alone and with residual connections.
std::vector<Number> numbers_of_rank() {
  Generator generator(0);
  Tensor bare = randn({1, 12, 16}, kFloat64, &generator), kept = bare;
  const auto attend = [](const Tensor& x) { return matmul(softmax(matmul(x, x.t()) / 16), x); };
  std::string rows = "layers   alone  with residual connections\n";
  for (int layer = 0; layer <= 8; ++layer) {
    if (layer % 2 == 0) rows += fmt::format("{:>6} {:>7.3f} {:>12.3f}\n", layer, likeness(bare), likeness(kept));
    bare = attend(bare);
    kept = kept + attend(kept);
  }
  return {own(rows)};
}

std::string tokens_as_words() {
  Generator generator(0);
  return fmt::format("{{\"tokens\":[\"t1\",\"t2\",\"t3\",\"t4\"],\"vectors\":{}}}",
                     json_of(randn({4, 3}, kFloat64, &generator)));
}

std::vector<Figure> figures_of_rank() {
  return {{chart_by_layer(said("Likeness of tokens, by layer"), said("mean cosine"), likeness)}};
}

}  // namespace

const Computation k003_8_2_3_1{"003-8.2.3-1", numbers_of_scale, figures_of_cost, {cost_as_formula}};
const Computation k003_8_2_3_2{"003-8.2.3-2.1", numbers_of_kernel, figures_of_kernel, {kernel_as_words}, {ranks}};
const Computation k003_8_2_3_3{"003-8.2.3-3.1", numbers_of_energy, figures_of_energy, {patterns_as_words}};
const Computation k003_8_2_3_4{"003-8.2.3-4.1", numbers_of_rank, figures_of_rank, {tokens_as_words}, {nullptr, ranks}};

}  // namespace tapegrad::tasks::tutorial
