// The trap for values and gradients that are not finite.
#include <gtest/gtest.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/tape.h>
#include <tapegrad/tests/support/near.h>

#include <cmath>

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
