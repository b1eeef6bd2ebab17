// Third derivatives of every operation whose backward is made of operations (Op::twice), against differences of second
// derivatives. Gradient checks of second order do not see an operation that backward of backward records wrongly.
//
// A case is a function of one number: along a random direction of all inputs, a random sum of the results y + sin(y)
// (so that linear operations have a third derivative, too). One sample per operation; with TAPEGRAD_LONG=1 all.
#include <tapegrad/checks/cases/case.h>
#include <tapegrad/tests/support/long.h>
#include <tapegrad/tests/support/testing.h>

namespace tapegrad::tasks {
namespace {

// The operations without create_graph, which have no second derivative either.
const std::map<std::string_view, std::string_view> kOnce = {
    {"flex_attention", "the function that changes scores is differentiated in a fused pass"},
    {"implicit_gamma", "the slope of a sample with respect to a is a series without a derivative"},
    {"recompute", "runs its function again in backward, on a tape of its own"},
    {"reversible", "computes inputs from outputs in backward, on a tape of its own"},
};
// A matrix of cofactors is differentiated once by hand: the third derivative of det is an error for singular matrices.
bool is_singular(std::string_view op, std::string_view label) {
  return op == "det" && (label.starts_with("singular") || label == "of rank 2");
}

// Numbers between -1 and 1 without pattern.
Tensor direction(const Tensor& x, uint64_t seed) {
  Generator generator(seed);
  return rand(x.shape(), kFloat64, &generator) * 2 - 1;
}

// The second and third derivative of a case.
struct Derivatives {
  double second = 0, third = 0;
};

class Line {
 public:
  explicit Line(const OpSample& sample) : sample_(sample) {
    for (const Tensor& x : sample.inputs) v_.push_back(is_floating(x.dtype()) ? direction(x, v_.size() + 1) : Tensor());
  }

  // At x + t v.
  Derivatives at(double t, bool third) const {
    Tape tape;
    const Tensor moved = full({}, t, kFloat64).as_leaf();
    std::vector<Tensor> inputs = sample_.inputs;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (v_[i].defined()) inputs[i] = inputs[i] + moved * v_[i];
    }
    const Tensor y = sample_.f(inputs);
    Derivatives found;
    Tensor derivative = sum((y + sin(y)) * direction(y, 99));
    for (int order = 1; order <= (third ? 3 : 2); ++order) {
      if (!needs_grad(derivative)) return found;
      const Gradients gradients = tape.backward(derivative, {.create_graph = order < 3, .keep = {}});
      const Tensor* const next = gradients.find(moved);
      if (!next) return found;
      derivative = *next;
      if (order > 1) (order == 2 ? found.second : found.third) = derivative.item();
    }
    return found;
  }

 private:
  const OpSample& sample_;
  std::vector<Tensor> v_;
};

// A third derivative, and how much it changed when the step was halved.
struct Difference {
  double value, error;
};

// Central, of fourth order.
double difference(const Line& line, double step) {
  const auto second = [&](double t) { return line.at(t, false).second; };
  return (8 * (second(step) - second(-step)) - (second(2 * step) - second(-2 * step))) / (12 * step);
}

// The best of several steps: where halving it changes least.
Difference difference(const Line& line) {
  Difference best{0, HUGE_VAL};
  double last = difference(line, 0x1p-6);
  for (double step = 0x1p-7; step >= 0x1p-12; step /= 2) {
    const double now = difference(line, step), change = std::abs(now - last);
    if (change < best.error) best = {now, change};
    last = now;
  }
  return best;
}

// What is wrong with the third derivative of a sample; nothing if it is right.
std::string wrong(const OpSample& sample) {
  std::string text;
  const std::string error = tests::error_of([&] {
    const Line line(sample);
    const double found = line.at(0, true).third;
    const Difference other = difference(line);
    const double size = 1 + std::abs(other.value);
    if (!(std::abs(found - other.value) <= 1e-7 * size + 4 * other.error) || !(other.error <= 1e-5 * size))
      text = fmt::format("third derivative {}, by differences {}, which change by {}", found, other.value, other.error);
  });
  return error == "no error" ? text : error;
}

// The samples with few elements; the smallest come first.
std::vector<const OpSample*> chosen(const OpSamples& of) {
  std::vector<const OpSample*> all;
  const auto elements = [](const OpSample* sample) {
    int64_t count = 0;
    for (const Tensor& x : sample->inputs) count += x.numel();
    return count;
  };
  for (const OpSample& sample : of.samples) {
    if (elements(&sample) > 1) all.push_back(&sample);
  }
  if (!tests::long_tests_are_wanted() && all.size() > 2) {
    std::ranges::nth_element(all, all.begin() + all.size() / 2, {}, elements);  // of middle size
    std::swap(all[0], all[all.size() / 2]);
    all.resize(1);
  }
  return all;
}

TEST(ThirdOrder, AgreesWithDifferences) {
  std::size_t checked = 0;
  for (const OpSamples& of : op_samples()) {
    if (kOnce.contains(of.op)) continue;
    for (const OpSample* sample : chosen(of)) {
      if (is_singular(of.op, sample->label)) continue;
      ++checked;
      EXPECT_EQ(wrong(*sample), "") << of.op << ", sample \"" << sample->label << '"';
    }
  }
  EXPECT_GE(checked, 215U);
}

TEST(ThirdOrder, IsForAllButThese) {
  std::set<std::string_view> sampled;  // other tests have operations of their own
  for (const OpSamples& of : op_samples()) sampled.insert(of.op);
  for (const Op* op : Op::all()) {
    if (!sampled.contains(op->name)) continue;
    EXPECT_EQ(op->twice, !kOnce.contains(op->name)) << op->name;
  }
}

// A value and its first two derivatives are right, the third one is not.
TEST(ThirdOrder, FindsWhatIsWrongInTheThirdOnly) {
  for (const double factor : {6., 6.001}) {
    const auto slope = [factor](const Tensor& x) {  // of 3 x^2: 6 x, whose own slope is `factor`
      const Tensor y = (x * 6).detach();
      return record(*find_op("mul"), y, {x}, [factor](const Tensor& dy) -> Grads { return dy * factor; });
    };
    const auto square = [slope](const Tensor& x) {
      const Tensor y = (x * x * 3).detach();
      return record(*find_op("square"), y, {x}, [x, slope](const Tensor& dy) -> Grads { return dy * slope(x); });
    };
    const auto cube = [square](std::span<const Tensor> x) {
      const Tensor y = (x[0] * x[0] * x[0]).detach();
      return record(*find_op("pow"), y, {x[0]}, [x = x[0], square](auto& dy) -> Grads { return dy * square(x); });
    };
    const OpSample sample{"planted", {tensor({0.3, -1.2, 0.7}, kFloat64)}, cube};
    EXPECT_TRUE(gradcheck(sample.f, sample.inputs));
    EXPECT_EQ(wrong(sample).empty(), factor == 6) << wrong(sample);
  }
}

}  // namespace
}  // namespace tapegrad::tasks
