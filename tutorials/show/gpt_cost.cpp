// The topic gpt-cost: time and memory of a training step of a GPT, by the length of its input and by the batch.
#include <fmt/format.h>
#include <tapegrad/tapegrad.h>
#include <tapegrad/tasks/language/messages.h>
#include <tapegrad/tasks/settings/bad_request.h>
#include <tapegrad/tutorials/show/show.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

namespace tapegrad::tasks {
namespace gpt_cost {
namespace {

constexpr int64_t kHeadSize = 64, kLayers = 4, kVocabulary = 256, kShortest = 64, kLongest = 16'384, kMostBatch = 64;
constexpr double kMostSeconds = 120;  // of one step; larger ones are left out
constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();

// A size of the input, and what a step costs.
struct Point {
  int64_t batch, length;
  double seconds[2] = {kMissing, kMissing};  // with one thread, and with all
  double bytes = kMissing;                   // of the step, beyond parameters and optimiser
  double attention_bytes = kMissing;         // of a layer's attention alone, beyond its inputs

  int64_t tokens() const { return batch * length; }
};

// One thread, and all.
class Threads {
 public:
  Threads() : all_(num_threads()) {}
  ~Threads() { set_num_threads(all_); }
  void use(int which) const { set_num_threads(which == 0 ? 1 : all_); }
  int count() const { return all_ > 1 ? 2 : 1; }
  int all() const { return all_; }

