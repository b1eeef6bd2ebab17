// The topic relative-positions (tutorial 003, section 8.3.2): T5's bias as the tutorial writes it next to the paper's,
// and what follows from scores by distance being a Toeplitz matrix.
#include <fmt/format.h>
#include <tapegrad/tapegrad.h>
#include <tapegrad/tasks/language/messages.h>
#include <tapegrad/train.h>
#include <tapegrad/tutorials/processor_time.h>
#include <tapegrad/tutorials/show/relative_positions.h>
#include <tapegrad/tutorials/show/show.h>
#include <tapegrad/tutorials/show/toeplitz.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <set>
#include <string>
#include <vector>

namespace tapegrad::tasks {
namespace relative_positions {
namespace {

constexpr int64_t kClip = 15;                         // the tutorial's k: as many numbers as T5's table uses
constexpr int64_t kBuckets = 32, kMaxDistance = 128;  // T5's defaults
constexpr int64_t kTokens = 64;                       // of sequences with random queries, keys and values
constexpr int64_t kReach = 256;                       // tokens of the sequences whose scores are approximated

// How a form shares its learned numbers among distances (the query's position minus the key's).
struct Form {
  std::string_view name;
  int64_t numbers;  // in its table
  int64_t (*index)(int64_t distance);
};
constexpr Form kForms[] = {
    {translatable("tutorial"), 2 * kClip + 1,
     [](int64_t distance) { return std::clamp(distance, -kClip, kClip) + kClip; }},
    {"t5", kBuckets, [](int64_t distance) { return nn::t5_bucket(-distance, kBuckets, kMaxDistance, true); }}};

// Scores by distance that a model might need.
struct Wanted {
  std::string_view name;
  double (*score)(double distance);
};
constexpr Wanted kWanted[] = {
    {translatable("-|i - j| / 16, as of ALiBi"), [](double d) { return -std::abs(d) / 16; }},
    {"-log(1 + |i - j|)", [](double d) { return -std::log1p(std::abs(d)); }},
    {"cos(2 pi (i - j) / 16)", [](double d) { return std::cos(2 * std::numbers::pi * d / 16); }},
    {translatable("1 if i - j = 12, else 0"), [](double d) { return d == 12 ? 1.0 : 0.0; }},
    {translatable("1 if i - j = 24, else 0"), [](double d) { return d == 24 ? 1.0 : 0.0; }}};

// The table that approximates the wanted scores of kReach queries and keys best: each number is their mean where it is
// used.
std::vector<double> best_table(const Form& form, const Wanted& wanted) {
  std::vector<double> sums(static_cast<std::size_t>(form.numbers)), counts(sums.size());
  for (int64_t d = 1 - kReach; d < kReach; ++d) {
    const auto at = static_cast<std::size_t>(form.index(d));
    const auto pairs = static_cast<double>(kReach - std::abs(d));
    sums[at] += pairs * wanted.score(static_cast<double>(d));
    counts[at] += pairs;
  }
  for (std::size_t i = 0; i < sums.size(); ++i) sums[i] = counts[i] == 0 ? 0 : sums[i] / counts[i];
  return sums;
}

// The root of the mean square of what the best table leaves.
double error_of(const Form& form, const Wanted& wanted) {
  const std::vector<double> table = best_table(form, wanted);
  double total = 0;
  for (int64_t d = 1 - kReach; d < kReach; ++d) {
    const double left = wanted.score(static_cast<double>(d)) - table[static_cast<std::size_t>(form.index(d))];
    total += static_cast<double>(kReach - std::abs(d)) * left * left;
  }
  return std::sqrt(total / static_cast<double>(kReach * kReach));
}

Notes tables() {
  Notes out = said("Number of the table for a key before the query, by distance i - j\n");
  Table numbers({-10, 5}), errors({-34, 12});
  numbers.row("");
  constexpr int64_t kShown[] = {0, 1, 2, 4, 8, 12, 15, 16, 24, 32, 64, 90, 91};
  for (const int64_t d : kShown) numbers.add(d);
  std::string shares;
  for (const Form& form : kForms) {
    std::set<int64_t> used;
    int64_t last = 0;  // the shortest distance from which on all share a number
    for (int64_t d = 1 - kReach; d < kReach; ++d) {
      used.insert(form.index(d));
      if (d > 0 && form.index(d) != form.index(d - 1)) last = d;
    }
    numbers.row(shown(form.name));
    for (const int64_t d : kShown) numbers.add(form.index(d));
    shares += said("{}: {} of {} numbers are used; distances of {} and more share one.\n", shown(form.name),
                   used.size(), form.numbers, last);
  }
  out += numbers;
  out += shares;
  out += said(
      "\nScores of {} queries and keys by distance, approximated by the best table:\n"
      "root mean square of the error\n",
      kReach);
  errors.row("");
  for (const Form& form : kForms) errors.add(shown(form.name));
  for (const Wanted& wanted : kWanted) {
    errors.row(shown(wanted.name));
    for (const Form& form : kForms) errors.add(drawing::fixed(error_of(form, wanted), 4));
  }
  return out += errors;
}

drawing::Drawing draw_best(const Wanted& wanted) {
  drawing::LineChart chart{.title = said("Best tables for {}", shown(wanted.name)),
                           .x_label = said("distance of a key before the query"),
                           .y_label = said("score")};
  const auto curve = [&chart](std::string_view name, const auto& score) {
    drawing::Series series{.name = said(name)};
    for (int64_t d = 0; d < kReach; ++d) series.add(static_cast<double>(d), score(d));
    chart.series.push_back(std::move(series));
  };
  curve(translatable("wanted"), [&](int64_t d) { return wanted.score(static_cast<double>(d)); });
  for (const Form& form : kForms) {
    const std::vector<double> table = best_table(form, wanted);
    curve(form.name, [&](int64_t d) { return table[static_cast<std::size_t>(form.index(d))]; });
  }
  chart.series[0].mark = drawing::Series::Mark::dashes;
  return draw(chart);
}

// Queries, keys and values [T, D] of one head, and a bias per distance, [2 T - 1], from 1 - T to T - 1.
struct Head {
  Tensor q, k, v, bias;

