// The comparison of gradients with finite differences.
#include <tapegrad/autograd/derivatives/detail/jacobian.h>
#include <tapegrad/autograd/detail/index_text.h>
#include <tapegrad/autograd/gradcheck.h>
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/ops.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace tapegrad::detail {
namespace {

constexpr std::string_view kGradcheck = "gradcheck";

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

class Check {
 public:
  Check(GradcheckFunction f, std::span<const Tensor> inputs, const GradcheckOptions& options)
      : f_(f), options_(options), inputs_(inputs.begin(), inputs.end()) {}

  GradcheckReport run() {
    accept_inputs();
    for (const Tensor& x : inputs_) before_.push_back(bits(x));
    unrecorded([this] { accept_function(); });
    if (report_.ok) first_order();
    if (report_.ok) layouts_of_seed();
    if (report_.ok) constants_beside();
    if (report_.ok) second_backward();
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
    require(options_.order == 1 || options_.order == 2, kGradcheck, "expected order 1 or 2, got {}", options_.order);
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      require(inputs_[i].dtype() != kFloat32, kGradcheck,
              "expected float64 for input {}, got float32, in which finite differences are mostly rounding (convert it "
              "by to(kFloat64))",
              i);
      if (inputs_[i].dtype() == kFloat64) wanted_.push_back(static_cast<int>(i));
      inputs_[i] = inputs_[i].detach();
      packed_.push_back(inputs_[i].contiguous());
    }
    if (wanted_.empty()) fail(kGradcheck, "no input is float64: there is nothing to differentiate");
  }

  void accept_function() {
    const Tensor y = f_(inputs_);
    require(y.dtype() == kFloat64, kGradcheck, "expected the function to return float64, got {}", y.dtype());
    shape_ = y.shape();
    numel_ = y.numel();
    const Values first = y.to_vector<double>();
    for (double v : first) largest_ = std::max(largest_, std::abs(v));
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

  // --- the checks ---

  void first_order() {
    const auto value = [this](std::span<const Tensor> x) { return evaluate(1, x); };
    const auto record = [this](Tape&, std::span<const Tensor> leaves) { return f_(leaves); };
    const auto output_text = [this](int64_t k) { return fmt::format("output {}", index_text(k, shape_)); };
    const std::vector<bool> zero = compare({1, value, record, inputs_, packed_, wanted_, 0, output_text, {}});
    if (!report_.ok || numel_ == 0) return;
    if (options_.zero_gradient) {
      if (std::ranges::find(zero, false) != zero.end()) fault(1, "zero_gradient is set, but the gradient is not zero");
      return;
    }
    for (std::size_t i = 0; i < wanted_.size() && report_.ok; ++i)
      if (zero[i] && inputs_[static_cast<std::size_t>(wanted_[i])].numel() > 0) zero_gradient(wanted_[i]);
  }

  // A model may be saturated, or not use a parameter.
  void zero_gradient(int input) {
    const std::string text = fmt::format("order 1: the numerical gradient of {} is zero everywhere", input_text(input));
    if (!f_.parameters.empty() || depends_on(input)) {
      if (report_.note.empty()) report_.note = text;
      return;
    }
    report_.ok = false;
    report_.order = 1;
    report_.input = input;
    report_.text = text + " (set zero_gradient if that is correct)";
  }

  // Whether f changes if this input is scaled: then f is saturated or constant around the point, but not everywhere.
  bool depends_on(int input) {
    const Values here = evaluate(1, packed_).to_vector<double>();
    for (double factor : {0.5, 0x1p-10, 0x1p-24, -1.0}) {
      std::vector<Tensor> scaled = packed_;
      scaled[static_cast<std::size_t>(input)] = packed_[static_cast<std::size_t>(input)] * factor;
      try {
        if (evaluate(1, scaled).to_vector<double>() != here) return true;
      } catch (const Error&) {  // outside of its domain
      }
    }
    return false;
  }

  std::vector<bool> compare(JacobianAt at) {
    at.input_text = [this](int input, int64_t index) {
      const bool seed = input == static_cast<int>(inputs_.size());
      const Shape& shape = seed ? shape_ : inputs_[static_cast<std::size_t>(input)].shape();
      return fmt::format("{} at {}", seed ? "the seed" : input_text(input), index_text(index, shape));
    };
    return JacobianCheck(std::move(at), options_, report_).run();
  }

  int parameters_from() const { return static_cast<int>(inputs_.size() - f_.parameters.size()); }

  std::string input_text(int i) const {
    return i < parameters_from() ? fmt::format("input {}", i)
                                 : f_.parameters[static_cast<std::size_t>(i - parameters_from())];
  }

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
    if (!report_.ok) return;
    const auto value = [this](std::span<const Tensor> at) { return evaluate(2, at); };
    const auto record = [this](Tape& tape, std::span<const Tensor> leaves) { return gradient(tape, leaves); };
    compare({2, value, record, x, packed, wanted, largest_, [this](int64_t k) { return gradient_text(k); }, {}});
  }

  // Which gradient has position `output` in the row of all gradients.
  std::string gradient_text(int64_t output) const {
    for (int i : wanted_) {
      const Tensor& x = inputs_[static_cast<std::size_t>(i)];
      if (output < x.numel()) return fmt::format("gradient of {} at {}", input_text(i), index_text(output, x.shape()));
      output -= x.numel();
    }
    return {};
  }

  Values gradients_under(const Tensor& seed, const std::vector<int>& wanted) {
    Tape tape;
    std::vector<Tensor> leaves = inputs_;
    for (int i : wanted) leaves[static_cast<std::size_t>(i)] = inputs_[static_cast<std::size_t>(i)].as_leaf();
    return gradients_in_row(tape, f_(leaves), {.grad_output = seed}, leaves, wanted);
  }

  void expect_same(const Values& got, const Values& expected, std::string_view what, int order = 1) {
    double largest = 1;
    for (double v : expected) largest = std::max(largest, std::abs(v));
    for (std::size_t i = 0; i < expected.size(); ++i) {
      if (std::abs(got[i] - expected[i]) <= 1e-12 * largest + 4e-15 * largest_) continue;
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
                  input_text(i) + " gets a different gradient when the other inputs are constants");
      if (!report_.ok) return;
      part = end;
    }
  }

  // On one tape that is kept: backward once more, and for each input alone.
  void second_backward() {
    Tape tape;
    std::vector<Tensor> leaves = inputs_;
    for (int i : wanted_) leaves[static_cast<std::size_t>(i)] = inputs_[static_cast<std::size_t>(i)].as_leaf();
    const Tensor y = f_(leaves);
    if (tape.position_of(y) < 0) return;
    BackwardOptions options{.retain_graph = true, .grad_output = irregular(shape_)};
    const Values all = gradients_in_row(tape, y, options, leaves, wanted_);
    if (!same_bits(gradients_in_row(tape, y, options, leaves, wanted_), all))
      return fault(1, "a second backward on a retained tape gives different gradients");
    auto part = all.begin();
    for (int i : wanted_) {
      const auto end = part + inputs_[static_cast<std::size_t>(i)].numel();
      options.only = {leaves[static_cast<std::size_t>(i)]};
      expect_same(gradients_in_row(tape, y, options, leaves, {i}), Values(part, end),
                  input_text(i) + " gets a different gradient under BackwardOptions::only");
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
  double largest_ = 1;  // |value| of f's result, or 1
  GradcheckReport report_;
};

}  // namespace

GradcheckReport gradcheck(GradcheckFunction f, std::span<const Tensor> inputs, const GradcheckOptions& options) {
  return Check(f, inputs, options).run();
}

void wrong_input_count(std::size_t given) {
  fail(kGradcheck, "expected as many inputs as the function takes, got {}", given);
}

}  // namespace tapegrad::detail
