// The comparison of gradients with finite differences.
// build: -Os
#include <fmt/format.h>
#include <tapegrad/autograd/detail/index_text.h>
#include <tapegrad/autograd/gradcheck.h>
#include <tapegrad/autograd/ops.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

namespace tapegrad::detail {
namespace {

constexpr std::string_view kWhere = "gradcheck";

using Values = std::vector<double>;

// Numbers in [0.5, 1.5) without a pattern: a dy in which nothing cancels.
Tensor irregular(const Shape& shape) {
  const Tensor x = Tensor::empty(shape, kFloat64);
  uint64_t state = 0x9E3779B97F4A7C15u;
  for (int64_t i = 0; i < x.numel(); ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    x.mutable_data<double>()[i] = 0.5 + static_cast<double>(state >> 11) * 0x1p-53;
  }
  return x;
}

// The same values in reversed axis order, with gaps.
Tensor strided_copy(const Tensor& x) {
  if (x.dim() == 0) return x;
  Dims reverse;
  Shape turned;
  for (int i = x.dim() - 1; i >= 0; --i) {
    reverse.push_back(i);
    turned.push_back(x.shape()[i]);
  }
  turned[-1] *= 2;
  const Tensor y = zeros(turned, x.dtype()).slice(-1, 0, kAll, 2).permute(reverse);
  double* const out = y.mutable_data<double>();
  const Values values = x.to_vector<double>();
  for (int64_t i = 0; i < x.numel(); ++i) {
    int64_t offset = 0;
    int64_t rest = i;
    for (int axis = x.dim() - 1; axis >= 0; --axis) {
      offset += rest % x.shape()[axis] * y.strides()[axis];
      rest /= x.shape()[axis];
    }
    out[offset] = values[static_cast<std::size_t>(i)];
  }
  return y;
}

bool same_bits(const Values& a, const Values& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0);
}

class Check {
 public:
  Check(GradcheckFunction f, std::span<const Tensor> inputs, const GradcheckOptions& options)
      : f_(f), options_(options), inputs_(inputs.begin(), inputs.end()) {}

  GradcheckReport run() {
    accept_inputs();
    for (const Tensor& x : inputs_) before_.push_back(bits(x));
    {
      const PauseRecording pause;
      accept_function();
    }
    if (report_.ok) first_order();
    if (report_.ok) layouts_of_seed();
    if (report_.ok) constants_beside();
    if (report_.ok && options_.order == 2) options_.refuses.empty() ? second_order() : refusal();
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      if (bits(inputs_[i]) != before_[i]) fault(0, fmt::format("input {} was modified by the function", i));
    }
    return std::move(report_);
  }

 private:
  static std::string bits(const Tensor& x) {
    const Tensor packed = x.detach().contiguous();
    return packed.numel() == 0 ? std::string()
                               : std::string(static_cast<const char*>(packed.raw_data()),
                                             static_cast<std::size_t>(packed.numel() * item_size(packed.dtype())));
  }

