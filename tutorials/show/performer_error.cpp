// The topic performer-error: how far Performer's attention is from full attention, by its number of random features.
#include <fmt/format.h>
#include <tapegrad/tapegrad.h>
#include <tapegrad/tasks/language/messages.h>
#include <tapegrad/train/drawing/charts.h>
#include <tapegrad/tutorials/show/show.h>

#include <cmath>

namespace tapegrad::tasks {
namespace performer_error {
namespace {

constexpr int64_t kTokens = 128, kDraws = 24;
constexpr int64_t kCounts[] = {32, 64, 128, 256, 512, 1024, 2048};

struct Inputs {
  Tensor q, k, v, full;  // float64 [T, D]; attention's result
  bool causal;
};

// The root of the mean square of the difference, over several draws of features.
double error_of(const Inputs& x, int64_t features, Generator& generator) {
  double total = 0;
  for (int64_t draw = 0; draw < kDraws; ++draw) {
    const Tensor w = nn::orthogonal_features(features, x.q.size(-1), kFloat64, &generator);
    total += mean(square(nn::performer_attention(x.q, x.k, x.v, w, {.causal = x.causal}) - x.full)).item();
  }
  return std::sqrt(total / static_cast<double>(kDraws));
}

}  // namespace
}  // namespace performer_error

Exhibit show_performer_error(const ShowRequest& request) {
  using namespace performer_error;
  const int64_t dim = request.dim.value_or(64);
  Generator generator(request.seed.value_or(0));
  const Shape shape{kTokens, dim};
  const Tensor q = randn(shape, kFloat64, &generator), k = randn(shape, kFloat64, &generator);
  const Tensor v = randn(shape, kFloat64, &generator);

  struct Column {
    std::string_view name;
    double deviation;  // of queries and keys
    bool causal;
    std::vector<double> errors = {};
  };
  Column columns[] = {{"1/4", 0.25, false}, {translatable("1/4, causal"), 0.25, true}, {"1/2", 0.5, false}};
  std::vector<double> counts;
  for (const int64_t count : kCounts) counts.push_back(static_cast<double>(count));
  for (Column& column : columns) {
    const Tensor x = q * column.deviation, y = k * column.deviation;
    const Inputs inputs{x, y, v, scaled_dot_product_attention(x, y, v, {.causal = column.causal}), column.causal};
    for (const int64_t count : kCounts) column.errors.push_back(error_of(inputs, count, generator));
  }

  Exhibit exhibit{.title = said("The error of Performer's attention"),
                  .text = told("performer-error-1", kTokens, dim, kDraws),
                  .columns = 1};
  Table table({9, 13});
  table.row(said("features"));
  for (const Column& column : columns) table.add(said(column.name));
  for (std::size_t i = 0; i < counts.size(); ++i) {
    table.row(kCounts[i]);
    for (const Column& column : columns) table.add(drawing::fixed(column.errors[i], 5));
  }
  table.row(said("slope"));
  for (const Column& column : columns) table.add(drawing::fixed(log_slope(counts, column.errors), 3));
  exhibit.text += table;
  exhibit.text += "\n" + told("performer-error-2");

  drawing::LineChart chart{.title = said("Error of Performer's attention"),
                           .x_label = said("log2 of the number of features"),
                           .y_label = said("root mean square error"),
                           .log_y = true};
  std::vector<double> exponents;
  for (const double count : counts) exponents.push_back(std::log2(count));
  for (const Column& column : columns) {
    chart.series.push_back({.name = said(column.name), .x = exponents, .y = column.errors});
  }
  std::vector<double> theory;
  for (const double count : counts) theory.push_back(columns[0].errors[0] * std::sqrt(counts[0] / count));
  chart.series.push_back(
      {.name = said("slope -1/2"), .x = exponents, .y = theory, .mark = drawing::Series::Mark::dashes});
  exhibit.drawings = {draw(chart)};
  return exhibit;
}

}  // namespace tapegrad::tasks
