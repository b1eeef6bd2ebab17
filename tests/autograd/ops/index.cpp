// Joining, cutting, indexing, sorting: what the table of cases does not show.
#include <tapegrad/tests/support/testing.h>

namespace tg = tapegrad;
using namespace tg::tests;

namespace {

const tg::Tensor kTable = tg::tensor({{1., 2.}, {3., 4.}, {5., 6.}});

TEST(Join, OfNothingOfManyAndOfOtherTypes) {
  EXPECT_EQ(tg::cat({tg::zeros({0}), kTable}).shape(), (tg::Shape{3, 2}));
  EXPECT_EQ(tg::cat({tg::tensor({1}), tg::tensor({2.5})}).dtype(), tg::kFloat32);
  const std::vector<tg::Tensor> many(20, tg::tensor({{1., 2.}}));
  EXPECT_EQ(tg::cat(many).shape(), (tg::Shape{20, 2}));
}

TEST(Cut, SizesAtTheEndOfTheirType) {
  const tg::Tensor x = tg::arange(0, 6, 1, tg::kFloat32).reshape({2, 3});
  EXPECT_EQ(tg::chunk(x, INT64_MAX, 1).size(), 3u);
  EXPECT_EQ(tg::split(x, INT64_MAX).size(), 1u);
  expect_near(x.slice(1, 1, tg::kAll, INT64_MAX), {1, 4});
  expect_near(gradient([](const tg::Tensor& v) { return v.slice(1, 1, tg::kAll, INT64_MAX); }, x), {0, 1, 0, 0, 2, 0});
  expect_near(gradient([](const tg::Tensor& v) { return v.slice(1, 2, 1, -INT64_MAX); }, x), {0, 0, 1, 0, 0, 2});
}

TEST(Cut, SecondOrderThroughAnEmptySlice) {
  for (const auto& [start, stop, step] :
       {std::array<int64_t, 3>{-10, tg::kAll, -1}, {-10, tg::kAll, -3}, {0, 5, -1}, {3, 3, 1}, {9, tg::kAll, 2}}) {
    const tg::Tensor x = tg::tensor({1., 2., 3., 4., 5.}).as_leaf();
    tg::Tape tape;
    const tg::Tensor y = tg::sum(x * x * x) + tg::sum(tg::exp(x.slice(0, start, stop, step)));
    const tg::Gradients first = tape.backward(y, {.create_graph = true, .grad_output = {}, .keep = {}});
    expect_near(tape.backward(tg::sum(first[x]))[x], {6, 12, 18, 24, 30});
  }
}

TEST(Cut, CountsFromTheEndAndLeavesOutEmptyChunks) {
  const tg::Tensor x = tg::arange(0, 5, 1, tg::kFloat32);
  EXPECT_EQ(tg::chunk(x, 4).size(), 3u);  // of two each, as in PyTorch
  expect_near(tg::narrow(x, 0, -2, 2), {3, 4});
}

TEST(Embedding, CountsThePaddingRowFromTheEnd) {
  const tg::Tensor ids = tg::tensor({{2, 0}, {1, 2}});
  expect_near(gradient([&](const tg::Tensor& w) { return tg::embedding(w, ids, -3); }, kTable), {0, 0, 5, 6, 8, 10});
}

// The output layer's gradient is there first, and the embedding adds its rows to it in place; a recorded backward adds
// two whole tables.
TEST(Embedding, OfATiedTable) {
  tg::manual_seed(1);
  const tg::Tensor ids = tg::tensor({{2, 0, 2, 5}, {1, 2, 5, 4}});
  for (const std::optional<int64_t> padding : {std::optional<int64_t>{}, std::optional<int64_t>{5}}) {
    const tg::Tensor w = tg::randn({7, 300}).as_leaf(), more = tg::randn({7, 300}).as_leaf();
    const auto gradients = [&](const tg::BackwardOptions& options) {
      tg::Tape tape;
      const tg::Tensor kept = w * more;  // its gradient is added last
      const tg::Tensor rows = tg::embedding(w, ids, padding) + tg::embedding(w, ids, padding);
      const tg::Gradients grads = tape.backward(tg::sum(tg::tanh(tg::linear(rows, w))) + tg::sum(kept), options);
      return grads[w].detach().to_vector<float>();
    };
    const std::vector<float> found = gradients({});
    EXPECT_EQ(found, gradients({.create_graph = true}));
    EXPECT_EQ(found, gradients({.retain_graph = true}));
    EXPECT_EQ(found, gradients({.only = {w}}));
  }
  // A sum that another tensor holds is not written to: y's gradient is that of both inputs of the addition.
  const tg::Tensor w = tg::randn({7, 3}).as_leaf(), v = tg::randn({7, 3}).as_leaf();
  tg::Tape tape;
  const tg::Tensor looked_up = tg::embedding(w, ids);
  const tg::Gradients grads = tape.backward(tg::sum(tg::square(w + v)) + tg::sum(looked_up));
  EXPECT_EQ(grads[v].to_vector<float>(), (2.0 * (w.detach() + v.detach())).to_vector<float>());
  EXPECT_NE(grads[w].to_vector<float>(), grads[v].to_vector<float>());
}

TEST(TakeAlongAxis, CountsNegativeIndicesFromTheEnd) {
  const auto last = [](const tg::Tensor& x) { return tg::take_along_axis(x, tg::tensor({{-1, 0}, {-3, -2}}), 0); };
  expect_near(last(kTable), {5, 2, 1, 4});
  expect_near(gradient(last, kTable), {3, 2, 0, 4, 1, 0});
  expect_near(tg::take_along_axis(kTable, tg::tensor({-1, -6, 2})), {6, 1, 3});
}

TEST(IndexAdd, OfBoolIsALogicalOr) {
  const tg::Tensor x = tg::tensor({true, false, true}), ids = tg::tensor({0, 1}), yes = tg::tensor({true, true});
  for (const double alpha : {1., 2., -1., 0.5, 0.}) {
    const tg::Tensor y = tg::index_add(x, 0, ids, yes, alpha);
    EXPECT_EQ(y.dtype(), tg::kBool);
    EXPECT_EQ(y.to_vector<bool>(), (std::vector<bool>{true, alpha != 0, true})) << alpha;
  }
}

// A scalar has one axis for operations along an axis, as in PyTorch.
TEST(Scalars, HaveOneAxis) {
  const tg::Tensor x = tg::scalar(3), yes = tg::scalar(1) > 0;
  for (const int64_t axis : {0, -1}) {
    for (const int64_t k : {0, 1}) {
      const tg::Sorted top = tg::topk(x, k, axis);
      EXPECT_EQ(top.values.shape(), tg::Shape());
      EXPECT_EQ(top.values.item(), 3);
      EXPECT_EQ(top.indices.item<int64_t>(), 0);
    }
    for (const bool keepdim : {false, true}) {
      for (const tg::Tensor& one : {yes, !yes}) {
        EXPECT_EQ(tg::all(one, axis, keepdim).shape(), tg::Shape());
        EXPECT_EQ(tg::all(one, axis, keepdim).item<bool>(), one.item<bool>());
        EXPECT_EQ(tg::any(one, axis, keepdim).item<bool>(), one.item<bool>());
      }
    }
    EXPECT_EQ(tg::sort(x, axis).values.item(), 3);
    EXPECT_EQ(tg::unfold(x, axis, 1, 3).shape(), (tg::Shape{1}));
    EXPECT_EQ(tg::unfold(x, axis, 1, 3).item(), 3);
    EXPECT_EQ(tg::unfold(x, axis, 0, 1).shape(), (tg::Shape{0}));
    expect_near(gradient([=](const tg::Tensor& v) { return tg::topk(v, 1, axis).values; }, x), {1});
    expect_near(gradient([=](const tg::Tensor& v) { return tg::unfold(v, axis, 1, 1); }, x), {1});
  }
  EXPECT_EQ(error_of([&] { tg::topk(x, 2); }), "[topk] expected k between 0 and 1 for axis -1 of [], got 2");
}

}  // namespace