 private:
  int all_;
};

Tensor draw_ids(int64_t batch, int64_t length) {
  Generator generator(0);
  return randint(0, kVocabulary, {batch, length}, &generator);
}

struct Pass {
  double seconds;
  double bytes;
};
template <class F>
Pass time_pass(const F& pass) {
  using Clock = std::chrono::steady_clock;
  pool::reset_peak();
  const int64_t before = pool::peak();
  const Clock::time_point start = Clock::now();
  pass();
  return {std::chrono::duration<double>(Clock::now() - start).count(), static_cast<double>(pool::peak() - before)};
}

// The best of some passes after the first one.
template <class F>
Pass best_pass(const F& pass) {
  constexpr double kSeconds = 0.5;
  constexpr int kMostPasses = 20;
  Pass best = time_pass(pass);
  double total = best.seconds;
  for (int i = 0; i < kMostPasses && (i == 0 || total < kSeconds) && best.seconds < kMostSeconds / 8; ++i) {
    const Pass again = time_pass(pass);
    total += again.seconds;
    best = {std::min(best.seconds, again.seconds), again.bytes};
  }
  return best;
}

double attention_bytes(const Point& at, int64_t width) {
  Generator generator(0);
  const auto heads = [&] {
    return randn({at.batch, width / kHeadSize, at.length, kHeadSize}, kFloat32, &generator).as_leaf();
  };
  const Tensor q = heads(), k = heads(), v = heads(), dy = ones(q.shape());
  const Pass pass = time_pass([&] {
    Tape tape;
    (void)tape.backward(scaled_dot_product_attention(q, k, v, {.causal = true}), {.grad_output = dy});
  });
  return pass.bytes > 0 ? pass.bytes : kMissing;
}

// Fills in the points. A step that is expected to take too long, going by the points before, is left out.
void measure(std::vector<Point>& points, int64_t width, const Threads& threads) {
  const PauseRecording pause;
  for (std::size_t i = 0; i < points.size(); ++i) {
    Point& at = points[i];
    if (i > 0 && !(4 * points[i - 1].seconds[0] < kMostSeconds)) continue;
    manual_seed(0);
    nn::GPTModel model({.vocab_size = kVocabulary,
                        .context_length = at.length,
                        .emb_dim = width,
                        .n_heads = width / kHeadSize,
                        .n_layers = kLayers,
                        .drop_rate = 0});
    optim::AdamW adam(nn::parameters(model), {.lr = 1e-4});
    const Tensor ids = draw_ids(at.batch, at.length), targets = draw_ids(at.batch, at.length);
    for (int which = 0; which < threads.count(); ++which) {
      threads.use(which);
      const Pass best = best_pass([&] {
        Tape tape;
        adam.step(tape.backward(cross_entropy(model(ids), targets)));
      });
      at.seconds[which] = best.seconds;
      at.bytes = best.bytes;
    }
    at.attention_bytes = attention_bytes(at, width);
  }
}

// The slope of the line through the logarithms of values(point), from `first` tokens on.
template <class F>
double slope(const std::vector<Point>& points, int64_t first, const F& value) {
  std::vector<double> x, y;
  for (const Point& at : points) {
    x.push_back(static_cast<double>(at.tokens()));
    y.push_back(value(at));
  }
  return log_slope(x, y, static_cast<double>(first));
}

// Three or more digits.
std::string short_cell(double value) { return fixed_or_dash(value, value < 10 ? 2 : value < 100 ? 1 : 0); }

Table table(const std::vector<Point>& points, const Threads& threads, int64_t first) {
  const bool both = threads.count() == 2;
  Table out(both ? std::vector{6, 8, 11, 11, 9, 10, 10, 13} : std::vector{6, 8, 11, 10, 10, 13});
  out.row(said("batch"), said("tokens"), "ms");
  if (both) out.add(said("{} thr.", threads.all()), said("speed-up"));
  out.add(said("tokens/s"), "MB", said("attention MB"));
  for (const Point& at : points) {
    out.row(at.batch, at.tokens(), short_cell(1e3 * at.seconds[0]));
    if (both) out.add(short_cell(1e3 * at.seconds[1]), fixed_or_dash(at.seconds[0] / at.seconds[1], 2));
    out.add(fixed_or_dash(static_cast<double>(at.tokens()) / at.seconds[both ? 1 : 0], 0), short_cell(1e-6 * at.bytes),
            short_cell(1e-6 * at.attention_bytes));
  }
  const auto rate = [&](const auto& value) { return fixed_or_dash(slope(points, first, value), 2); };
  out.row("", said("slope"), rate([](const Point& at) { return at.seconds[0]; }));
  if (both) out.add(rate([](const Point& at) { return at.seconds[1]; }), "");
  return out.add("", rate([](const Point& at) { return at.bytes; }),
                 rate([](const Point& at) { return at.attention_bytes; }));
}

template <class F>
drawing::Series curve(std::string name, const std::vector<Point>& points, const F& value) {
  drawing::Series out{.name = std::move(name)};
  for (const Point& at : points) out.add(std::log2(static_cast<double>(at.tokens())), value(at));
  return out;
}

drawing::LineChart empty_chart(std::string title, std::string label) {
  return {.title = std::move(title),
          .x_label = said("log2 of the number of tokens"),
          .y_label = std::move(label),
          .log_y = true};
}

}  // namespace
}  // namespace gpt_cost

Exhibit show_gpt_cost(const ShowRequest& request) {
  using namespace gpt_cost;
  const int64_t longest = request.length.value_or(kLongest);
  const int64_t width = request.dim.value_or(256);
  require(width % kHeadSize == 0, "--dim", fmt::format("expected a multiple of {}, got {}", kHeadSize, width));
  const Threads threads;
  const int64_t sequence = std::max(kShortest, longest / kMostBatch);  // of the batches
  std::vector<Point> lengths, batches;
  for (int64_t length = kShortest; length <= longest; length *= 2) lengths.push_back({1, length});
  for (int64_t batch = 1; batch <= std::min(kMostBatch, longest / sequence); batch *= 2) {
    batches.push_back({batch, sequence});
  }
  measure(lengths, width, threads);
  measure(batches, width, threads);

  const int64_t first = std::min<int64_t>(1024, longest / 2);
  Exhibit exhibit{.title = said("What a training step of a GPT costs"),
                  .text = told("gpt-cost-1", kLayers, width, kHeadSize, kVocabulary),
                  .columns = 1};
  exhibit.text += said("One sequence") + "\n";
  exhibit.text += table(lengths, threads, first);
  exhibit.text += fmt::format("\n{}\n", said("Sequences of {} tokens", sequence));
  exhibit.text += table(batches, threads, first);
  exhibit.text += "\n" + said(
                             "The slope belongs to the line through the logarithms, from {} tokens on:\n"
                             "1 where the cost grows with the tokens, 2 where it grows with their square.\n",
                             first);

  drawing::LineChart time = empty_chart(said("Time of a training step"), said("milliseconds"));
  drawing::LineChart rate = empty_chart(said("Speed of training"), said("tokens per second"));
  drawing::LineChart memory = empty_chart(said("Memory of a training step"), said("megabytes"));
  for (int which = 0; which < threads.count(); ++which) {
    for (const auto& [what, points] :
         {std::pair{said("one sequence"), &lengths}, std::pair{said("batches"), &batches}}) {
      const std::string name =
          which == 0 ? said("{}, {} thread", what, 1) : said("{}, {} threads", what, threads.all());
      time.series.push_back(curve(name, *points, [=](const Point& at) { return 1e3 * at.seconds[which]; }));
      rate.series.push_back(
          curve(name, *points, [=](const Point& at) { return static_cast<double>(at.tokens()) / at.seconds[which]; }));
    }
  }
  memory.series.push_back(curve(said("one sequence"), lengths, [](const Point& at) { return 1e-6 * at.bytes; }));
  drawing::Series dashed = curve(said("batches"), batches, [](const Point& at) { return 1e-6 * at.bytes; });
  dashed.mark = drawing::Series::Mark::dashes;  // it may cover the first curve
  memory.series.push_back(std::move(dashed));
  memory.series.push_back(
      curve(said("attention alone, one sequence"), lengths, [](const Point& at) { return 1e-6 * at.attention_bytes; }));
  exhibit.drawings = {draw(time), draw(rate), draw(memory)};
  return exhibit;
}

}  // namespace tapegrad::tasks