  void accept_inputs() {
    if (options_.order != 1 && options_.order != 2) {
      fail(kWhere, fmt::format("expected order 1 or 2, got {}", options_.order));
    }
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      if (inputs_[i].dtype() == kFloat32) {
        fail(kWhere,
             fmt::format("expected float64 for input {}, got float32, in which finite differences are mostly rounding "
                         "(convert it by to(kFloat64))",
                         i));
      }
      if (inputs_[i].dtype() == kFloat64) wanted_.push_back(static_cast<int>(i));
      inputs_[i] = inputs_[i].detach();
      packed_.push_back(inputs_[i].contiguous());
    }
    if (wanted_.empty()) fail(kWhere, "no input is float64: there is nothing to differentiate");
  }

  void accept_function() {
    const Tensor y = f_(inputs_);
    if (y.dtype() != kFloat64) {
      fail(kWhere, fmt::format("expected the function to return float64, got {}", name(y.dtype())));
    }
    shape_ = y.shape();
    numel_ = y.numel();
    const Values first = y.to_vector<double>();
    if (!same_bits(first, f_(inputs_).to_vector<double>())) {
      return fault(0, "the function gives different values when it is called again (fix its random numbers)");
    }
    const Tensor packed = f_(packed_);
    if (!(packed.shape() == shape_)) {
      return fault(0, fmt::format("contiguous copies of the inputs give shape {}, the inputs {}", str(packed.shape()),
                                  str(shape_)));
    }
    const Values second = packed.to_vector<double>();
    for (std::size_t k = 0; k < first.size(); ++k) {
      if (!near(first[k], second[k])) {
        return fault(0, fmt::format("output {} is {}, but {} for contiguous copies of the inputs",
                                    index_text(static_cast<int64_t>(k), shape_), first[k], second[k]));
      }
    }
  }

  // Equal except for the order of additions.
  static bool near(double a, double b) { return std::abs(a - b) <= 1e-12 * (1 + std::abs(b)); }

  // --- the two things that are differentiated: f, and its gradient ---
  // `x` holds f's inputs, and for the gradient dy after them.

  Tensor evaluate(int order, std::span<const Tensor> x) {
    if (order == 1) {
      const PauseRecording pause;
      return f_(x);
    }
    Tape tape;
    std::vector<Tensor> leaves(x.begin(), x.end());
    for (int i : wanted_) leaves[static_cast<std::size_t>(i)] = leaves[static_cast<std::size_t>(i)].as_leaf();
    return gradient(tape, leaves);
  }

  // All gradients for dy, in one row.
  Tensor gradient(Tape& tape, std::span<const Tensor> leaves) {
    const Tensor y = f_(leaves.first(leaves.size() - 1));
    std::vector<Tensor> rows;
    Gradients grads;
    if (tape.position_of(y) >= 0)
      grads = tape.backward(y, {.create_graph = true, .grad_output = leaves.back(), .keep = {}});
    for (int i : wanted_) {
      const Tensor& leaf = leaves[static_cast<std::size_t>(i)];
      const Tensor* grad = grads.find(leaf);
      rows.push_back(grad ? grad->reshape({-1}) : zeros({leaf.numel()}, kFloat64));
    }
    return rows.size() == 1 ? rows[0] : cat(rows);
  }

  // The derivatives by backward: one row per output element, with those by all elements of all wanted inputs.
  std::vector<Values> jacobian(int order, const std::vector<Tensor>& x, const std::vector<int>& wanted) {
    std::vector<Values> rows;
    int64_t outputs = 1;
    for (int64_t k = 0; k < outputs; ++k) {
      Tape tape;
      std::vector<Tensor> leaves = x;
      for (int i : wanted) leaves[static_cast<std::size_t>(i)] = x[static_cast<std::size_t>(i)].as_leaf();
      const Tensor y = order == 1 ? f_(leaves) : gradient(tape, leaves);
      outputs = y.numel();
      if (k == outputs) break;  // no element at all
      const Tensor seed = zeros(y.shape(), kFloat64);
      seed.mutable_data<double>()[k] = 1;
      rows.push_back(row(tape, y, seed, leaves, wanted));
    }
    return rows;
  }

  static Values row(Tape& tape, const Tensor& y, const Tensor& seed, const std::vector<Tensor>& leaves,
                    const std::vector<int>& wanted) {
    Gradients grads;
    if (tape.position_of(y) >= 0) grads = tape.backward(y, {.create_graph = false, .grad_output = seed, .keep = {}});
    Values all;
    for (int i : wanted) {
      const Tensor& leaf = leaves[static_cast<std::size_t>(i)];
      const Tensor* grad = grads.find(leaf);
      const Values part = grad ? grad->to_vector<double>() : Values(static_cast<std::size_t>(leaf.numel()), 0.0);
      all.insert(all.end(), part.begin(), part.end());
    }
    return all;
  }

  // f'(x) = (8 (f(x+h) - f(x-h)) - (f(x+2h) - f(x-2h))) / 12h, with an error of h^4 f'''''/30.
  Values column(int order, std::vector<Tensor>& x, int input, int64_t index) {
    const double h = step_at(x, input, index);
    Values slope;
    for (const auto& [steps, weight] : {std::pair{1, 8.0}, {-1, -8.0}, {2, -1.0}, {-2, 1.0}}) {
      const Values y = evaluate_at(order, x, input, index, steps * h);
      if (!slope.empty() && y.size() != slope.size()) fail_sizes(slope.size(), y.size());
      slope.resize(y.size());
      for (std::size_t k = 0; k < y.size(); ++k) slope[k] += weight / (12 * h) * y[k];
    }
    return slope;
  }

  double step_at(const std::vector<Tensor>& x, int input, int64_t index) const {
    const double at = x[static_cast<std::size_t>(input)].data<double>()[index];
    return std::ldexp(options_.step, std::ilogb(std::max(1.0, std::abs(at))));
  }

  // The inputs with one element of one input moved.
  Values evaluate_at(int order, std::vector<Tensor>& x, int input, int64_t index, double move) {
    Tensor& moved = x[static_cast<std::size_t>(input)];
    const Tensor still = moved;
    moved = from_data(still.raw_data(), still.numel(), still.shape(), kFloat64);
    moved.mutable_data<double>()[index] += move;
    Values y = evaluate(order, x).to_vector<double>();
    moved = still;
    return y;
  }

  [[noreturn]] static void fail_sizes(std::size_t before, std::size_t now) {
    fail("gradcheck", fmt::format("the function returned {} elements, and {} near the same point (its shape must not "
                                  "depend on values)",
                                  before, now));
  }

  // --- the checks ---

  void first_order() { compare(1, inputs_, packed_, wanted_); }

  void second_order() {
    std::vector<Tensor> x = inputs_;
    std::vector<Tensor> packed = packed_;
    x.push_back(irregular(shape_));
    packed.push_back(x.back());
    std::vector<int> wanted = wanted_;
    wanted.push_back(static_cast<int>(inputs_.size()));  // dy is a leaf as well, but has no row of the gradient
    Values under_graph;
    try {
      under_graph = evaluate(2, x).to_vector<double>();
    } catch (const Error& error) {
      if (std::string_view(error.what()).find("] cannot be differentiated twice") == std::string_view::npos) throw;
      return fault(2, fmt::format("{}; here: name it in GradcheckOptions::refuses, or use order = 1", error.what()));
    }
    expect_same(under_graph, gradients_under(x.back(), wanted_), "with create_graph the gradient is different", 2);
    if (report_.ok) compare(2, x, packed, wanted);
  }

  void compare(int order, const std::vector<Tensor>& x, std::vector<Tensor> packed, const std::vector<int>& wanted) {
    const std::vector<Values> ours = jacobian(order, x, wanted);
    double excess = 1;
    std::size_t at = 0;
    bool all_zero = true;
    for (int input : wanted) {
      const int64_t count = packed[static_cast<std::size_t>(input)].numel();
      bool zero = true;
      for (int64_t index = 0; index < count; ++index, ++at) {
        const Values numeric = column(order, packed, input, index);
        if (numeric.size() != ours.size()) fail_sizes(ours.size(), numeric.size());
        for (std::size_t k = 0; k < numeric.size(); ++k) {
          const double error = std::abs(ours[k][at] - numeric[k]);
          const double tolerance = options_.atol + options_.rtol * std::abs(numeric[k]);
          double& worst = report_.worst[order - 1];
          worst = std::max(worst, error / std::max(1.0, std::abs(numeric[k])));
          zero = zero && std::abs(numeric[k]) <= options_.atol;
          ++report_.entries;
          if (error <= excess * tolerance) continue;
          excess = std::isnan(error) ? INFINITY : error / tolerance;
          mismatch(order, input, index, static_cast<int64_t>(k), ours[k][at], numeric[k]);
        }
      }
      all_zero = all_zero && zero;
      if (order == 1 && zero && !options_.zero_gradient && count > 0 && numel_ > 0 && report_.ok) {
        fault(1,
              fmt::format("the numeric gradient of input {} is zero everywhere (set zero_gradient if that is correct)",
                          input));
        report_.input = input;
      }
    }
    if (order == 1 && options_.zero_gradient && !all_zero && report_.ok) {
      fault(order, "zero_gradient is set, but the gradient is not zero");
    }
    if (report_.output >= 0) report_.text += not_smooth(order, packed);
  }

  // A note for an entry that failed where the function is not smooth; empty if our gradient is wrong. Three signs: ours
  // agrees with the numeric derivative for smaller steps; the one-sided slopes differ, and ours lies between them; or
  // the slopes grow without limit as the step shrinks.
  std::string not_smooth(int order, std::vector<Tensor>& x) {
    const double ours = report_.ours;
    const double error = std::abs(ours - report_.numeric);
    if (!std::isfinite(error)) return {};
    const auto f = [&](double move) {
      return evaluate_at(order, x, report_.input, report_.index, move)[static_cast<std::size_t>(report_.output)];
    };
    const double h = step_at(x, report_.input, report_.index);
    const double middle = f(0);
    const auto noise = [&](double step) { return 1e-14 * std::max(1.0, std::abs(middle)) / step; };
    for (double step = h / 4; step > h * 0x1p-15; step /= 4) {
      const double numeric = (8 * (f(step) - f(-step)) - (f(2 * step) - f(-2 * step))) / (12 * step);
      const double room = options_.atol + options_.rtol * std::abs(numeric) + noise(step);
      if (std::abs(ours - numeric) <= room && error > 10 * room) {
        return fmt::format(" (near a kink, or steep: with a step of {:.2g} the numeric derivative agrees)", step);
      }
    }
    const auto slopes = [&](double step) { return std::pair{(middle - f(-step)) / step, (f(step) - middle) / step}; };
    const auto [far_below, far_above] = slopes(h);
    const auto [below, above] = slopes(h / 16);
    const double steepest = std::max(std::abs(below), std::abs(above));
    if (steepest > 8 * std::max(std::abs(far_below), std::abs(far_above)) && steepest > 100 * noise(h / 16)) {
      return fmt::format(" (near a jump of the {})", order == 1 ? "function" : "gradient");
    }
    const double apart = std::abs(above - below);
    const double room = apart / 100;
    const bool between = ours >= std::min(below, above) - room && ours <= std::max(below, above) + room;
    if (!between || 2 * apart < std::abs(far_above - far_below) || 2 * apart < error || apart < 100 * noise(h / 16)) {
      return {};
    }
    return fmt::format(" (near a kink: the slope is {:.4g} below and {:.4g} above)", below, above);
  }

  void mismatch(int order, int input, int64_t index, int64_t output, double ours, double numeric) {
    const bool seed = input == static_cast<int>(inputs_.size());
    const Shape& shape = seed ? shape_ : inputs_[static_cast<std::size_t>(input)].shape();
    const std::string where = order == 1 ? fmt::format("output {}", index_text(output, shape_)) : gradient_text(output);
    report_.ok = false;
    report_.order = order;
    report_.input = input;
    report_.index = index;
    report_.output = output;
    report_.ours = ours;
    report_.numeric = numeric;
    report_.text = fmt::format("order {}: {} by {} at {}: ours {:.12g}, numeric {:.12g}", order, where,
                               seed ? std::string("the seed") : fmt::format("input {}", input),
                               index_text(index, shape), ours, numeric);
  }

  // Which gradient has position `output` in the row of all gradients.
  std::string gradient_text(int64_t output) const {
    for (int i : wanted_) {
      const Tensor& x = inputs_[static_cast<std::size_t>(i)];
      if (output < x.numel()) return fmt::format("gradient of input {} at {}", i, index_text(output, x.shape()));
      output -= x.numel();
    }
    return {};
  }

  Values gradients_under(const Tensor& seed, const std::vector<int>& wanted) {
    Tape tape;
    std::vector<Tensor> leaves = inputs_;
    for (int i : wanted) leaves[static_cast<std::size_t>(i)] = inputs_[static_cast<std::size_t>(i)].as_leaf();
    return row(tape, f_(leaves), seed, leaves, wanted);
  }

  void expect_same(const Values& got, const Values& expected, std::string_view what, int order = 1) {
    for (std::size_t i = 0; i < expected.size(); ++i) {
      if (near(got[i], expected[i])) continue;
      return fault(order, fmt::format("{}: {} instead of {}", what, got[i], expected[i]));
    }
  }

  void layouts_of_seed() {
    const Tensor seed = irregular(shape_);
    if (numel_ == 0) {  // nothing comes out, so nothing comes back
      for (double grad : gradients_under(seed, wanted_)) {
        if (grad != 0) return fault(1, fmt::format("a gradient is {} though the result has no element", grad));
      }
      return;
    }
    expect_same(gradients_under(strided_copy(seed), wanted_), gradients_under(seed, wanted_),
                "a strided dy gives different gradients than a contiguous one");
    if (!report_.ok) return;
    expect_same(gradients_under(scalar(0.75, kFloat64).expand(shape_), wanted_),
                gradients_under(full(shape_, 0.75, kFloat64), wanted_),
                "an expanded dy gives different gradients than a contiguous one");
  }

  void constants_beside() {
    if (wanted_.size() < 2) return;
    const Tensor seed = irregular(shape_);
    const Values all = gradients_under(seed, wanted_);
    auto part = all.begin();
    for (int i : wanted_) {
      const auto end = part + inputs_[static_cast<std::size_t>(i)].numel();
      expect_same(gradients_under(seed, {i}), Values(part, end),
                  fmt::format("input {} gets a different gradient when the other inputs are constants", i));
      if (!report_.ok) return;
      part = end;
    }
  }

  void refusal() {
    const std::string expected = fmt::format("[{}] cannot be differentiated twice", options_.refuses);
    std::vector<Tensor> x = inputs_;
    x.push_back(irregular(shape_));
    try {
      static_cast<void>(evaluate(2, x));
      fault(2, fmt::format("{} must reject create_graph, but does not", options_.refuses));
    } catch (const Error& error) {
      if (!std::string_view(error.what()).starts_with(expected)) {
        fault(2, fmt::format("\"{} ...\" was expected, \"{}\" came", expected, error.what()));
      }
    }
  }

  void fault(int order, std::string text) {
    report_.ok = false;
    report_.order = order;
    report_.text = order == 0 ? std::move(text) : fmt::format("order {}: {}", order, text);
  }

  const GradcheckFunction f_;
  const GradcheckOptions& options_;
  std::vector<Tensor> inputs_;
  std::vector<Tensor> packed_;  // contiguous copies
  std::vector<std::string> before_;
  std::vector<int> wanted_;  // which inputs are differentiated
  Shape shape_;              // of f's result
  int64_t numel_ = 0;
  GradcheckReport report_;
};

}  // namespace

GradcheckReport gradcheck(GradcheckFunction f, std::span<const Tensor> inputs, const GradcheckOptions& options) {
  return Check(f, inputs, options).run();
}

void wrong_input_count(std::size_t given) {
  fail(kWhere, fmt::format("expected as many inputs as the function takes, got {}", given));
}

}  // namespace tapegrad::detail
