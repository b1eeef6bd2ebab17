// How tensors print: the texts are PyTorch's, except "torch." before a type.
#include <tapegrad/tests/support/testing.h>

namespace tapegrad {
namespace {

using tests::kInf;

TEST(Print, Numbers) {
  EXPECT_EQ(str(tensor({1., 2.5, -3.})), "tensor([ 1.0000,  2.5000, -3.0000])");
  EXPECT_EQ(str(tensor({1., 2., -3.})), "tensor([ 1.,  2., -3.])");
  EXPECT_EQ(str(tensor({1., 1e-5})), "tensor([1.0000e+00, 1.0000e-05])");
  EXPECT_EQ(str(tensor({1., 2000.})), "tensor([1.0000e+00, 2.0000e+03])");
  EXPECT_EQ(str(tensor({kInf, -kInf, std::nan(""), 1.})), "tensor([inf, -inf, nan, 1.])");
  EXPECT_EQ(str(tensor({0., -0.})), "tensor([0., -0.])");
  EXPECT_EQ(str(tensor({100., -7.})), "tensor([100.,  -7.])");
  EXPECT_EQ(str(tensor({1., 0.1}, kFloat64)), "tensor([1.0000, 0.1000], dtype=float64)");
  EXPECT_EQ(str(tensor({1, -20, 300})), "tensor([  1, -20, 300])");
  EXPECT_EQ(str(tensor({true, false})), "tensor([ True, False])");
}

TEST(Print, Shapes) {
  std::ostringstream out;
  out << zeros({2, 3}).shape() << Shape{} << zeros({2, 3}).strides();
  EXPECT_EQ(out.str(), "[2, 3][][3, 1]");
  EXPECT_EQ(str(scalar(3.14159)), "tensor(3.1416)");
  EXPECT_EQ(str(scalar(2, kInt64)), "tensor(2)");
  EXPECT_EQ(str(zeros({0})), "tensor([])");
  EXPECT_EQ(str(zeros({0, 3})), "tensor([], size=(0, 3))");
  EXPECT_EQ(str(zeros({2, 0}, kInt64)), "tensor([], size=(2, 0), dtype=int64)");
  EXPECT_EQ(str(tensor({{1, 2}, {3, 4}})), "tensor([[1, 2],\n        [3, 4]])");
  EXPECT_EQ(str(tensor({{1, 2}, {3, 4}}).t()), "tensor([[1, 3],\n        [2, 4]])");
  EXPECT_EQ(str(arange(4).reshape({2, 1, 2})), "tensor([[[0, 1]],\n\n        [[2, 3]]])");
}

TEST(Print, LongOnesAreBrokenAndLargeOnesAbbreviated) {
  EXPECT_EQ(str(arange(3, kFloat32)), "tensor([0., 1., 2.])");
  EXPECT_EQ(str(arange(30)),
            "tensor([ 0,  1,  2,  3,  4,  5,  6,  7,  8,  9, 10, 11, 12, 13, 14, 15, 16, 17,\n"
            "        18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29])");
  EXPECT_EQ(str(arange(1001)), "tensor([   0,    1,    2,  ...,  998,  999, 1000])");
  EXPECT_EQ(str(zeros({40, 30})),
            "tensor([[0., 0., 0.,  ..., 0., 0., 0.],\n"
            "        [0., 0., 0.,  ..., 0., 0., 0.],\n"
            "        [0., 0., 0.,  ..., 0., 0., 0.],\n"
            "        ...,\n"
            "        [0., 0., 0.,  ..., 0., 0., 0.],\n"
            "        [0., 0., 0.,  ..., 0., 0., 0.],\n"
            "        [0., 0., 0.,  ..., 0., 0., 0.]])");
  std::ostringstream out;
  out << ones({1});
  EXPECT_EQ(out.str(), "tensor([1.])");
}

}  // namespace
}  // namespace tapegrad
