// x(...): reading and writing by entries, and x += y. PyTorch's rules; the values are 100 i + 10 j + k at x[i, j, k].
#include <tapegrad/tests/support/testing.h>

namespace tapegrad {
namespace {

using tests::expect_near;

// [2, 3, 4]
Tensor numbered() {
  std::vector<float> values;
  for (int i = 0; i < 2; ++i) {
    for (int j = 0; j < 3; ++j) {
      for (int k = 0; k < 4; ++k) values.push_back(static_cast<float>(100 * i + 10 * j + k));
    }
  }
  return tensor(values, {2, 3, 4});
}

void expect_read(const Tensor& x, const Shape& shape, const std::vector<double>& values) {
  EXPECT_EQ(x.shape(), shape);
  expect_near(x, values);
}

TEST(Indexed, ReadsAsPyTorchDoes) {
  const Tensor x = numbered();
  expect_read(x(1), {3, 4}, {100, 101, 102, 103, 110, 111, 112, 113, 120, 121, 122, 123});
  expect_read(x(-1, 2, 3), {}, {123});
  expect_read(x(all, range(1, 3), 2), {2, 2}, {12, 22, 112, 122});
  expect_read(x({}, range(1, 3), 2), {2, 2}, {12, 22, 112, 122});
  expect_read(x(ellipsis, 0), {2, 3}, {0, 10, 20, 100, 110, 120});
  expect_read(x(0, ellipsis, range(kAll, kAll, -2)), {3, 2}, {3, 1, 13, 11, 23, 21});
  expect_read(x(1, 2, 3, ellipsis), {}, {123});
  expect_read(x(0, newaxis, 1, range(0, 4, 3)), {1, 2}, {10, 13});
  expect_read(x(0, 0, newaxis, all, newaxis), {1, 4, 1}, {0, 1, 2, 3});
  expect_read(x(range(1, -1), 0), {0, 4}, {});
}

TEST(Indexed, ReadsByTensorsAsPyTorchDoes) {
  const Tensor x = numbered();
  const Tensor ids = tensor({2, 0, -1});
  expect_read(x(0, ids, 1), {3}, {21, 1, 21});
  expect_read(x(all, ids, range(0, 1)), {2, 3, 1}, {20, 0, 20, 120, 100, 120});
  expect_read(x(tensor({0, 1}), tensor({2, 1})), {2, 4}, {20, 21, 22, 23, 110, 111, 112, 113});
  expect_read(x(tensor({0, 1}), all, tensor({3, 0})), {2, 3}, {3, 13, 23, 100, 110, 120});
  expect_read(x(newaxis, tensor({1}), 0, tensor({3})), {1, 1}, {103});
  expect_read(x(x > 120), {3}, {121, 122, 123});
  expect_read(x(all, tensor({false, true, true}), 3), {2, 2}, {13, 23, 113, 123});
  expect_read(
      x(ellipsis, tensor({{true, false, false, false}, {false, false, false, true}, {false, false, true, false}})),
      {2, 3}, {0, 13, 22, 100, 113, 122});
}

TEST(Indexed, WritesGiveTheHandleANewTensor) {
  Tensor x = numbered();
  const Tensor before = x;
  x(0, 1) = tensor({1., 2., 3., 4.});
  expect_near(x(0, 1), {1, 2, 3, 4});
  expect_near(before, numbered());  // the other handle
  x(all, range(1, 3), 2) = -1;
  expect_read(x(ellipsis, 2), {2, 3}, {2, -1, -1, 102, -1, -1});
  x(1) = x(0);
  EXPECT_TRUE(equal(x(1), x(0)));
  x(ellipsis, 0) += 0.5;
  expect_near(x(0, all, 0), {0.5, 1.5, 20.5});
  x(range(0, 1), all, range(kAll, kAll, -1)) = x(1, newaxis);
  expect_near(x(0, 0), {3, 2, 1, 0.5});
  x(newaxis, 0, newaxis, 0) *= tensor({{{2., 3., 4., 5.}}});
  expect_near(x(0, 0), {6, 6, 4, 2.5});
}

TEST(Indexed, WritesByTensors) {
  Tensor x = numbered();
  x(x > 20) = 0;
  expect_near(sum(x), {0 + 1 + 2 + 3 + 10 + 11 + 12 + 13 + 20});
  x(all, tensor({0, 2}), 3) = tensor({7., 8.});
  expect_read(x(ellipsis, 3), {2, 3}, {7, 13, 8, 7, 0, 8});
  x(0, tensor({1, 1}), 0) += tensor({1., 2.});  // the last one remains, as in PyTorch
  expect_near(x(0, 1, 0), {12});
  x(tensor({false, true}), all, 1) = tensor({1., 2., 3.});
  expect_near(x(1, all, 1), {1, 2, 3});
  x(tensor({false, true})) = 9;
  expect_near(amin(x(1)), {9});
  x(1, range(0, 2), newaxis, tensor({3, 0})) = tensor({{5., 6.}});
  expect_read(x(1), {3, 4}, {6, 9, 9, 5, 6, 9, 9, 5, 9, 9, 9, 9});
}

TEST(Indexed, GradientsFlowThroughBoth) {
  const Tensor x = tensor({1., 2., 3., 4.}).as_leaf(), y = tensor({5., 6.}).as_leaf();
  Tape tape;
  Tensor z = x * 1;
  z(range(0, 2)) = y * y;
  z(tensor({3})) *= 10;
  z += z;
  z(z > 70) = 0;  // 72 and 80
  const Gradients gradients = tape.backward(sum(z));
  expect_near(z, {50, 0, 6, 0});
  expect_near(gradients[x], {0, 0, 2, 0});
  expect_near(gradients[y], {20, 0});
}

TEST(Indexed, OfANameWithAutoTheNameAlone) {
  Tensor x = numbered();
  auto row = x(0, 0);
  row = row + 1;
  row += 1;
  expect_near(row, {2, 3, 4, 5});
  expect_near(x, numbered());
}

TEST(Indexed, ATensorThatNothingElseHoldsIsWrittenInPlace) {
  Tensor x = numbered();
  const void* const memory = x.raw_data();
  x(1, 2) = 5;
  EXPECT_EQ(x.raw_data(), memory);
  const Tensor other = x;
  x(1, 2) = 6;
  EXPECT_NE(x.raw_data(), memory);
  expect_near(other(1, 2, 0), {5});
  Tensor y = numbered();
  const Tensor view = y(0);
  y(0, 0) = 6;
  expect_near(view(0), {0, 1, 2, 3});
  y(0) = y(1);  // the values share memory with the target
  EXPECT_TRUE(equal(y(0), numbered()(1)));
}

TEST(Indexed, WritesInPlaceAndToCopiesHaveOneResult) {
  using Layout = Tensor (*)(const Tensor&);
  constexpr Layout kLayouts[] = {
      [](const Tensor& x) { return x; },
      [](const Tensor& x) { return x.t(); },
      [](const Tensor& x) { return x.slice(1, kAll, kAll, 2); },
      [](const Tensor& x) { return x.slice(0, kAll, kAll, -1); },
      [](const Tensor& x) {
        return x.select(0, 1).expand({4, 6});
      },
      [](const Tensor& x) { return unfold(x.select(0, 1), 0, 3, 1); },
  };
  for (const DType dtype : {kBool, kUInt8, kInt32, kInt64, kFloat16, kBFloat16, kFloat32, kFloat64}) {
    for (const Layout layout : kLayouts) {
      Tensor x = layout(remainder(arange(24), 5).reshape({4, 6}).to(dtype)), y = x.clone();
      const Tensor other = y;  // writes to y are writes to a copy
      const Tensor values = tensor({1, 0, 1}).to(dtype);
      const auto write = [&](Tensor& z) {
        z(1, range(0, 3)) = values;
        z(range(kAll, kAll, -2), 0) = values.slice(0, 0, 1);
        if (!is_half(z.dtype())) z(tensor({0, 2}), newaxis, 1) = values.slice(0, 0, 2).unsqueeze(1);
        z(all, 2) = z(all, 1);
      };
      write(x);
      write(y);
      EXPECT_TRUE(tests::same_bits(x, y)) << name(dtype) << " " << str(x) << str(y);
    }
  }
}

TEST(Indexed, UpdatesOfAName) {
  Tensor x = tensor({1., 2.});
  const Tensor before = x;
  x += 1;
  x *= tensor({2., 3.});
  x -= 1;
  x /= 2;
  expect_near(x, {1.5, 4});
  expect_near(before, {1, 2});
}

TEST(Indexed, Errors) {
  Tensor x = numbered(), ids = arange(3), leaf = zeros({2}).as_leaf();
  EXPECT_ERROR(x(0, 0, 0, 0));
  EXPECT_ERROR(x(x > 0, 1) = 1);
  EXPECT_ERROR(x(ellipsis, ellipsis));
  EXPECT_ERROR(x(any));
  EXPECT_ERROR(x(0, 0) = zeros({3}));
  EXPECT_ERROR(x(0, 0) = zeros({4}, kFloat64));
  EXPECT_ERROR(leaf(0) = 1);
  EXPECT_ERROR(leaf += 1);
  EXPECT_ERROR(ids += 0.5);
  EXPECT_ERROR(ids *= ones({2, 1}, kInt64));
}

// Assignment to a temporary tensor, which would be lost, does not compile; to x(...) it does.
TEST(Indexed, OnlyNamesAndTheirElementsAreAssignable) {
  static_assert(std::is_assignable_v<Tensor&, Tensor>);
  static_assert(!std::is_assignable_v<Tensor, Tensor>);
  static_assert(!std::is_assignable_v<decltype(std::declval<const Tensor&>()(0)), Tensor>);
  static_assert(std::is_assignable_v<decltype(std::declval<Tensor&>()(0)), Tensor>);
  static_assert(!std::is_assignable_v<decltype(std::declval<Tensor&>()[0]), Tensor>);
}

}  // namespace
}  // namespace tapegrad
