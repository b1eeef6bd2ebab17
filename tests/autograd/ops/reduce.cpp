// Reductions and scans: values, special cases, errors, derivatives.
// ctest: threads families
#include <tapegrad/tests/support/testing.h>

namespace tapegrad::tests {
namespace {

// Gradient of sum(f(x) * weights), and with `again` through a recorded backward.
Tensor weighted_slope(auto f, const Tensor& x, const Tensor& weights, bool again = false) {
  return slope([&](const Tensor& leaf) { return f(leaf) * weights; }, x, again);
}

TEST(Sum, RunningOfOtherTypes) {
  EXPECT_EQ(cumsum(tensor({true, true}), 0).to_vector<int64_t>(), (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(cumsum(scalar(2), 0).item(), 2);
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

TEST(Sum, ToShape) {
  const Tensor flags = tensor({{true, true, false}, {true, false, false}});
  for (const auto& [shape, counts] : std::vector<std::pair<Shape, std::vector<int64_t>>>{
           {{}, {3}}, {{3}, {2, 1, 0}}, {{2, 1}, {2, 1}}, {{2, 3}, {1, 1, 0, 1, 0, 0}}})
    EXPECT_EQ(sum_to(flags, shape).to_vector<int64_t>(), counts) << "as sum";
}

TEST(Sum, FloatOverManyElementsIsAccurate) {
  EXPECT_NEAR(sum(full({10'000'000}, 0.1)).item(), 1e6, 1.0);
  expect_near(sum(full({1'000'000, 3}, 0.1), 0), {1e5, 1e5, 1e5});
}

TEST(Variance, OfAsManyElementsAsTheCorrection) {
  for (const int correction : {2, 3}) expect_near(var(tensor({1., 2.}), {}, false, correction), {kInf});
  expect_near(var(tensor({5.})), {kNan});
  expect_near(var(tensor({1., kInf})), {kNan});
}

TEST(Variance, OverAnAxisBesideOneWithoutElements) {
  EXPECT_EQ(var(zeros({2, 0}), 0).shape(), (Shape{0}));
  EXPECT_EQ(tapegrad::std(zeros({3, 2, 0}), {0, 1}, true).shape(), (Shape{1, 1, 0}));
}

TEST(Variance, OfValuesWhoseSquaresOverflow) {
  for (double large : {2e19, 1e30, 3e38}) {
    const Tensor x = tensor({{large, -large, large, -large}, {1., 2., 3., 4.}, {large, large, large, large}});
    expect_near(var(x, 1), {kInf, 5. / 3, 0});
    const Tensor s = tapegrad::std(x, 1, false, 0);
    EXPECT_NEAR(s[0].item() / large, 1, 1e-6);
    EXPECT_EQ(s[2].item(), 0);
    expect_near(var(tensor({large, kInf}).reshape({1, 2}), 1), {kNan});
    expect_near(var(tensor({large, kNan}).reshape({1, 2}), 1), {kNan});
  }
  const Tensor wide = tensor({1e200, -1e200}, kFloat64);
  EXPECT_EQ(var(wide).item(), kInf);
  EXPECT_NEAR(tapegrad::std(wide).item() / 1e200, std::sqrt(2.), 1e-12);
  const auto std_of = [](const Tensor& v) { return tapegrad::std(v, {}, false, 0); };
  expect_near(weighted_slope(std_of, tensor({1e30, -1e30}), scalar(1)), {.5, -.5});
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
  EXPECT_NEAR(norm(tensor({3e30, 4e30})).item() / 5e30, 1, 1e-6);
  EXPECT_NEAR(norm(tensor({1e20, 1e20}), 3).item() / 1.259921e20, 1, 1e-6);
  EXPECT_EQ(norm(tensor({3e38, 3e38})).item(), kInf);
  expect_near(weighted_slope([](const Tensor& v) { return norm(v); }, tensor({3e38, 3e38}), scalar(1)),
              {std::sqrt(.5), std::sqrt(.5)});
  // An infinity in x is not an overflow.
  expect_near(rms_norm(tensor({kInf, 1.}), ones({2})), {kNan, 0});
  expect_near(layer_norm(tensor({kInf, 1.}), {}, {}), {kNan, kNan});
  expect_near(normalize(tensor({kInf, 1.}), 2, 0), {kNan, 0});
}

TEST(Variance, GradientOfStdIsZeroIfAllValuesAreEqual) {
  const auto std_of = [](const Tensor& x) { return tapegrad::std(x, -1); };
  expect_near(weighted_slope(std_of, ones({2, 2}), ones({2})), {0, 0, 0, 0});
  expect_near(weighted_slope(std_of, tensor({0., 2.}), scalar(1)), {-std::sqrt(.5), std::sqrt(.5)});
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

TEST(Extremes, PropagateNanAndRejectNoElements) {
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
  expect_near(amax(tensor({-kInf, -kInf})), {-kInf});
  EXPECT_EQ(amax(tensor({true, false})).dtype(), kBool);
  EXPECT_EQ(amax(zeros({0, 3}), 1).shape(), (Shape{0}));
}

TEST(Quantile, OfInfiniteElements) {
  using Mode = QuantileMode;
  const auto at = [](std::vector<double> x, double q, Mode mode = Mode::linear) {
    const auto n = static_cast<int64_t>(x.size());
    return quantile(tensor(x, {n}).to(kFloat32), q, {}, false, mode).item();
  };
  EXPECT_EQ(at({1, 2, 3, kInf}, 1), kInf);
  EXPECT_EQ(at({1, kInf, kInf}, 0.5), kInf);
  EXPECT_EQ(at({1, kInf, kInf}, 0.9), kInf);
  EXPECT_EQ(at({-kInf, -kInf, 3, 4, 5}, 0.25), -kInf);
  EXPECT_EQ(at({-kInf, 3}, 0.3), -kInf);
  EXPECT_EQ(at({-kInf, 3}, 0.7), -kInf);
  EXPECT_EQ(at({0, kInf}, 0.6), kInf);
  EXPECT_EQ(at({0, kInf}, 0.4), kInf);
  EXPECT_EQ(at({0, kInf}, 0), 0);
  EXPECT_EQ(at({-kInf, 7}, 1), 7);
  EXPECT_EQ(at({kInf, kInf}, 0.5, Mode::midpoint), kInf);
  EXPECT_EQ(at({-kInf, 0}, 0.5, Mode::midpoint), -kInf);
  EXPECT_TRUE(std::isnan(at({-kInf, kInf}, 0.5)));
  EXPECT_TRUE(std::isnan(at({1, kNan, kInf}, 0.5)));
  const Tensor rows = tensor({{1., 2., kNan, kInf}, {4., -kInf, 2., 8.}});
  expect_near(nanquantile(rows, 0.75, 1), {kInf, 5});
  expect_near(quantile(rows[1], tensor({0., 0.1, 0.5})), {-kInf, -kInf, 3});
}

TEST(Quantile, GradientsAtInfiniteElements) {
  const Tensor x = tensor({1., kInf, -kInf, kInf, 5.}).as_leaf(), q = tensor({0.3, 0.5, 0.9}).as_leaf();
  Tape tape;
  const Tensor y = quantile(x, q);
  expect_near(y, {1.8, 5, kInf});
  const Gradients grads = tape.backward(y, {.grad_output = ones({3})});
  expect_near(grads[x], {0.8, 0.4, 0, 0.6, 1.2});
  expect_near(grads[q], {16, 0, 0});
}

TEST(Quantile, OfMoreElementsThanFloatCounts) {
  const int64_t n = (int64_t{1} << 24) + 4;
  const Tensor x = cat({zeros({n - 3}), tensor({1., 2., 3.}).to(kFloat32)});
  EXPECT_EQ(quantile(x, 1.0).item(), 3);
  EXPECT_NEAR(quantile(x, (static_cast<double>(n) - 2.5) / (static_cast<double>(n) - 1)).item(), 1.5, 1e-6);
}

TEST(Logsumexp, OfExtremeValues) {
  const Tensor x = tensor({{1000., 1000.}, {-kInf, -kInf}, {kInf, 1.}, {-1000., 0.}}, kFloat64);
  const auto rows = [](const Tensor& v) { return logsumexp(v, 1); };
  expect_near(rows(x), {1000 + std::log(2.), -kInf, kInf, 0});
  expect_near(weighted_slope(rows, x.slice(0, 0, 2), ones({2}, kFloat64)), {.5, .5, 0, 0});
  expect_near(logsumexp(zeros({0, 2}), 0), {-kInf, -kInf});
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

}  // namespace
}  // namespace tapegrad::tests
