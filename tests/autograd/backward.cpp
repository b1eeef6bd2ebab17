// What takes gradients during backward, and what an operation may know of the pass.
#include <tapegrad/tests/support/testing.h>

namespace tapegrad::tests {
namespace {

Tensor number(double value) { return scalar(value, kFloat64); }

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
  EXPECT_EQ(error_of([&] { tape->backward(y, {.sink = &sink}); }),
            "[backward] the tape was destroyed by a function that its backward called (end it afterwards)");
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
  const Tensor y =
      record(kAsks, inner.detach() * w.detach(), {inner, w}, [&](const Tensor& dy, const BackwardPass& pass) -> Grads {
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
