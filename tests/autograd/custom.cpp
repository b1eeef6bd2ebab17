// Custom operations, record() and custom(); what takes gradients during backward, and what an operation may know of the
// pass.
#include <tapegrad/tests/support/testing.h>

namespace tapegrad::tests {
namespace {

Tensor number(double value) { return scalar(value, kFloat64); }

const Op kSoftplus{"softplus"};
Tensor own_softplus(const Tensor& x) {
  const Tensor y = log1p(exp(x.detach()));
  return record(kSoftplus, y, {x}, [x](const Tensor& dy) -> Grads { return dy * sigmoid(x); });
}

TEST(CustomOperation, PassesGradcheckToSecondOrder) {
  EXPECT_TRUE(gradcheck(own_softplus, {tensor({{0.3, -1.0}, {2.0, 0.1}}, kFloat64)}));
  EXPECT_TRUE(gradcheck(own_softplus, {tensor({{0.3, -1.0}, {2.0, 0.1}}, kFloat64).t()}));
  EXPECT_TRUE(gradcheck(own_softplus, {number(0.4).expand({3})}));
}

const Op kCube{"cube"};
Tensor own_cube(const Tensor& x) {
  return custom(
      kCube, {x}, [](auto& in) { return in * in * in; }, [x](const Tensor& dy) -> Grads { return dy * 3 * x * x; });
}

const Op kScaledExp{"scaled_exp"};
Tensor scaled_exp(const Tensor& x, const Tensor& scale) {
  return custom(
      kScaledExp, {x, scale}, [](const Tensor& a, const Tensor& s) { return exp(a * s); },
      [x, scale](const Tensor& dy, const Tensor& y) -> Grads {
        return {dy * y * scale, dy * y * x};
      });
}

TEST(CustomOperation, IsOneNodeAndPassesGradcheck) {
  const Tensor x = tensor({{0.3, -1.0}, {2.0, 0.1}}, kFloat64);
  EXPECT_TRUE(gradcheck(own_cube, {x}));
  EXPECT_TRUE(gradcheck(scaled_exp, {x, tensor({0.5, 0.2}, kFloat64)}));
  Tape tape;
  const Tensor leaf = x.as_leaf();
  own_cube(leaf);
  EXPECT_EQ(tape.size(), 2);
  EXPECT_EQ(tape.op_name(1), "cube");
}

TEST(CustomOperation, MayReturnItsInput) {
  const Tensor x = number(3).as_leaf();
  const auto seven = [](const Tensor& dy) -> Grads { return dy * 7; };
  EXPECT_EQ(Tape().backward(custom(kCube, {x}, std::identity(), seven))[x].item(), 7);
  EXPECT_TRUE(x.is_leaf());
}

TEST(CustomOperation, TakesManyInputsOfWhichSomeAreConstants) {
  const auto weighted = [](std::span<const Tensor> x) {
    Tensor y = zeros({2}, kFloat64);
    for (std::size_t i = 0; i < x.size(); ++i) y = y + x[i].detach() * static_cast<double>(i + 1);
    return record(kSoftplus, y, x, [count = x.size()](const Tensor& dy) -> Grads {
      Grads grads;
      for (std::size_t i = 0; i < count; ++i) grads.push_back(dy * static_cast<double>(i + 1));
      return grads;
    });
  };
  const std::vector<Tensor> inputs(7, tensor({1.0, 2.0}, kFloat64));
  EXPECT_TRUE(gradients_match(weighted, inputs));
}

TEST(CustomOperation, MayReturnATensorThatItHolds) {
  static const Op kHeld{"held"};
  const Tensor constant = tensor({1., 2.}), w = tensor({5., 7.}).as_leaf(), v = tensor({1., 1.}).as_leaf();
  Tape tape;
  const Tensor of_input = custom(
      kHeld, {constant, w}, [](const Tensor& x, const Tensor&) { return x; },
      [](const Tensor& dy) -> Grads {
        return {Tensor(), dy};
      });
  const auto held = [&](const Tensor& in) {
    return custom(
        kHeld, {in}, [&](const Tensor&) { return constant; }, [](const Tensor& dy) -> Grads { return dy; });
  };
  EXPECT_EQ(constant.tape_index().tape, 0u);
  const Gradients grads = tape.backward(sum(of_input) + sum(constant * 100) + sum(held(w) * 10) + sum(held(v) * 1000));
  EXPECT_EQ(grads[w].to_vector<float>(), (std::vector<float>{11, 11}));
  EXPECT_EQ(grads[v].to_vector<float>(), (std::vector<float>{1000, 1000}));
}

TEST(CustomOperation, NeedsABackward) {
  static const Op kNone{"none"};
  const Tensor x = tensor({1., 2.}).as_leaf();
  Tape tape;
  EXPECT_ERROR(record(kNone, x * 2, {x}, Backward()));
}

// --- sinks of gradients ---

// Writes down what it is given: the numbers of the leaves with their gradients, and which of them may be written to.
struct Noted : GradientSink {
  void take(const TapeIndex& leaf, const Tensor& grad) override { taken.emplace_back(leaf, grad.item()); }
  void ran_node(bool may_write) override { writable.push_back(may_write); }
  std::vector<std::pair<TapeIndex, double>> taken;
  std::vector<bool> writable;
};

TEST(GradientSinks, TakeGradientsOfLeavesInsteadOfTheResult) {
  const Tensor x = number(3).as_leaf(), w = number(2).as_leaf();
  Tape tape;
  const Tensor y = x * x, z = y * w;  // positions: x, y, w, z
  Noted sink;
  const Gradients grads = tape.backward(z, {.keep = {y}, .sink = &sink});
  EXPECT_EQ(grads.size(), 1u);
  EXPECT_EQ(grads[y].item(), 2);
  ASSERT_EQ(sink.taken.size(), 2u);
  EXPECT_EQ(sink.taken[0], (std::pair<TapeIndex, double>(w.tape_index(), 9)));
  EXPECT_EQ(sink.taken[1], (std::pair<TapeIndex, double>(x.tape_index(), 12)));
  EXPECT_EQ(sink.writable, std::vector<bool>(4, true));
}

TEST(GradientSinks, LearnWhenLeavesMayBeWrittenTo) {
  const Tensor x = number(3).as_leaf(), w = number(2).as_leaf();
  Tape tape;
  const Tensor hooked = on_grad(x, [](const Tensor&) {});  // may read any leaf
  Noted sink;
  tape.backward(hooked * w, {.sink = &sink});  // the product, w, the hook, x
  EXPECT_EQ(sink.writable, (std::vector<bool>{false, false, true, true}));
}

TEST(GradientSinks, GetNothingOfABackwardInsideAnother) {
  static const Op kInner{"inner"};
  const Tensor x = number(3).as_leaf(), w = number(2).as_leaf();
  Tape tape;
  const Tensor y = record(
      kInner, x.detach(), {x},
      [&](const Tensor& dy) -> Grads {
        Tape inner;
        return dy * inner.backward(w * w)[w];
      },
      Reads::anything);
  Noted sink;
  tape.backward(y, {.sink = &sink});
  ASSERT_EQ(sink.taken.size(), 1u);
  EXPECT_EQ(sink.taken[0], (std::pair<TapeIndex, double>(x.tape_index(), 4)));
}

TEST(GradientSinks, ThatDestroyTheTapeAreErrors) {
  struct Ends : GradientSink {
    explicit Ends(std::optional<Tape>& tape) : tape(tape) {}
    void take(const TapeIndex&, const Tensor&) override { tape.reset(); }
    void ran_node(bool) override {}
    std::optional<Tape>& tape;
  };
  const Tensor x = number(3).as_leaf();
  std::optional<Tape> tape(std::in_place);
  Ends sink(tape);
  const Tensor y = x * x;
  EXPECT_ERROR(tape->backward(y, {.sink = &sink}));
}

// --- what a backward may know of the pass ---

TEST(BackwardPasses, SayWhetherTheOperationMayRunAgain) {
  static const Op kNotes{"notes"};
  const Tensor x = number(3).as_leaf();
  std::vector<bool> retained;
  Tape tape;
  const Tensor y = record(kNotes, x.detach(), {x}, [&](const Tensor& dy, const BackwardPass& pass) -> Grads {
    retained.push_back(pass.retained);
    return dy;
  });
  tape.backward(y, {.retain_graph = true});
  tape.backward(y, {.create_graph = true});
  tape.backward(y);
  EXPECT_EQ(retained, (std::vector<bool>{true, true, false}));
}

TEST(BackwardPasses, HaveTheSumSoFarWhereItMayBeChanged) {
  static const Op kAdds{"adds"};
  const Tensor x = number(3).as_leaf();
  const auto gradient = [&](const BackwardOptions& options, bool trap) {
    Tape tape;
    if (trap) tape.trap_nan();
    bool in_place = false;
    const Tensor first = record(kAdds, x.detach(), {x}, [&](const Tensor& dy, const BackwardPass& pass) -> Grads {
      Tensor* const sum = pass.gradient_so_far(0);
      in_place = sum != nullptr;
      if (!sum) return dy;
      accumulate_into(*sum, dy);
      return Tensor();
    });
    const Tensor loss = first + x * 5;  // the product's backward runs before that of `first`
    return std::pair(tape.backward(loss, options)[x].item(), in_place);
  };
  EXPECT_EQ(gradient({}, false), std::pair(6.0, true));
  EXPECT_EQ(gradient({.retain_graph = true}, false), std::pair(6.0, true));
  EXPECT_EQ(gradient({.create_graph = true}, false), std::pair(6.0, false));
  EXPECT_EQ(gradient({.only = {x}}, false), std::pair(6.0, false));
  EXPECT_EQ(gradient({}, true), std::pair(6.0, false));
}

TEST(BackwardPasses, SayWhichGradientsAreUnnecessary) {
  static const Op kAsks{"asks"};
  const Tensor x = number(3).as_leaf(), w = number(2).as_leaf();
  std::vector<bool> wanted;
  Tape tape;
  const Tensor inner = x * x;
  const Tensor y = record(kAsks, inner.detach() * w.detach(), {inner, w}, [&](auto& dy, auto& pass) -> Grads {
    wanted = {pass.wants(0), pass.wants(1)};
    return {dy * 2, dy * 9};
  });
  tape.backward(y, {.retain_graph = true});
  EXPECT_EQ(wanted, (std::vector<bool>{true, true}));
  EXPECT_EQ(tape.backward(y, {.retain_graph = true, .only = {x}})[x].item(), 12);
  EXPECT_EQ(wanted, (std::vector<bool>{true, false}));
  EXPECT_EQ(tape.backward(y, {.only = {w}})[w].item(), 9);
  EXPECT_EQ(wanted, (std::vector<bool>{false, true}));
}

}  // namespace
}  // namespace tapegrad::tests
