// Norms, running results, extremes with positions: what PyTorch's answers and cases/values do not cover.
#include <tapegrad/tests/support/testing.h>

namespace tapegrad::tests {
namespace {

TEST(Norm, OfOrder0HasNoGradient) {
  const Tensor leaf = tensor({1., 2.}).as_leaf();
  Tape tape;
  EXPECT_EQ(norm(leaf, 0).item(), 2);
  EXPECT_EQ(tape.size(), 0) << "a number of elements";
}

// |x| / norm underflows, its power below p = 1 does not.
TEST(Norm, HasTheGradientOfElementsThatAreTinyBesideOthers) {
  for (const bool again : {false, true})
    for (const auto& [p, type, big, tiny, expected] :
         std::vector<std::tuple<double, DType, double, double, double>>{{0.9, kFloat32, 1e30, 1e-40, 1e7},
                                                                        {0.5, kFloat32, 1e30, 1e-30, 1e30},
                                                                        {0.5, kFloat64, 1e250, 1e-310, 1e280},
                                                                        {0.9, kFloat64, 1e250, 1e-300, 1e55}}) {
      const auto f = [p = p](const Tensor& x) { return norm(x, p); };
      const Tensor slopes = slope(f, tensor({tiny, -tiny, 0., big}, type), again).to(kFloat64);
      for (const int i : {0, 1}) EXPECT_NEAR(slopes[i].item() / expected, i == 0 ? 1 : -1, 1e-4);
      EXPECT_EQ(slopes[2].item(), 0);
      EXPECT_NEAR(slopes[3].item(), 1, 1e-5);
    }
}

TEST(Norm, OfManyElements) {
  const Tensor x = full({3, 100'000}, 0.5);
  expect_near(norm(x, 2, 1), full({3}, 0.5 * std::sqrt(100'000.)));
  expect_near(norm(x, 1), scalar(150'000));
  EXPECT_EQ(count_nonzero(x).item<int64_t>(), 300'000);
}

// Rows are scanned four at a time, the last ones alone.
TEST(Scans, OfSeveralRowsHaveTheBitsOfSingleRows) {
  for (const DType dtype : {kFloat32, kFloat64, kInt64})
    for (const Shape& shape : {Shape{3, 7}, Shape{4, 1}, Shape{5, 100}, Shape{11, 3000}}) {
      const Tensor x = (sin(arange(shape[0] * shape[1]).to(kFloat64) * 0.7) + 1).to(dtype).reshape(shape);
      const auto expect_rows = [&](const std::function<Tensor(const Tensor&)>& f) {
        std::vector<Tensor> alone;
        for (int64_t i = 0; i < shape[0]; ++i) alone.push_back(f(x.slice(0, i, i + 1)));
        EXPECT_TRUE(equal(f(x), cat(alone, 0))) << shape;
      };
      expect_rows([](const Tensor& v) { return cumsum(v, -1); });
      expect_rows([](const Tensor& v) { return cumprod(v, -1); });
      if (dtype == kInt64) continue;
      const Tensor dy = arange(1, static_cast<double>(x.numel()) + 1, 1, dtype).reshape(x.shape());
      const Tensor dx = gradient([](const Tensor& v) { return cumsum(v, -1); }, x);
      EXPECT_TRUE(equal(dx, flip(cumsum(flip(dy, {-1}), -1), {-1})));
      EXPECT_TRUE(equal(cumsum(x, -1), cumsum(x.t().contiguous(), 0).t()));  // a column in each lane
    }
}

TEST(Scans, AccumulateInDoublePrecision) {
  const Tensor ones = full({200'000}, 0.1);
  EXPECT_NEAR(cumsum(ones, 0)[199'999].item(), 20'000, 0.01);
  EXPECT_NEAR(logcumsumexp(zeros({200'000}), 0)[199'999].item(), std::log(200'000.), 1e-5);
  EXPECT_NEAR(cumprod(full({1000}, 1.001), 0)[999].item(), std::pow(static_cast<double>(1.001f), 1000), 1e-6);
}

TEST(Scans, OfWideRows) {  // more columns than one thread takes at a time
  const Tensor x = without_ties({3, 700}), y = cumprod(x, 0), z = logcumsumexp(x, 0), best = cummax(x, 0).values;
  for (int64_t j : {0, 255, 256, 699}) {
    const double a = x[0][j].item(), b = x[1][j].item(), c = x[2][j].item();
    EXPECT_NEAR(y[2][j].item(), a * b * c, 1e-12);
    EXPECT_NEAR(z[2][j].item(), std::log(std::exp(a) + std::exp(b) + std::exp(c)), 1e-12);
    EXPECT_EQ(best[2][j].item(), std::max({a, b, c}));
  }
}

// Rows have a loop of their own.
TEST(Scans, ExtremesOfRowsAreThoseOfColumns) {
  for (const int64_t n : {1, 2, 5, 300}) {
    const Tensor steps = arange(n).to(kFloat32), ties = round(sin(steps) * 2);
    const Tensor with_nan = where(steps == 3, NAN, where(steps == 200, NAN, ties));
    const Tensor rows = stack({steps, -steps, ties, with_nan, full({n}, -INFINITY), full({n}, NAN)}, 0);
    for (const auto& of : {cummax, cummin})
      for (const Tensor& x : {rows, rows.to(kFloat64), rows.slice(0, 0, 3).to(kInt64)}) {
        const Sorted along = of(x, 1), down = of(x.t().contiguous(), 0);
        EXPECT_TRUE(equal(along.indices, down.indices.t())) << n;
        EXPECT_TRUE(allclose(along.values, down.values.t(), 0, 0, true)) << n;
      }
  }
}

TEST(Extremes, OfLongRowsAndWideColumns) {
  for (const Shape& shape : {Shape{2, 70'000}, Shape{70, 700}}) {
    const Tensor x = without_ties(shape, 0.7310585);
    for (int axis : {0, 1}) {
      const Sorted y = max(x, axis);
      expect_near(y.values, amax(x, axis));
      expect_near(gather(x, axis, y.indices.unsqueeze(axis)).squeeze(axis), y.values);
    }
  }
}

TEST(Median, OfManyEqualElements) {
  const Tensor x = (arange(0, 20'001, 1, kFloat32) * 0).reshape({1, 20'001});
  EXPECT_EQ(median(x, 1).indices.item<int64_t>(), 10'000);
}

}  // namespace
}  // namespace tapegrad::tests
