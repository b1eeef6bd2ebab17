// Shape operations, regions, and writing by index: examples, views, special cases and errors.
#include <gtest/gtest.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/parallel.h>
#include <tapegrad/tests/support/gradient.h>
#include <tapegrad/tests/support/near.h>
#include <tapegrad/tests/support/threads.h>

namespace tapegrad::tests {
namespace {

const Tensor kCounted = arange(0, 6, 1, kFloat32).reshape({2, 3});
const Tensor kIds = arange(6).reshape({2, 3});

bool shares_memory(const Tensor& a, const Tensor& b) { return a.storage() == b.storage(); }

// --- tensor({...}) ---

TEST(Literals, HaveAnAxisPerLevel) {
  EXPECT_EQ(tensor({}).shape(), (Shape{0}));
  EXPECT_EQ(tensor({1}).shape(), (Shape{1}));
  EXPECT_EQ(tensor({{1.}}).shape(), (Shape{1, 1}));
  EXPECT_EQ(tensor({{1.}, {2.}}).shape(), (Shape{2, 1}));
  EXPECT_EQ(tensor({{1., 2.}}).shape(), (Shape{1, 2}));
  EXPECT_EQ(tensor({{}, {}}).shape(), (Shape{2, 0}));
  EXPECT_EQ(tensor({{{1}, {2}, {3}}}).shape(), (Shape{1, 3, 1}));
  EXPECT_EQ(tensor({{{{{1}}}}}).shape(), (Shape{1, 1, 1, 1, 1}));
  const Tensor x = tensor({{{{1, 2}, {3, 4}}, {{5, 6}, {7, 8}}}});
  EXPECT_EQ(x.shape(), (Shape{1, 2, 2, 2}));
  EXPECT_EQ(x.to_vector<int64_t>(), (std::vector<int64_t>{1, 2, 3, 4, 5, 6, 7, 8}));
  expect_near(tensor({{{1.5, 2}, {3, 4}}, {{5, 6}, {7, 8}}}), {1.5, 2, 3, 4, 5, 6, 7, 8});
}

TEST(Literals, HaveTheWidestType) {
  EXPECT_EQ(tensor({true, false}).dtype(), kBool);
  EXPECT_EQ(tensor({true, 2}).dtype(), kInt64);
  EXPECT_EQ(tensor({1, 2.5}).dtype(), kFloat32);
  EXPECT_EQ(tensor({1.f}).dtype(), kFloat32);
  EXPECT_EQ(tensor({}).dtype(), kFloat32);
  EXPECT_EQ(tensor({1, 2}, kFloat64).dtype(), kFloat64);
  EXPECT_EQ(tensor({0.1}, kFloat64).item(), 0.1);
  EXPECT_EQ(tensor({0.1}).item<float>(), 0.1f);
  EXPECT_EQ(tensor({INT64_MAX}).item<int64_t>(), INT64_MAX);
  EXPECT_EQ(tensor({0.5, 0.}, kBool).to_vector<bool>(), (std::vector<bool>{true, false}));
}

TEST(Literals, MustBeEvenlyLong) {
  // clang-format off
  expect_texts({
      {"[tensor] expected rows of equal length, got 2 and 1 values", [] { tensor({{1, 2}, {3}}); }},
      {"[tensor] expected rows of equal length, got 2 and 1 values", [] { tensor({{{1, 2}}, {{3}}}); }},
      {"[tensor] expected rows of equal length, got 1 and 2 values", [] { tensor({{{1, 2}}, {{3, 4}, {5, 6}}}); }},
      {"[tensor] expected either lists or numbers on one level, got both", [] { tensor({{1, 2}, 3}); }},
      {"[tensor] expected either lists or numbers on one level, got both", [] { tensor({{{1}, {2}}, {3, 4}}); }},
      {"[tensor] expected either lists or numbers on one level, got both", [] { tensor({{3, 4}, {{1}, {2}}}); }},
  });
  // clang-format on
}

// --- shape ---

TEST(Shape, ViewsShareMemory) {
  const Tensor x = zeros({4, 5, 6});
  for (const Tensor& y : {diagonal(x, 1, 0, 2), unfold(x, 1, 3, 1), unflatten(x, -1, {2, -1}), movedim(x, 0, 2),
                          slice(x, {1, {}, {0, 4, 2}}), broadcast_to(x, {3, 4, 5, 6}), pad(x, {-1, -1}), pad(x, {0, 0}),
                          repeat(x, {1, 1, 1}), x.unsqueeze(0).squeeze(0), meshgrid({x[0][0]})[0]}) {
    EXPECT_TRUE(shares_memory(x, y)) << str(y.shape());
  }
  EXPECT_EQ(unfold(x, 1, 3, 1).shape(), (Shape{4, 3, 6, 3}));
  EXPECT_EQ(unflatten(x, -1, {2, -1}).shape(), (Shape{4, 5, 2, 3}));
  EXPECT_EQ(zeros({1, 4, 1, 2}).squeeze({0, 2}).shape(), (Shape{4, 2}));
  EXPECT_EQ(repeat(zeros({2, 1, 1, 1, 1, 1, 1, 2}), {3, 1, 1, 1, 1, 1, 1, 2}).shape(), (Shape{6, 1, 1, 1, 1, 1, 1, 4}));
}

// Rows that are read several times are copied after themselves, up to the end of a piece.
TEST(Shape, RepeatedRows) {
  for (const DType dtype : {kUInt8, kBFloat16, kFloat32, kInt64}) {
    for (const int64_t row : {1, 2, 3, 31, 600}) {
      for (const int64_t times : {1, 2, 255, 1000}) {
        const Tensor x = remainder(arange(5 * row), 200).reshape({5, 1, row});
        const Tensor y = x.to(kFloat32).to(dtype).expand({5, times, row}).contiguous();
        const std::vector<double> numbers = y.to(kFloat32).to(kFloat64).to_vector<double>();
        int64_t wrong = 0;
        for (int64_t i = 0; i < 5 * times * row; ++i) {
          wrong += numbers[static_cast<std::size_t>(i)] != (i / times / row * row + i % row) % 200;
        }
        EXPECT_EQ(wrong, 0) << row << " " << times << " " << name(dtype);
      }
    }
  }
}

TEST(Shape, Errors) {
  // clang-format off
  expect_texts({
      {"[unflatten] expected sizes whose product is axis 1 of [2, 3], at most one of them -1 (the rest), got [2, -1]",
       [] { unflatten(kCounted, 1, {2, -1}); }},
      {"[unflatten] expected sizes whose product is axis 0 of [2, 3], at most one of them -1 (the rest), got [-1, -1]",
       [] { unflatten(kCounted, 0, {-1, -1}); }},
      {"[unflatten] axis 2 is out of range for shape [2, 3] (axes go from -2 to 1)",
       [] { unflatten(kCounted, 2, {1}); }},
      {"[movedim] expected as many new positions as axes, got [0, 1] and [0]", [] { movedim(kCounted, {0, 1}, {0}); }},
      {"[movedim] axis -1 is named twice in [1, -1]", [] { movedim(kCounted, {1, -1}, {0, 1}); }},
      {"[movedim] axis 0 is named twice in [0, 0]", [] { movedim(kCounted, {0, 1}, {0, 0}); }},
      {"[squeeze] expected axis 2 to have size 1, got 3 in [1, 2, 3]", [] { zeros({1, 2, 3}).squeeze({0, 2}); }},
      {"[diagonal] expected two different axes of [2, 3], got 0 and -2", [] { diagonal(kCounted, 0, 0, -2); }},
      {"[diagonal] axis 1 is out of range for shape [2] (axes go from -1 to 0)", [] { diagonal(zeros({2})); }},
      {"[diag_embed] expected two different axes of [2, 3, 1], got 2 and -1", [] { diag_embed(kCounted, 0, 2, -1); }},
      {"[diag_embed] expected one axis or more, got a scalar", [] { diag_embed(scalar(1)); }},
      {"[diag] expected one or two axes, got shape []", [] { diag(scalar(1)); }},
      {"[unfold] expected windows of at most the 3 elements of axis 1 of [2, 3], and a step of 1 or more, got size 4 "
       "and step 1",
       [] { unfold(kCounted, 1, 4, 1); }},
      {"[unfold] expected windows of at most the 3 elements of axis 1 of [2, 3], and a step of 1 or more, got size 2 "
       "and step 0",
       [] { unfold(kCounted, 1, 2, 0); }},
      {"[unfold] expected windows of at most the 1 elements of axis 0 of [], and a step of 1 or more, got size 2 "
       "and step 1",
       [] { unfold(scalar(1), 0, 2, 1); }},
      {"[unfold] axis 1 given, but a scalar has no axes", [] { unfold(scalar(1), 1, 1, 1); }},
      {"[repeat] expected a count for each axis of [2, 3], got [2]", [] { repeat(kCounted, {2}); }},
      {"[repeat] expected counts of 0 or more, got [1, -1]", [] { repeat(kCounted, {1, -1}); }},
      {"[tile] expected counts of 0 or more, got [1, -1]", [] { tile(kCounted, {-1}); }},
      {"[repeat_interleave] expected a count of 0 or more, got -1", [] { repeat_interleave(kCounted, -1, 0); }},
      {"[repeat_interleave] expected a count for each element of axis 0 of [2, 3], or a single one, got shape [3]",
       [] { repeat_interleave(kCounted, zeros({3}, kInt64), 0); }},
      {"[repeat_interleave] -1 at [1] of the counts [2] is out of range for a number of copies",
       [] { repeat_interleave(kCounted, tensor({1, -1}), 0); }},
      {"[repeat_interleave] expected int64 counts, got float32 (convert with to(kInt64))",
       [] { repeat_interleave(kCounted, tensor({1., 2.}), 0); }},
      {"[roll] expected one shift for each axis, got [1, 2] and [0]", [] { roll(kCounted, {1, 2}, {0}); }},
      {"[roll] axis 2 is out of range for shape [2, 3] (axes go from -2 to 1)", [] { roll(kCounted, 1, 2); }},
      {"[pad] expected two widths for each of at most 2 axes of [2, 3], got [1, 2, 3]",
       [] { pad(kCounted, {1, 2, 3}); }},
      {"[pad] expected two widths for each of at most 2 axes of [2, 3], got [1, 2, 3, 4, 5, 6]",
       [] { pad(kCounted, {1, 2, 3, 4, 5, 6}); }},
      {"[pad] expected widths that leave 0 or more elements of axis 1 of [2, 3], got [-2, -2]",
       [] { pad(kCounted, {-2, -2}); }},
      {"[pad] expected widths of at most 2 for axis 1 of [2, 3] with PadMode::reflect, got [3, 0]",
       [] { pad(kCounted, {3, 0}, PadMode::reflect); }},
      {"[pad] expected widths of at most 2 for axis 0 of [2, 3] with PadMode::circular, got [0, 0, 0, 3]",
       [] { pad(kCounted, {0, 0, 0, 3}, PadMode::circular); }},
      {"[pad] expected widths of at most 0 for axis 0 of [0] with PadMode::replicate, got [1, 0]",
       [] { pad(zeros({0}), {1, 0}, PadMode::replicate); }},
      {"[pad] expected a whole number for int64 x, got 0.5 (convert x with to(kFloat32))",
       [] { pad(kIds, {1, 0}, PadMode::constant, 0.5); }},
      {"[pad] shape [2, 9007199254740995] has more elements than a machine can hold",
       [] { pad(kCounted, {0, INT64_MAX}); }},
      {"[meshgrid] expected at least one vector, got none", [] { meshgrid(std::vector<Tensor>{}); }},
      {"[meshgrid] expected vectors, got shape [2, 3]", [] { meshgrid({kCounted}); }},
  });
  // clang-format on
}

// --- regions ---

TEST(Regions, Errors) {
  // clang-format off
  expect_texts({
      {"[slice] expected at most 2 slices, one per axis of [2, 3], got 3", [] { slice(kCounted, {{}, {}, 1}); }},
      {"[slice_update] expected at most 2 slices, one per axis of [2, 3], got 3",
       [] { slice_update(kCounted, {{}, {}, 1}, 0); }},
      {"[select] index 2 is out of range for axis 0 of [2, 3]", [] { slice(kCounted, {2, {}}); }},
      {"[slice] expected a step other than 0, got 0", [] { slice(kCounted, {{0, 1, 0}}); }},
      {"[slice_update] expected values that broadcast to the region [2, 2] of [2, 3], got [3]",
       [] { slice_update(kCounted, {{}, {1, kAll}}, zeros({3})); }},
      {"[slice_update] expected x and values of one type, got float32 and int64 (convert with values.to(x.dtype()))",
       [] { slice_update(kCounted, {{}}, kIds); }},
      {"[slice_update] expected a whole number for int64 x, got 0.5 (convert x with to(kFloat32))",
       [] { slice_update(kIds, {1}, 0.5); }},
  });
  // clang-format on
}

// --- reading and writing by index ---

// The last value wins, however many threads there are, and only it has a gradient.
TEST(Index, LastOfRepeatedPlacesRemains) {
  const Tensor ids = tensor({1, 1}), source = tensor({{10., 11., 12.}, {20., 21., 22.}});
  expect_near(index_copy(kCounted, 0, ids, source), {0, 1, 2, 20, 21, 22});
  expect_near(index_put(kCounted, {ids}, source), {0, 1, 2, 20, 21, 22});
  expect_near(scatter(kCounted, 0, ids.reshape({2, 1}).expand({2, 3}), source), {0, 1, 2, 20, 21, 22});
  const auto of_source = [&](auto f) { expect_near(gradient(f, source), {0, 0, 0, 4, 5, 6}); };
  of_source([&](const Tensor& s) { return index_copy(kCounted, 0, ids, s); });
  of_source([&](const Tensor& s) { return index_put(kCounted, {ids}, s); });
  of_source([&](const Tensor& s) { return scatter(kCounted, 0, ids.reshape({2, 1}).expand({2, 3}), s); });

  const int64_t n = 100'003;
  const Tensor many = zeros({n}, kInt64), values = arange(0, n, 1, kFloat64);
  const KeepThreads keep;
  for (int threads : {1, 2, 3, 7}) {
    set_num_threads(threads);
    EXPECT_EQ(index_copy(zeros({1}, kFloat64), 0, many, values).item(), n - 1);
    EXPECT_EQ(index_put(zeros({1}, kFloat64), {many}, values).item(), n - 1);
    EXPECT_EQ(scatter(zeros({1}, kFloat64), 0, many, values).item(), n - 1);
    EXPECT_EQ(index_put(zeros({1}, kFloat64), {many}, ones({n}, kFloat64), true).item(), n);
  }
}

TEST(Index, Errors) {
  const Tensor none;
  // clang-format off
  expect_texts({
      {"[index] 2 at [1] of the indices [2] is out of range for axis 0 of [2, 3]",
       [] { index(kCounted, {tensor({0, 2})}); }},
      {"[index] -4 at [0] of the indices [1] is out of range for axis 1 of [2, 3]",
       [] { index(kCounted, {tensor({0}), tensor({-4})}); }},
      {"[index] expected int64 indices, got float32 (convert with to(kInt64))", [] { index(kCounted, {kCounted}); }},
      {"[index] expected indices of at most the 2 axes of [2, 3], got more",
       [] { index(kCounted, {tensor({0}), tensor({0}), tensor({0})}); }},
      {"[index] expected at least one index tensor, got none", [=] { index(kCounted, {none}); }},
      {"[index] expected a mask with the sizes of [2, 3] from axis 0 on, got shape [3]",
       [] { index(kCounted, {zeros({3}, kBool)}); }},
      {"[index] expected a mask with one axis or more, got a scalar", [] { index(kCounted, {zeros({}, kBool)}); }},
      {"[index] shapes [2] and [3] do not broadcast: axis -1 has 2 against 3 (expected equal sizes, or 1)",
       [] { index(kCounted, {tensor({0, 1}), tensor({0, 1, 2})}); }},
      {"[index_put] 2 at [0] of the indices [1] is out of range for axis 0 of [2, 3]",
       [] { index_put(kCounted, {tensor({2})}, scalar(1)); }},
      {"[index_put] expected values that broadcast to [1, 3], got [2]",
       [] { index_put(kCounted, {tensor({1})}, zeros({2})); }},
      {"[index_put] expected x and values of one type, got float32 and int64 (convert with values.to(x.dtype()))",
       [] { index_put(kCounted, {tensor({1})}, tensor({2})); }},
      {"[masked_select] expected the mask to be bool, got int64 of shape [2, 3] (compare it first: x != 0)",
       [] { masked_select(kCounted, kIds); }},
      {"[masked_select] shapes [2, 3] and [2] do not broadcast: axis -1 has 3 against 2 (expected equal sizes, or 1)",
       [] { masked_select(kCounted, zeros({2}, kBool)); }},
      {"[take_along_axis] 3 at [0, 1] of the indices [1, 2] is out of range for axis 1 of [2, 3]",
       [] { take_along_axis(kCounted, tensor({{0, 3}}), 1); }},
      {"[take_along_axis] expected indices with the 2 axes of x [2, 3], got shape [1]",
       [] { take_along_axis(kCounted, tensor({0}), 1); }},
      {"[take_along_axis] shapes [1, 3] and [1, 2] do not broadcast: axis -1 has 3 against 2 (expected equal sizes, or "
       "1)", [] { take_along_axis(kCounted, tensor({{0, 1}}), 0); }},
      {"[scatter] 2 at [0, 1] of the indices [1, 3] is out of range for axis 0 of [2, 3]",
       [] { scatter(kCounted, 0, tensor({{0, 2, 0}}), kCounted); }},
      {"[scatter] expected indices with as many axes as source [1, 3], none of them longer, got shape [2, 3]",
       [] { scatter(kCounted, 0, zeros({2, 3}, kInt64), zeros({1, 3})); }},
      {"[scatter] expected indices with as many axes as x [2, 3], none of them longer, got shape [2]",
       [] { scatter(kCounted, 0, tensor({0, 1}), 1); }},
      {"[scatter] expected x and source of one type, got float32 and int64 (convert with source.to(x.dtype()))",
       [] { scatter(kCounted, 0, kIds * 0, kIds); }},
      {"[scatter] expected a whole number for int64 x, got 0.5 (convert x with to(kFloat32))",
       [] { scatter(kIds, 0, kIds * 0, 0.5); }},
      {"[index_add] 2 at [0] of the indices [1] is out of range for axis 0 of [2, 3]",
       [] { index_add(kCounted, 0, tensor({2}), zeros({1, 3})); }},
      {"[index_add] expected a source of shape [1, 3] for 1 indices along axis 0 of [2, 3], got [3]",
       [] { index_add(kCounted, 0, tensor({1}), zeros({3})); }},
      {"[index_add] expected x and source of one type, got float32 and int64 (convert with source.to(x.dtype()))",
       [] { index_add(kCounted, 0, tensor({0, 1}), kIds); }},
      {"[index_add] expected a whole number for int64 x, got 0.5 (convert x with to(kFloat32))",
       [] { index_add(kIds, 0, tensor({0, 1}), kIds, 0.5); }},
      {"[index_copy] -1 at [0] of the indices [1] is out of range for axis 1 of [2, 3]",
       [] { index_copy(kCounted, 1, tensor({-1}), zeros({2, 1})); }},
      {"[index_copy] expected indices with one axis, got shape [2, 3]",
       [] { index_copy(kCounted, 0, kIds, kCounted); }},
      {"[index_copy] expected a source of shape [2, 2] for 2 indices along axis 1 of [2, 3], got [2, 3]",
       [] { index_copy(kCounted, 1, tensor({0, 1}), kCounted); }},
      {"[index_fill] 3 at [0] of the indices [1] is out of range for axis 1 of [2, 3]",
       [] { index_fill(kCounted, 1, tensor({3}), 0); }},
      {"[index_fill] expected a whole number for int64 x, got 0.5 (convert x with to(kFloat32))",
       [] { index_fill(kIds, 0, tensor({0}), 0.5); }},
  });
  // clang-format on
}

// The gradient of windows along an axis that is not the last one adds 16 columns at a time.
TEST(Shape, GradientsOfWindowsOfRowsAreThoseOfColumns) {
  for (const int64_t columns : {1, 15, 16, 17, 40}) {
    const Tensor x = sin(arange(30 * columns).to(kFloat32)).reshape({30, columns});
    const auto gradient = [&](const Tensor& of, int64_t axis) {
      Tape tape;
      const Tensor leaf = of.as_leaf(), windows = unfold(leaf, axis, 5, 2);  // [13, columns, 5] or [columns, 13, 5]
      const Tensor weights = cos(arange(windows.numel()).to(kFloat32)).reshape({13, columns, 5});
      return tape.backward(sum(windows * (axis == 0 ? weights : weights.transpose(0, 1))))[leaf];
    };
    EXPECT_TRUE(equal(gradient(x, 0), gradient(x.t().contiguous(), 1).t())) << columns;
  }
}

}  // namespace
}  // namespace tapegrad::tests
