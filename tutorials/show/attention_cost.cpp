// The topic attention-cost: time and memory of a layer of self-attention, forward and backward, by the length.
#include <fmt/format.h>
#include <tapegrad/tapegrad.h>
#include <tapegrad/tasks/language/messages.h>
#include <tapegrad/tasks/settings/bad_request.h>
#include <tapegrad/tutorials/processor_time.h>
#include <tapegrad/tutorials/show/show.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace tapegrad::tasks {
namespace attention_cost {
namespace {

constexpr int64_t kHeadSize = 64, kShortest = 512, kLongest = 65'536;
constexpr double kMostSeconds = 40;  // of one pass; longer inputs are left out
constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();

// What a form of attention costs, by length; NaN where it was not measured.
struct Cost {
  std::string_view name;
  std::vector<double> milliseconds = {}, megabytes = {};
};

// One pass forward and backward: seconds of processor time, and the bytes in use at its peak beyond the input and the
// parameters.
struct Pass {
  double seconds;
  int64_t bytes;
};
Pass run_pass(const nn::MultiHeadSelfAttention& layer, const Tensor& x) {
  pool::reset_peak();
  const int64_t before = pool::peak();
  const double start = processor_seconds();
  {
    Tape tape;
    const Gradients grads = tape.backward(mean(layer(x)));
  }
  return {processor_seconds() - start, pool::peak() - before};
}

// The best of some passes after the first one.
Pass measure(const nn::AttentionChoice& form, int64_t length, int64_t width) {
  constexpr double kSeconds = 0.4;
  constexpr int kMostPasses = 10;
  const PauseRecording pause;
  Generator generator(0);
  nn::MultiHeadSelfAttention layer({.d_in = width,
                                    .d_out = width,
                                    .num_heads = width / kHeadSize,
                                    .context_length = length,
                                    .causal = false,
                                    .attention = form});
  const Tensor x = randn({1, length, width}, kFloat32, &generator).as_leaf();
  Pass best = run_pass(layer, x);
  double total = best.seconds;
  for (int i = 0; i < kMostPasses && (i == 0 || total < kSeconds); ++i) {
    const Pass pass = run_pass(layer, x);
    total += pass.seconds;
    best = {std::min(best.seconds, pass.seconds), pass.bytes};
  }
  return best;
}

Table table(const std::vector<int64_t>& lengths, const std::vector<Cost>& costs, std::vector<double> Cost::*member,
            int64_t first) {
  Table out({8, 11});
  out.row(said("tokens"));
  for (const Cost& cost : costs) out.add(cost.name);
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    out.row(lengths[i]);
    for (const Cost& cost : costs) out.add(fixed_or_dash((cost.*member)[i], 1));
  }
  out.row(said("slope"));
  const std::vector<double> x(lengths.begin(), lengths.end());
  for (const Cost& cost : costs) out.add(fixed_or_dash(log_slope(x, cost.*member, static_cast<double>(first)), 2));
  return out;
}

drawing::Drawing chart(std::string title, std::string label, const std::vector<int64_t>& lengths,
                       const std::vector<Cost>& costs, std::vector<double> Cost::*member) {
  drawing::LineChart out{.title = std::move(title),
                         .x_label = said("log2 of the number of tokens"),
                         .y_label = std::move(label),
                         .log_y = true};
  for (const Cost& cost : costs) {
    drawing::Series series{.name = std::string(cost.name), .y = cost.*member};
    for (const int64_t length : lengths) series.x.push_back(std::log2(static_cast<double>(length)));
    out.series.push_back(std::move(series));
  }
  return draw(out);
}

}  // namespace
}  // namespace attention_cost

Exhibit show_attention_cost(const ShowRequest& request) {
  using namespace attention_cost;
  const int64_t longest = request.length.value_or(kLongest);
  const int64_t width = request.dim.value_or(512);
  require(width % kHeadSize == 0, "--dim", fmt::format("expected a multiple of {}, got {}", kHeadSize, width));
  std::vector<int64_t> lengths;
  for (int64_t length = kShortest; length <= longest; length *= 2) lengths.push_back(length);
  std::vector<Cost> costs;
  for (const nn::AttentionChoice& form : nn::attention_forms()) {
    Cost cost{form.name()};
    double before = 0;  // seconds for half of the length
    for (const int64_t length : lengths) {
      const bool too_long = 4 * before > kMostSeconds;
      const Pass pass = too_long ? Pass{} : measure(form, length, width);
      before = too_long ? before : pass.seconds;
      cost.milliseconds.push_back(too_long ? kMissing : 1e3 * pass.seconds);
      cost.megabytes.push_back(too_long ? kMissing : 1e-6 * static_cast<double>(pass.bytes));
    }
    costs.push_back(std::move(cost));
  }
  const int64_t first = std::min<int64_t>(4096, lengths[lengths.size() - 2]);
  Exhibit exhibit{.title = said("Cost of the forms of attention"),
                  .text = told("attention-cost-1", width / kHeadSize, kHeadSize, num_threads(), kMostSeconds),
                  .columns = 1};
  exhibit.text += said("Time in milliseconds") + "\n";
  exhibit.text += table(lengths, costs, &Cost::milliseconds, first);
  exhibit.text += fmt::format("\n{}\n", said("Memory in megabytes"));
  exhibit.text += table(lengths, costs, &Cost::megabytes, first);
  exhibit.text += "\n" + told("attention-cost-2", first);
  exhibit.drawings = {
      chart(said("Time of a layer, forward and backward"), said("milliseconds"), lengths, costs, &Cost::milliseconds),
      chart(said("Memory of a layer, forward and backward"), said("megabytes"), lengths, costs, &Cost::megabytes)};
  return exhibit;
}

}  // namespace tapegrad::tasks
