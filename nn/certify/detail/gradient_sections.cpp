// The sections about the gradient as training uses it: in float32, repeated, of single examples; and the negative
// control. build: -Os
#include <fmt/format.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/parallel.h>
#include <tapegrad/nn/certify/detail/context.h>

#include <algorithm>
#include <cmath>

namespace tapegrad::nn::detail {
namespace {

struct Distance {
  bool counts;
  double error, limit;  // relative to the size of the gradient
};
// What rounding may do is measured by gradients at points that differ in their last bits: rounding errors in float32
// are 2^29 times those in float64.
std::vector<Distance> distances(Context& c, const Point& x) {
  Point wide;
  for (const Tensor& one : x) wide.push_back(one.to(kFloat64));
  const Point exact = c.wide.gradient(wide), found = c.single.gradient(x);
  std::vector<double> noise(x.size());
  for (int repeat = 0; repeat < 2; ++repeat) {
    const Point single_moved = c.single.gradient(c.nearby(x)), wide_moved = c.wide.gradient(c.nearby(wide));
    for (std::size_t i = 0; i < x.size(); ++i)
      noise[i] = std::max({noise[i], norm_of(single_moved[i] - found[i]), 0x1p27 * norm_of(wide_moved[i] - exact[i])});
  }
  std::vector<Distance> all;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    const double size = std::max(norm_of(exact[i]), 1e-300), error = norm_of(found[i].to(kFloat64) - exact[i]);
    all.push_back({size > 1e-300 || error > 0, error / size, 32 * noise[i] / size + 1e-5});
  }
  return all;
}

// Parameters of at most this size in the mean, and a batch of this size.
Point of_size(Context& c, double size) {
  Point x = c.single.start();
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double now = rms(x[i]);
    if (now > size || (now > 0 && !c.wide.variables()[i].parameter)) x[i] = x[i] * (size / now);
  }
  return x;
}

CertificateLine equality(std::string what, bool equal) {
  return {std::move(what), equal ? "equal" : "differ", "", equal ? Verdict::right : Verdict::wrong};
}

// On one tape: twice, and for some variables alone.
void retained(Context& c, std::vector<CertificateLine>& lines, const Point& x, const Point& first) {
  constexpr std::size_t kMost = 8;
  Tape tape;
  const Point leaves = leaves_at(x);
  const Tensor loss = c.single.record(leaves);
  if (tape.position_of(loss) < 0) return;
  const auto gradients = [&](const std::vector<Tensor>& only) {
    const Gradients grads = tape.backward(loss, {.retain_graph = true, .only = only});
    Point g;
    for (const Tensor& leaf : leaves) g.push_back(grads.find(leaf) ? *grads.find(leaf) : Tensor());
    return g;
  };
  const Point once = gradients({}), twice = gradients({});
  bool equal = true, alone = true;
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    if (!once[i].defined()) continue;
    equal = equal && same_bits({once[i], twice[i]}, {first[i], first[i]});
  }
  lines.push_back(equality("twice on a retained tape", equal));
  std::size_t count = 0;
  const std::size_t stride = std::max<std::size_t>(1, leaves.size() / kMost);
  for (std::size_t i = 0; i < leaves.size(); i += stride) {
    if (!once[i].defined()) continue;
    ++count;
    const Tensor g = gradients({leaves[i]})[i];
    alone = alone && g.defined() && norm_of(g - first[i]) <= 1e-5 * norm_of(first[i]);
  }
  lines.push_back(equality(fmt::format("for one tensor alone ({} of {})", count, leaves.size()), alone));
}

}  // namespace

// In float32, against float64. Where float32 has lost digits, as in what is saturated, the two are compared where
// everything is smaller: there, too, a wrong kernel is wrong.
void single_precision_section(Context& c) {
  std::vector<CertificateLine>& lines =
      c.section("float32 gradients", "their distance from float64 ones at the same point, relative");
  const bool training = c.places().front().training;
  c.wide.set_training(training);
  c.single.set_training(training);
  std::vector<Distance> found = distances(c, c.single.start());
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (!found[i].counts) continue;
    Verdict verdict = found[i].error <= found[i].limit ? Verdict::right : Verdict::wrong;
    std::string text = fmt::format("{:.1e}", found[i].error);
    for (const double size : {1.0, 0.1, 0.01}) {
      if (verdict != Verdict::wrong) break;
      const Distance other = distances(c, of_size(c, size))[i];
      if (other.error > other.limit) continue;
      verdict = Verdict::unknown;
      text += fmt::format(" (rounding; with numbers of size {}: {:.1e})", size, other.error);
    }
    lines.push_back({c.name_of(i), std::move(text), fmt::format("{:.1e}", found[i].limit), verdict});
  }
  std::ranges::stable_sort(lines, worse);
}