  Head(int64_t length, int64_t dim, uint64_t seed) {
    Generator generator(seed);
    const Shape shape{length, dim};
    q = randn(shape, kFloat64, &generator), k = randn(shape, kFloat64, &generator);
    v = randn(shape, kFloat64, &generator), bias = randn({2 * length - 1}, kFloat64, &generator);
  }
  double root() const { return std::sqrt(static_cast<double>(q.size(1))); }
};

double largest(const Tensor& x) { return amax(abs(x)).item(); }

// What it changes that the tutorial divides the bias by sqrt(d), too.
std::string scale(const Head& head) {
  const int64_t length = head.q.size(0), clip = std::min(kClip, length - 1);
  const Tensor products = matmul(head.q, head.k.transpose(0, 1));
  const Tensor position = arange(length);
  const Tensor index = clamp(position.unsqueeze(1) - position.unsqueeze(0), -clip, clip) + clip;  // [T, T]
  const Tensor papers = narrow(head.bias, 0, 0, 2 * clip + 1).as_leaf();
  const Tensor tutorials = (papers * head.root()).detach().as_leaf();
  Tensor weights[2], slopes[2];
  for (const bool tutorial : {false, true}) {
    Tape tape;
    const Tensor& table = tutorial ? tutorials : papers;
    const Tensor bias = gather(table, 0, index.reshape({-1})).reshape({length, length});
    weights[tutorial] = softmax(tutorial ? (products + bias) / head.root() : products / head.root() + bias, -1);
    slopes[tutorial] = tape.backward(mean(square(matmul(weights[tutorial], head.v))))[table];
  }
  const double ratio = std::sqrt(sum(square(slopes[1])).item() / sum(square(slopes[0])).item());
  return "\n" + told("relative-positions-1", head.q.size(1), largest(weights[1] - weights[0]), ratio, 1 / head.root());
}

// The largest difference between two elements of one diagonal of x [T, T].
double spread_along_diagonals(const Tensor& x) {
  const std::vector<double> values = x.to_vector<double>();
  const int64_t n = x.size(0);
  double most = 0;
  for (int64_t d = 1 - n; d < n; ++d) {
    double low = INFINITY, high = -INFINITY;
    for (int64_t i = std::max<int64_t>(0, d); i < std::min(n, n + d); ++i) {
      const double value = values[static_cast<std::size_t>(i * n + i - d)];
      low = std::min(low, value), high = std::max(high, value);
    }
    most = std::max(most, high - low);
  }
  return most;
}

// sum over j of exp(b[i - j]) f(q_i) f(k_j) v_j, over the same without v_j, with f = elu + 1, whose products are not
// negative: one Toeplitz product for each feature and value (Luo et al. 2021).
Tensor kernel_attention_by_fft(Toeplitz& bias, const Tensor& q, const Tensor& k, const Tensor& v) {
  const int64_t length = q.size(0), dim = q.size(1);
  const Tensor pairs = (k.unsqueeze(2) * v.unsqueeze(1)).reshape({length, dim * dim});  // [T, D D]
  const Tensor above = sum(q.unsqueeze(2) * bias.times(pairs).reshape({length, dim, dim}), {1});
  return above / sum(q * bias.times(k), {1}, true);
}

void tell_products(Exhibit& exhibit, int64_t longest, int64_t dim, uint64_t seed) {
  exhibit.text += said(
      "\nB[i, j] = b[i - j]: n^2 elements, 2 n - 1 different ones. B times [n, {}],\n"
      "in full, by FFT: multiplications, ms of processor time, largest difference\n",
      dim);
  Table table({8, 14, 14, 10, 10, 14});
  table.row("n", "full", "FFT", "full ms", "FFT ms", said("difference"));
  std::vector<double> lengths, full_counts, fft_counts;
  for (int64_t n = 32; n <= longest; n *= 2) {
    const Head head(n, dim, seed);
    Toeplitz bias(head.bias);
    const Tensor matrix = bias.matrix();
    const double start = processor_seconds();
    const Tensor in_full = matmul(matrix, head.v);
    const double between = processor_seconds();
    const Tensor by_fft = bias.times(head.v);
    const double end = processor_seconds();
    lengths.push_back(static_cast<double>(n));
    full_counts.push_back(static_cast<double>(n * n * dim));
    fft_counts.push_back(static_cast<double>(bias.multiplications()));
    table.row(n, n * n * dim, bias.multiplications(), drawing::fixed(1e3 * (between - start), 2),
              drawing::fixed(1e3 * (end - between), 2), fmt::format("{:.0e}", largest(by_fft - in_full)));
  }
  exhibit.text += table;
  exhibit.text += said("Slope of log(multiplications) by log(n): {:.2f} and {:.2f}.\n", log_slope(lengths, full_counts),
                       log_slope(lengths, fft_counts));
  exhibit.drawings.push_back(draw(drawing::LineChart{
      .title = said("Product of a Toeplitz matrix with values"),
      .x_label = "n",
      .y_label = said("multiplications"),
      .series = {{.name = "full", .x = lengths, .y = full_counts}, {.name = "FFT", .x = lengths, .y = fft_counts}},
      .log_y = true,
      .log_x = true}));
}

}  // namespace

Notes forms_of_t5(int64_t dim, uint64_t seed) { return tables() += scale(Head(kTokens, dim, seed)); }

Notes attention_by_fft(int64_t dim, uint64_t seed) {
  const Head head(kTokens, dim, seed);
  const int64_t length = head.q.size(0);
  const Tensor ones = full({length, 1}, 1.0, kFloat64), bias = Toeplitz(head.bias).matrix();
  Toeplitz powers(exp(head.bias));
  const Tensor by_bias = powers.times(head.v) / powers.times(ones);
  const Tensor scores = matmul(head.q, head.k.transpose(0, 1)) / head.root() + bias;
  const Tensor q = elu(head.q) + 1, k = elu(head.k) + 1;
  const Tensor kernel = exp(bias) * matmul(q, k.transpose(0, 1));
  const Tensor in_full = matmul(kernel, head.v) / sum(kernel, {1}, true);
  Table out({-38, -22}, 2);
  out.row(said("Attention of {} tokens, d = {}", length, head.q.size(1)), said("spread of scores"),
          said("by FFT, against"));
  out.row("", said("along a diagonal"), said("the full product"));
  out.row(said("bias alone"), fmt::format("{:.2g}", spread_along_diagonals(bias)),
          fmt::format("{:.0e}", largest(by_bias - matmul(softmax(bias, -1), head.v))));
  out.row(said("bias + q k / sqrt(d)"), fmt::format("{:.2g}", spread_along_diagonals(scores)), said("not possible"));
  out.row(said("(elu(q) + 1) (elu(k) + 1) exp(bias)"), "",
          fmt::format("{:.0e}", largest(kernel_attention_by_fft(powers, q, k, head.v) - in_full)));
  return Notes() += out;
}

}  // namespace relative_positions

Exhibit show_relative_positions(const ShowRequest& request) {
  using namespace relative_positions;
  constexpr int64_t kDrawn = 8;
  const int64_t longest = request.length.value_or(2048), dim = request.dim.value_or(16);
  const uint64_t seed = request.seed.value_or(0);
  Exhibit exhibit{.title = said("T5's bias in two forms, and Toeplitz products (8.3.2)"),
                  .text = told("relative-positions-2", kClip, 2 * kClip + 1, kBuckets, kMaxDistance)};
  exhibit.text += forms_of_t5(dim, seed);
  for (const Wanted& wanted : {kWanted[1], kWanted[4]}) exhibit.drawings.push_back(draw_best(wanted));
  tell_products(exhibit, longest, dim, seed);
  exhibit.text += "\n";
  exhibit.text += attention_by_fft(dim, seed);
  exhibit.text += "\n" + drawing::wrapped(told("relative-positions-3"));

  std::vector<std::string> labels;
  for (int64_t i = 0; i < kDrawn; ++i) labels.push_back(fmt::format("{}", i));
  const Head small(kDrawn, dim, seed);
  const Tensor bias = Toeplitz(small.bias).matrix();
  const Tensor scores = matmul(small.q, small.k.transpose(0, 1)) / small.root() + bias;
  const double high = std::max(largest(bias), largest(scores));
  exhibit.drawings.push_back(draw_matrix(said("Bias alone: equal along diagonals"), bias, labels, labels, -high, high));
  exhibit.drawings.push_back(draw_matrix(said("Bias + q k / sqrt(d)"), scores, labels, labels, -high, high));
  return exhibit;
}

}  // namespace tapegrad::tasks
