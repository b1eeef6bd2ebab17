// Joining, cutting, indexing, sorting: what the table of cases does not show. x(...): reading and writing by entries,
// and x += y, by PyTorch's rules. Shape operations, regions, and writing by index: examples, views and special cases.
#include <tapegrad/tests/support/testing.h>

namespace tapegrad::tests {
namespace {

// --- functions ---

TEST(Join, OfMany) {
  const std::vector<Tensor> many(20, tensor({{1., 2.}}));
  EXPECT_EQ(cat(many).shape(), (Shape{20, 2}));
}

TEST(Cut, SecondOrderThroughAnEmptySlice) {
  for (const auto& [start, stop, step] :
       {std::array<int64_t, 3>{-10, kAll, -1}, {-10, kAll, -3}, {0, 5, -1}, {3, 3, 1}, {9, kAll, 2}}) {
    const Tensor x = tensor({1., 2., 3., 4., 5.}).as_leaf();
    Tape tape;
    const Tensor y = sum(x * x * x) + sum(exp(x.slice(0, start, stop, step)));
    const Gradients first = tape.backward(y, {.create_graph = true, .grad_output = {}, .keep = {}});
    expect_near(tape.backward(sum(first[x]))[x], {6, 12, 18, 24, 30});
  }
}

// The output layer's gradient is there first, and the embedding adds its rows to it in place; a recorded backward adds
// two whole tables.
TEST(Embedding, OfATiedTable) {
  manual_seed(1);
  const Tensor ids = tensor({{2, 0, 2, 5}, {1, 2, 5, 4}});
  for (const std::optional<int64_t> padding : {std::optional<int64_t>{}, std::optional<int64_t>{5}}) {
    const Tensor w = randn({7, 300}).as_leaf(), more = randn({7, 300}).as_leaf();
    const auto gradients = [&](const BackwardOptions& options) {
      Tape tape;
      const Tensor kept = w * more;  // its gradient is added last
      const Tensor rows = embedding(w, ids, padding) + embedding(w, ids, padding);
      const Gradients grads = tape.backward(sum(tanh(linear(rows, w))) + sum(kept), options);
      return grads[w].detach().to_vector<float>();
    };
    const std::vector<float> found = gradients({});
    EXPECT_EQ(found, gradients({.create_graph = true}));
    EXPECT_EQ(found, gradients({.retain_graph = true}));
    EXPECT_EQ(found, gradients({.only = {w}}));
  }
  // A sum that another tensor holds is not written to: y's gradient is that of both inputs of the addition.
  const Tensor w = randn({7, 3}).as_leaf(), v = randn({7, 3}).as_leaf();
  Tape tape;
  const Tensor looked_up = embedding(w, ids);
  const Gradients grads = tape.backward(sum(square(w + v)) + sum(looked_up));
  EXPECT_EQ(grads[v].to_vector<float>(), (2.0 * (w.detach() + v.detach())).to_vector<float>());
  EXPECT_NE(grads[w].to_vector<float>(), grads[v].to_vector<float>());
}

// A heap of the first k, and the order of all.
TEST(Topk, IsTheStartOfSort) {
  for (const DType dtype : {kFloat32, kFloat64, kInt64})
    for (const bool largest : {false, true}) {
      Tensor x = floor(randn({3, 700}, kFloat64) * 9);
      if (dtype != kInt64) x = cat({x, full({3, 2}, kNan, kFloat64), full({3, 2}, -kInf, kFloat64), x * 0}, 1);
      x = x.to(dtype);
      const Sorted all = sort(x, -1, largest);
      for (const int64_t k : {int64_t{1}, int64_t{2}, int64_t{13}, x.size(1) - 1, x.size(1)}) {
        const Sorted top = topk(x, k, -1, largest);
        EXPECT_TRUE(same_bits(top.indices, narrow(all.indices, 1, 0, k))) << k;
        EXPECT_TRUE(same_bits(top.values, narrow(all.values, 1, 0, k))) << k;
      }
    }
}

// Indices are checked in pieces of 65,536; the first wrong one is named.
// Recorded, the gradient is a scatter_add; otherwise it is added in place.
TEST(Gather, HasTheSameGradientRecorded) {
  const Tensor x = normal_of({5, 7}, 1, kFloat32).as_leaf(), ids = tensor({{0, 6, 6, 2}, {3, 3, 3, 0}});
  Tape tape;
  const Tensor loss = sum(square(gather(x, 1, ids)));
  const Tensor plain = tape.backward(loss, {.retain_graph = true})[x];
  EXPECT_TRUE(same_bits(plain, tape.backward(loss, {.create_graph = true})[x].detach()));
}

TEST(Gather, NamesTheFirstOfManyWrongIndices) {
  const Tensor ids = zeros({200'000}, kInt64);
  EXPECT_NO_THROW(gather(zeros({3}), 0, ids));
  for (const int64_t at : {180'000, 65'536, 65'535, 0}) {
    ids.mutable_data<int64_t>()[at] = 3;
    EXPECT_NE(error_of([&] { gather(zeros({3}), 0, ids); }).find("3 at [" + std::to_string(at) + "]"),
              std::string::npos);
  }
}

// --- x(...); the values are 100 i + 10 j + k at x[i, j, k] ---

// [2, 3, 4]
Tensor numbered() {
  return arange(0, 200, 100, kFloat32).reshape({2, 1, 1}) + arange(0, 30, 10).reshape({3, 1}) + arange(4);
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
  const Tensor x = numbered(), ids = tensor({2, 0, -1});
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
  for (const DType dtype : {kBool, kUInt8, kInt32, kInt64, kFloat16, kBFloat16, kFloat32, kFloat64})
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
      EXPECT_TRUE(same_bits(x, y)) << name(dtype) << " " << str(x) << str(y);
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
  EXPECT_ERROR(tensor({{1, 2}, {3}}));
  EXPECT_ERROR(tensor({{{1, 2}}, {{3}}}));
  EXPECT_ERROR(tensor({{{1, 2}}, {{3, 4}, {5, 6}}}));
  EXPECT_ERROR(tensor({{1, 2}, 3}));
  EXPECT_ERROR(tensor({{{1}, {2}}, {3, 4}}));
  EXPECT_ERROR(tensor({{3, 4}, {{1}, {2}}}));
}

// --- shape ---

TEST(Shape, ViewsShareMemory) {
  const Tensor x = zeros({4, 5, 6});
  for (const Tensor& y : {diagonal(x, 1, 0, 2), unfold(x, 1, 3, 1), unflatten(x, -1, {2, -1}), movedim(x, 0, 2),
                          slice(x, {1, {}, {0, 4, 2}}), broadcast_to(x, {3, 4, 5, 6}), pad(x, {-1, -1}), pad(x, {0, 0}),
                          repeat(x, {1, 1, 1}), x.unsqueeze(0).squeeze(0), meshgrid({x[0][0]})[0]})
    EXPECT_TRUE(shares_memory(x, y)) << str(y.shape());
  EXPECT_EQ(unfold(x, 1, 3, 1).shape(), (Shape{4, 3, 6, 3}));
  EXPECT_EQ(unflatten(x, -1, {2, -1}).shape(), (Shape{4, 5, 2, 3}));
  EXPECT_EQ(zeros({1, 4, 1, 2}).squeeze({0, 2}).shape(), (Shape{4, 2}));
  EXPECT_EQ(repeat(zeros({2, 1, 1, 1, 1, 1, 1, 2}), {3, 1, 1, 1, 1, 1, 1, 2}).shape(), (Shape{6, 1, 1, 1, 1, 1, 1, 4}));
}

// Rows that are read several times are copied after themselves, up to the end of a piece.
TEST(Shape, RepeatedRows) {
  for (const DType dtype : {kUInt8, kBFloat16, kFloat32, kInt64}) {
    for (const int64_t row : {1, 2, 3, 31, 600})
      for (const int64_t times : {1, 2, 255, 1000}) {
        const Tensor x = remainder(arange(5 * row), 200).reshape({5, 1, row});
        const Tensor y = x.to(kFloat32).to(dtype).expand({5, times, row}).contiguous(), at = arange(5 * times * row);
        const Tensor expected = remainder(floor_divide(at, times * row) * row + remainder(at, row), 200);
        EXPECT_TRUE(equal(y.to(kInt64).flatten(), expected)) << row << " " << times << " " << name(dtype);
      }
  }
}

// --- reading and writing by index ---

// The last value wins, however many threads there are. (Only it has a gradient: cases/values.)
TEST(Index, LastOfRepeatedPlacesRemains) {
  const int64_t n = 100'003;
  const Tensor many = zeros({n}, kInt64), values = arange(0, n, 1, kFloat64);
  const KeepThreads keep;
  using Write = Tensor (*)(const Tensor& x, const Tensor& ids, const Tensor& source);
  const Write writes[] = {
      [](auto& x, auto& at, auto& from) { return index_copy(x, 0, at, from); },
      [](auto& x, auto& at, auto& from) { return index_put(x, {at}, from); },
      [](auto& x, auto& at, auto& from) { return scatter(x, 0, at, from); },
  };
  for (const Write write : writes)
    for (int threads : {1, 2, 3, 7}) {
      set_num_threads(threads);
      EXPECT_EQ(write(zeros({1}, kFloat64), many, values).item(), n - 1);
      EXPECT_EQ(index_put(zeros({1}, kFloat64), {many}, ones({n}, kFloat64), true).item(), n);
    }
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
