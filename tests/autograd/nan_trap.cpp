// The trap for values and gradients that are not finite.
#include <tapegrad/tests/support/testing.h>

namespace tapegrad::tests {
namespace {

TEST(NanTrap, NamesOperationPositionAndShapesOfAValue) {
  const Tensor x = tensor({{1.0, -1.0}}).as_leaf();
  Tape tape;
  tape.trap_nan();
  const Tensor y = x * 2;
  EXPECT_EQ(error_of([&] { log(y); }),
            "[log] the value is not finite at position 2 of the tape: shape [1, 2] float32, inputs [1, 2]");
}

TEST(NanTrap, NamesOperationPositionAndShapesOfAGradient) {
  const Tensor x = tensor({{0.0, 4.0}}).as_leaf();
  Tape tape;
  tape.trap_nan();
  const Tensor y = sqrt(x * 1);
  EXPECT_EQ(
      error_of([&] { tape.backward(sum(y)); }),
      "[sqrt] the gradient of input 0 is not finite at position 2 of the tape: shape [1, 2] float32, inputs [1, 2]");
  Tape second;
  second.trap_nan();
  EXPECT_EQ(error_of([&] { second.backward(sum(sqrt(x))); }).substr(0, 36), "[sqrt] the gradient of input 0 is no");
}

// The -inf of a mask is put there on purpose; what is passed on of it is, too.
TEST(NanTrap, IsSilentAboutMasks) {
  const double hidden = -std::numeric_limits<double>::infinity();
  const Tensor x = tensor({{0.5, 1.0}, {2.0, -1.0}}).as_leaf(), shown = tensor({{true, false}, {true, true}});
  const Tensor added = where(shown, zeros({2, 2}), hidden);  // a constant
  const auto gradient = [&](auto masked) {
    Tape tape;
    tape.trap_nan();
    const Gradients grads = tape.backward(sum(square(softmax(masked(x * 2)).t())));
    return grads[x].to_vector<float>();
  };
  const auto filled = gradient([&](const Tensor& y) { return masked_fill(y, !shown, hidden); });
  EXPECT_EQ(filled[0], 0);
  EXPECT_NE(filled[2], 0);
  EXPECT_EQ(gradient([&](const Tensor& y) { return where(shown, y, hidden); }), filled);
  EXPECT_EQ(gradient([&](const Tensor& y) { return (y + added).reshape({1, 2, 2})[0]; }), filled);
}

TEST(NanTrap, NamesWhatMasksMakeNan) {
  const double infinity = std::numeric_limits<double>::infinity();
  const Tensor x = tensor({0.0, 1.0}).as_leaf(), shown = tensor({true, false});
  Tape tape;
  tape.trap_nan();
  const Tensor masked = where(shown, x, -infinity);
  const auto begin = [&](const auto& f) { return error_of(f).substr(0, 32); };
  EXPECT_EQ(begin([&] { masked - masked; }), "[sub] the value is not finite at");
  EXPECT_EQ(begin([&] { masked* zeros({2}); }), "[mul] the value is not finite at");
  EXPECT_EQ(begin([&] { -masked; }), "[neg] the value is not finite at");
  EXPECT_EQ(begin([&] { where(shown, x, infinity); }), "[where] the value is not finite ");
  EXPECT_EQ(begin([&] { masked_fill(x, shown, NAN); }), "[masked_fill] the value is not f");
}

TEST(NanTrap, IsSilentWithoutATrapAndForFiniteNumbers) {
  const Tensor x = tensor({0.0, 4.0}).as_leaf();
  {
    Tape tape;
    EXPECT_TRUE(std::isinf(tape.backward(sum(sqrt(x)))[x].to_vector<float>()[0]));
  }
  Tape tape;
  tape.trap_nan();
  tape.backward(sum(x * x));
}

}  // namespace
}  // namespace tapegrad::tests
