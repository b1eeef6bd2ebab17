// Reductions and scans: orders of sums, many elements, numbers whose squares overflow. (Special values: cases/values.)
// ctest: threads families
#include <tapegrad/tests/support/testing.h>

namespace tapegrad::tests {
namespace {

// Gradient of sum(f(x) * weights), and with `again` through a recorded backward.
Tensor weighted_slope(auto f, const Tensor& x, const Tensor& weights, bool again = false) {
  return slope([&](const Tensor& leaf) { return f(leaf) * weights; }, x, again);
}

// Element i is added to partial sum i % 16 of float32, i % 8 of float64, and these are halved. Rows of up to four
// elements are computed without vectors.
template <class T>
T by_the_rule(const std::vector<T>& row) {
  std::vector<T> lanes(64 / sizeof(T));
  for (std::size_t i = 0; i < row.size(); ++i) lanes[i % lanes.size()] += row[i];
  for (std::size_t half = lanes.size() / 2; half > 0; half /= 2)
    for (std::size_t k = 0; k < half; ++k) lanes[k] += lanes[k + half];
  return lanes[0];
}

template <class T>
void expect_rows_by_the_rule(const Tensor& x) {
  const std::vector<T> sums = sum(x, 1).to_vector<T>(), sizes = norm(x, 1, 1).to_vector<T>();
  for (int64_t row = 0; row < x.size(0); ++row) {
    EXPECT_EQ(sums[static_cast<std::size_t>(row)], by_the_rule(x[row].to_vector<T>())) << x.shape();
    EXPECT_EQ(sizes[static_cast<std::size_t>(row)], by_the_rule(abs(x[row]).to_vector<T>())) << x.shape();
  }
}

TEST(Sum, OfShortRowsHasTheOrderOfSums) {
  manual_seed(5);
  for (int64_t n = 0; n < 32; ++n) {
    const Tensor x = randn({37, n});
    expect_rows_by_the_rule<float>(x);
    expect_rows_by_the_rule<double>(x.to(kFloat64) / 3);
  }
}

TEST(Sum, FloatOverManyElementsIsAccurate) {
  EXPECT_NEAR(sum(full({10'000'000}, 0.1)).item(), 1e6, 1.0);
  expect_near(sum(full({1'000'000, 3}, 0.1), 0), {1e5, 1e5, 1e5});
}

// f of large x, its gradients for x and weight, and a second derivative; those for x times the scale of x.
std::vector<Tensor> derivatives_of(const std::function<Tensor(const Tensor&, const Tensor&)>& f, const Tensor& given,
                                   const Tensor& given_weight, double scale, bool twice = true) {
  const Tensor x = (given * scale).as_leaf(), weight = given_weight.as_leaf();
  const auto seed = [](const Tensor& like) {
    return cos(arange(0, static_cast<double>(like.numel()), 1, like.dtype())).reshape(like.shape());
  };
  std::vector<Tensor> all;
  for (const bool again : {false, twice}) {
    Tape tape;
    const Tensor y = f(x, weight);
    const Gradients grads = tape.backward(y, {.create_graph = again, .grad_output = seed(y)});
    all.insert(all.end(), {y.detach(), grads[x].detach() * scale, grads[weight].detach()});
    if (again) all.push_back(tape.backward(grads[x] * scale, {.grad_output = seed(x)})[x] * scale);
  }
  return all;
}

// What a wider type computes has the same bits on every processor. (The second derivative of std is NaN there.)
TEST(Norms, OfValuesWhoseSquaresOverflowHaveTheseBits) {
  for (const auto& [dtype, large, bits] :
       {std::tuple{kFloat32, 1e30, "92a9 2f6b a6c6 0967"}, {kFloat64, 1e200, "6e1a b41a 63e6 e926"}}) {
    const Tensor x = (sin(arange(0, 60, 1, kFloat64) * 0.9).reshape({3, 4, 5})).to(dtype);
    const Tensor weight = tensor({0.5, -1., 2., 1., 3.}, dtype);
    NamedTensors all;
    const auto add = [&, large = large](const auto& f, bool twice = true) {
      for (const Tensor& one : derivatives_of(f, x, weight, large, twice)) {
        EXPECT_TRUE(tapegrad::all(isfinite(one))) << all.size();  // the sign of a NaN depends on the processor
        all.push_back({std::to_string(all.size()), one});
      }
    };
    add([](const Tensor& v, const Tensor& w) { return layer_norm(v, w, w); });
    add([](const Tensor& v, const Tensor& w) { return layer_norm_std(v, w, w); });
    add([](const Tensor& v, const Tensor& w) { return rms_norm(v, w); });
    add([](const Tensor& v, const Tensor& w) { return batch_norm_training(v.transpose(1, 2), w, w).y; });
    add([](const Tensor& v, const Tensor& w) { return tapegrad::std(v, -1, true) * w; }, false);
    EXPECT_EQ(bits_of(all), bits);
  }
}

// Normalisations do not depend on the scale of a large x: the results are those of a wider type.
TEST(Norms, OfValuesWhoseSquaresOverflow) {
  const std::pair<const char*, std::function<Tensor(const Tensor& x, const Tensor& weight)>> norms[] = {
      {"layer_norm", [](auto& x, auto& w) { return layer_norm(x.transpose(1, 2), w, w); }},
      {"layer_norm_std", [](auto& x, auto& w) { return layer_norm_std(x.transpose(1, 2), w, w); }},
      {"rms_norm", [](auto& x, auto& w) { return rms_norm(x.transpose(1, 2), w); }},
      {"group_norm", [](auto& x, auto& w) { return group_norm(x, 2, w, w); }},
      {"group_norm [N, C]", [](auto& x, auto& w) { return group_norm(x.transpose(1, 2).flatten(0, 1), 2, w, w); }},
      {"instance_norm", [](auto& x, auto& w) { return instance_norm(x, w, w); }},
      {"batch_norm_training", [](auto& x, auto& w) { return batch_norm_training(x, w, w).y; }},
      {"batch_norm_training [N, C]",
       [](auto& x, auto& w) { return batch_norm_training(x.transpose(1, 2).flatten(0, 1), w, w).y; }},
      {"normalize", [](auto& x, auto& w) { return normalize(x, 2, 1) * w.unsqueeze(1); }},
      {"normalize, p = 3", [](auto& x, auto& w) { return normalize(x, 3, 1) * w.unsqueeze(1); }},
      {"cosine_similarity",
       [](auto& x, auto& w) {
         return cosine_similarity(x, flip(x, {0, 2}), 1).unsqueeze(1) * w.unsqueeze(1);
       }},
  };
  const Tensor x = sin(arange(0, 60, 1, kFloat64) * 0.9).reshape({3, 4, 5});
  const Tensor weight = tensor({0.5, -1., 2., 1.}, kFloat64);
  const auto expect_within = [](const std::vector<Tensor>& ours, const std::vector<Tensor>& right, double tolerance) {
    for (std::size_t i = 0; i < right.size(); ++i)
      EXPECT_LE(amax(abs(ours[i] - right[i])).item(), tolerance) << i << ": " << ours[i] << right[i];
  };
  for (const auto& [name, f] : norms) {
    for (const double scale : {1e17, 3e19, 1e25, 1e30, 1e37}) {
      SCOPED_TRACE(name + std::string(" of float32, x about ") + std::to_string(scale));
      expect_within(derivatives_of(f, x.to(kFloat32), weight.to(kFloat32), scale),
                    derivatives_of(f, x.to(kFloat32).to(kFloat64), weight, scale), 1e-4);
    }
    SCOPED_TRACE(name + std::string(" of float64"));
    expect_within(derivatives_of(f, x, weight, 1e200), derivatives_of(f, x, weight, 1e50), 1e-11);
  }
}

TEST(Prod, OverAnyAxisOfATensorOfMaximumRank) {
  const Tensor x = sin(arange(1, 25, 1, kFloat64)).reshape({1, 2, 1, 2, 1, 2, 1, 3}), flat = x.reshape({4, 6});
  const auto over = [](const Axes& axes) { return [axes](const Tensor& v) { return prod(v, axes); }; };
  const Tensor one = scalar(1, kFloat64);
  for (bool again : {false, true}) {
    expect_near(weighted_slope(over({5, 7}), x, one, again).reshape({4, 6}), weighted_slope(over(1), flat, one));
    expect_near(weighted_slope(over({1, 3}), x, one, again).reshape({4, 6}), weighted_slope(over(0), flat, one));
    for (int axis = 0; axis < 8; ++axis) EXPECT_TRUE(all_finite(weighted_slope(over(axis), x, one, again)));
  }
}

TEST(Extremes, PropagateNan) {
  for (int n : {3, 9, 40})
    for (int at = 0; at < n; ++at) {
      std::vector<float> row(static_cast<std::size_t>(n), 1);
      row[static_cast<std::size_t>(at)] = std::numeric_limits<float>::quiet_NaN();
      const Tensor x = tensor(row, {n});
      EXPECT_TRUE(std::isnan(amax(x).item())) << n << " " << at;
      EXPECT_TRUE(std::isnan(amin(x.reshape({n, 1}), 0).item())) << n << " " << at;
      EXPECT_EQ(argmax(x).item<int>(), at);
      EXPECT_EQ(argmin(x).item<int>(), at);
    }
}

TEST(Quantile, OfMoreElementsThanFloatCounts) {
  const int64_t n = (int64_t{1} << 24) + 4;
  const Tensor x = cat({zeros({n - 3}), tensor({1., 2., 3.}).to(kFloat32)});
  EXPECT_EQ(quantile(x, 1.0).item(), 3);
  EXPECT_NEAR(quantile(x, (static_cast<double>(n) - 2.5) / (static_cast<double>(n) - 1)).item(), 1.5, 1e-6);
}

TEST(Reductions, OfAllElementsInAnotherType) {
  const Tensor x = tensor({16777216.F, 1.F, 4.F}), whole = tensor({7, 2});
  EXPECT_EQ(sum(x, kFloat64).item<double>(), 16777221);
  EXPECT_EQ(sum(x, kFloat64).dtype(), kFloat64);
  EXPECT_EQ(mean(whole, kFloat32).item<float>(), 4.5);
  EXPECT_EQ(prod(whole, kFloat64).dtype(), kFloat64);
  EXPECT_EQ(sum(x, {}).dtype(), kFloat32);  // an empty list of axes, not a type
  Tape tape;
  const Tensor leaf = x.as_leaf();
  EXPECT_EQ(tape.backward(sum(leaf, kFloat64))[leaf].dtype(), kFloat32);
}

// --- norms, scans, extremes with positions ---

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