void equal_bits_section(Context& c) {
  std::vector<CertificateLine>& lines = c.section("Equal bits", "the float32 gradient, computed again");
  c.single.set_training(c.places().front().training);
  const Point& x = c.single.start();
  const Point first = c.single.gradient(x);
  const auto add = [&](std::string what, const Point& g) {
    lines.push_back(equality(std::move(what), same_bits(first, g)));
  };
  add("a second time", c.single.gradient(x));
  const int before = num_threads();
  for (const int threads : {1, 2, 3}) {
    if (threads == before) continue;
    set_num_threads(threads);
    add(fmt::format("{} thread{} instead of {}", threads, threads == 1 ? "" : "s", before), c.single.gradient(x));
  }
  set_num_threads(before);
  retained(c, lines, x, first);
}

// Of a loss that is the mean or the sum of those of its examples.
void examples_section(Context& c) {
  constexpr int64_t kMost = 64;
  const int64_t rows = c.wide.rows();
  const Place place = c.places().back();
  c.wide.set_training(false);
  const auto skip = [&](std::string_view why) {
    c.page.unchecked.push_back(fmt::format("sums over single examples: {}", why));
  };
  if (rows == 0) return skip("the loss has the batch to itself");
  if (rows < 2 || rows > kMost) return skip(fmt::format("the batch has {} rows", rows));
  try {
    double total = 0;
    for (int64_t i = 0; i < rows; ++i) total += c.wide.value_of_rows(place.x, i, i + 1);
    const double whole = c.wide.value(place.x);
    const auto is = [&](double sum) { return std::abs(sum - whole) <= 1e-10 * std::max(std::abs(whole), 1e-3); };
    if (!is(total) && !is(total / static_cast<double>(rows)))
      return skip("the loss is neither their mean nor their sum");
    const double factor = is(total) ? 1 : 1 / static_cast<double>(rows);
    const Point all = c.wide.gradient(place.x);
    Point sums;
    for (int64_t i = 0; i < rows; ++i) {
      const Point one = c.wide.gradient_of_rows(place.x, i, i + 1);
      for (std::size_t k = 0; k < one.size(); ++k)
        if (c.wide.variables()[k].parameter)
          i == 0 ? sums.push_back(one[k] * factor) : void(sums[k] = sums[k] + one[k] * factor);
    }
    double error = 0, size = 0;
    for (std::size_t k = 0; k < sums.size(); ++k) {
      error = std::max(error, norm_of(sums[k] - all[k]));
      size = std::max(size, norm_of(all[k]));
    }
    c.section("Examples", "the gradients of single examples, added")
        .push_back({fmt::format("{} examples", rows), fmt::format("distance {:.1e}", size > 0 ? error / size : error),
                    "1.0e-09", error <= 1e-9 * size + 1e-300 ? Verdict::right : Verdict::wrong});
  } catch (const Error& error) {
    skip(error.what());
  }
}

// A check that cannot fail proves nothing: an error is planted in one element, as large as the median of its tensor.
void control_section(Context& c) {
  const Place place = c.places().back();
  c.wide.set_training(place.training);
  const Point gradient = c.wide.gradient(place.x);
  std::vector<CertificateLine>& lines =
      c.section("Negative control", "whether an error planted in one element of one gradient is found");
  std::vector<std::size_t> candidates;
  for (std::size_t i = 0; i < gradient.size(); ++i)
    if (norm_of(gradient[i]) > 0) candidates.push_back(i);
  if (candidates.empty()) {
    lines.push_back({"no gradient is other than zero", "nothing to plant in", "", Verdict::unknown});
    return;
  }
  int64_t drawn = 0;
  c.generator.randint(&drawn, 1, 0, static_cast<int64_t>(candidates.size()));
  const std::size_t tensor = candidates[static_cast<std::size_t>(drawn)];
  const std::vector<double> values = gradient[tensor].flatten().to_vector<double>();
  const double least = rms(gradient[tensor]);
  int64_t element = 0;
  do c.generator.randint(&element, 1, 0, static_cast<int64_t>(values.size()));
  while (std::abs(values[static_cast<std::size_t>(element)]) < least * 0.999);
  Point v(gradient.size());
  v[tensor] = c.direction()[tensor];
  const double move = v[tensor].flatten().to_vector<double>()[static_cast<std::size_t>(element)];
  const double error = c.options.planted * values[static_cast<std::size_t>(element)];
  const Measured m = c.measure(place.x, gradient, v);
  const bool found = m.would_find(m.analytic + error * move);
  const double smallest = m.error / std::abs(values[static_cast<std::size_t>(element)] * move);
  lines.push_back({fmt::format("element {} of {}", element, c.name_of(tensor)),
                   fmt::format("{:.0e} of it {}; from {:.0e} on errors are found", c.options.planted,
                               found ? "found" : "not found", smallest),
                   "", found ? Verdict::right : Verdict::unknown});
}

}  // namespace tapegrad::nn::detail
