// Reductions and scans: values, special cases, errors, derivatives.
// ctest: threads families
#include <tapegrad/tests/support/testing.h>

namespace tg = tapegrad;
using tg::tests::error_of;
using tg::tests::expect_near;

namespace {

using tg::tests::kInf;
using tg::tests::kNan;

// Gradient of sum(f(x) * weights), and with `again` through a recorded backward.
template <class F>
tg::Tensor gradient(F f, const tg::Tensor& x, const tg::Tensor& weights, bool again = false) {
  return tg::tests::slope([&](const tg::Tensor& leaf) { return f(leaf) * weights; }, x, again);
}

// Second derivative of f, summed: d/dx sum(df/dx).
template <class F>
tg::Tensor second(F f, const tg::Tensor& x) {
  const tg::Tensor leaf = x.as_leaf();
  tg::Tape tape;
  const tg::Tensor loss = tg::sum(f(leaf));
  const tg::Tensor dx = tape.backward(loss, {.create_graph = true, .grad_output = {}, .keep = {}})[leaf];
  return tape.backward(tg::sum(dx))[leaf];
}

TEST(Sum, OfOtherTypesAndOfNoElements) {
  EXPECT_EQ(tg::sum(tg::tensor({true, true, false})).item(), 2);
  EXPECT_EQ(tg::sum(tg::tensor({true, true, false})).dtype(), tg::kInt64);
  EXPECT_EQ(tg::sum(tg::tensor({1, 2, 3})).dtype(), tg::kInt64);
  expect_near(tg::sum(tg::zeros({0, 3}), 0), {0, 0, 0});
  EXPECT_EQ(tg::sum(tg::zeros({0})).item(), 0);
  EXPECT_EQ(tg::sum(tg::scalar(3)).item(), 3);
  EXPECT_EQ(tg::cumsum(tg::tensor({true, true}), 0).to_vector<int64_t>(), (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(tg::cumsum(tg::scalar(2), 0).item(), 2);
}

// Element i is added to partial sum i % 16 of float32, i % 8 of float64, and these are halved. Rows of up to four
// elements are computed without vectors.
template <class T>
T by_the_rule(const std::vector<T>& row) {
  std::vector<T> lanes(64 / sizeof(T));
  for (std::size_t i = 0; i < row.size(); ++i) lanes[i % lanes.size()] += row[i];
  for (std::size_t half = lanes.size() / 2; half > 0; half /= 2) {
    for (std::size_t k = 0; k < half; ++k) lanes[k] += lanes[k + half];
  }
  return lanes[0];
}

template <class T>
void expect_rows_by_the_rule(const tg::Tensor& x) {
  const std::vector<T> sums = tg::sum(x, 1).to_vector<T>(), sizes = tg::norm(x, 1, 1).to_vector<T>();
  for (int64_t row = 0; row < x.size(0); ++row) {
    EXPECT_EQ(sums[static_cast<std::size_t>(row)], by_the_rule(x[row].to_vector<T>())) << x.shape();
    EXPECT_EQ(sizes[static_cast<std::size_t>(row)], by_the_rule(abs(x[row]).to_vector<T>())) << x.shape();
  }
}

TEST(Sum, OfShortRowsHasTheOrderOfSums) {
  tg::manual_seed(5);
  for (int64_t n = 0; n < 32; ++n) {
    const tg::Tensor x = tg::randn({37, n});
    expect_rows_by_the_rule<float>(x);
    expect_rows_by_the_rule<double>(x.to(tg::kFloat64) / 3);
  }
}

TEST(Sum, ToShape) {
  const tg::Tensor x = tg::ones({4, 2, 3});
  expect_near(tg::sum_to(x, {2, 1}), {12, 12});
  EXPECT_EQ(tg::sum_to(x, {}).item(), 24);
  const tg::Tensor flags = tg::tensor({{true, true, false}, {true, false, false}});
  for (const auto& [shape, counts] : std::vector<std::pair<tg::Shape, std::vector<int64_t>>>{
           {{}, {3}}, {{3}, {2, 1, 0}}, {{2, 1}, {2, 1}}, {{2, 3}, {1, 1, 0, 1, 0, 0}}}) {
    EXPECT_EQ(tg::sum_to(flags, shape).to_vector<int64_t>(), counts) << "as sum";
  }
  EXPECT_EQ(tg::sum_to(x, {4, 1, 3}).shape(), (tg::Shape{4, 1, 3}));
}

TEST(Sum, FloatOverManyElementsIsAccurate) {
  EXPECT_NEAR(tg::sum(tg::full({10'000'000}, 0.1)).item(), 1e6, 1.0);
  expect_near(tg::sum(tg::full({1'000'000, 3}, 0.1), 0), {1e5, 1e5, 1e5});
}

TEST(Sum, SameBitsForAnyNumberOfThreads) {
  const tg::Tensor x = tg::sin(tg::arange(0, 3 * 70'001, 1, tg::kFloat32)).reshape({3, 70'001});
  tg::tests::expect_same_with_any_threads([&] {
    return std::vector<tg::Tensor>{tg::sum(x, 1), tg::sum(x.t().contiguous(), 0)};
  });
}

TEST(Variance, DividesByNMinusCorrection) {
  const tg::Tensor x = tg::tensor({{1., 2., 4.}, {1., 1., 1.}});
  expect_near(tg::var(x, 1), {7. / 3, 0});
  expect_near(tg::var(x, 1, false, 0), {14. / 9, 0});
  expect_near(tg::std(x, 1, true), {std::sqrt(7. / 3), 0});
  expect_near(tg::var(x, 0), {0, .5, 4.5});
  expect_near(tg::var(tg::tensor({1., 2.}), {}, false, 2), {kInf});
  expect_near(tg::var(tg::tensor({1., 2.}), {}, false, 3), {kInf});
  expect_near(tg::var(tg::tensor({5.})), {kNan});
  expect_near(tg::var(tg::tensor({1., kInf})), {kNan});
  expect_near(tg::var(tg::full({1000}, 1e4) + tg::tensor({-1., 1.}).reshape({2, 1}).expand({2, 500}).reshape({1000})),
              {1000. / 999});
}

TEST(Variance, OverAnAxisBesideOneWithoutElements) {
  EXPECT_EQ(tg::var(tg::zeros({2, 0}), 0).shape(), (tg::Shape{0}));
  EXPECT_EQ(tg::std(tg::zeros({3, 2, 0}), {0, 1}, true).shape(), (tg::Shape{1, 1, 0}));
}

TEST(Variance, OfValuesWhoseSquaresOverflow) {
  for (double large : {2e19, 1e30, 3e38}) {
    const tg::Tensor x = tg::tensor({{large, -large, large, -large}, {1., 2., 3., 4.}, {large, large, large, large}});
    expect_near(tg::var(x, 1), {kInf, 5. / 3, 0});
    const tg::Tensor s = tg::std(x, 1, false, 0);
    EXPECT_NEAR(s[0].item() / large, 1, 1e-6);
    EXPECT_EQ(s[2].item(), 0);
    expect_near(tg::var(tg::tensor({large, kInf}).reshape({1, 2}), 1), {kNan});
    expect_near(tg::var(tg::tensor({large, kNan}).reshape({1, 2}), 1), {kNan});
  }
  const tg::Tensor wide = tg::tensor({1e200, -1e200}, tg::kFloat64);
  EXPECT_EQ(tg::var(wide).item(), kInf);
  EXPECT_NEAR(tg::std(wide).item() / 1e200, std::sqrt(2.), 1e-12);
  const auto std_of = [](const tg::Tensor& v) { return tg::std(v, {}, false, 0); };
  expect_near(gradient(std_of, tg::tensor({1e30, -1e30}), tg::scalar(1)), {.5, -.5});
}

// f of large x, its gradients for x and weight, and a second derivative; those for x times the scale of x.
std::vector<tg::Tensor> derivatives_of(const std::function<tg::Tensor(const tg::Tensor&, const tg::Tensor&)>& f,
                                       const tg::Tensor& given, const tg::Tensor& given_weight, double scale,
                                       bool twice = true) {
  const tg::Tensor x = (given * scale).as_leaf(), weight = given_weight.as_leaf();
  const auto seed = [](const tg::Tensor& like) {
    return tg::cos(tg::arange(0, static_cast<double>(like.numel()), 1, like.dtype())).reshape(like.shape());
  };
  std::vector<tg::Tensor> all;
  for (const bool again : {false, twice}) {
    tg::Tape tape;
    const tg::Tensor y = f(x, weight);
    const tg::Gradients grads = tape.backward(y, {.create_graph = again, .grad_output = seed(y)});
    all.insert(all.end(), {y.detach(), grads[x].detach() * scale, grads[weight].detach()});
    if (again) all.push_back(tape.backward(grads[x] * scale, {.grad_output = seed(x)})[x] * scale);
  }
  return all;
}

// What a wider type computes has the same bits on every processor. (The second derivative of std is NaN there.)
TEST(Norms, OfValuesWhoseSquaresOverflowHaveTheseBits) {
  struct Case {
    tg::DType dtype;
    double large;
    const char* bits;
  };
  for (const Case& c :
       {Case{tg::kFloat32, 1e30, "92a9 2f6b a6c6 0967"}, Case{tg::kFloat64, 1e200, "6e1a b41a 63e6 e926"}}) {
    const tg::Tensor x = (tg::sin(tg::arange(0, 60, 1, tg::kFloat64) * 0.9).reshape({3, 4, 5})).to(c.dtype);
    const tg::Tensor weight = tg::tensor({0.5, -1., 2., 1., 3.}, c.dtype);
    tg::NamedTensors all;
    const auto add = [&](const auto& f, bool twice = true) {
      for (const tg::Tensor& one : derivatives_of(f, x, weight, c.large, twice)) {
        EXPECT_TRUE(tg::all(tg::isfinite(one), {}).item<bool>())
            << all.size();  // the sign of a NaN depends on the processor
        all.push_back({std::to_string(all.size()), one});
      }
    };
    add([](const tg::Tensor& v, const tg::Tensor& w) { return tg::layer_norm(v, w, w); });
    add([](const tg::Tensor& v, const tg::Tensor& w) { return tg::layer_norm_std(v, w, w); });
    add([](const tg::Tensor& v, const tg::Tensor& w) { return tg::rms_norm(v, w); });
    add([](const tg::Tensor& v, const tg::Tensor& w) { return tg::batch_norm_training(v.transpose(1, 2), w, w).y; });
    add([](const tg::Tensor& v, const tg::Tensor& w) { return tg::std(v, -1, true) * w; }, false);
    EXPECT_EQ(tg::bits_of(all), c.bits);
  }
}

// Normalisations do not depend on the scale of a large x: the results are those of a wider type.
TEST(Norms, OfValuesWhoseSquaresOverflow) {
  struct Norm {
    const char* name;
    std::function<tg::Tensor(const tg::Tensor& x, const tg::Tensor& weight)> f;
  };
  const Norm norms[] = {
      {"layer_norm", [](auto& x, auto& w) { return tg::layer_norm(x.transpose(1, 2), w, w); }},
      {"layer_norm_std", [](auto& x, auto& w) { return tg::layer_norm_std(x.transpose(1, 2), w, w); }},
      {"rms_norm", [](auto& x, auto& w) { return tg::rms_norm(x.transpose(1, 2), w); }},
      {"group_norm", [](auto& x, auto& w) { return tg::group_norm(x, 2, w, w); }},
      {"group_norm [N, C]", [](auto& x, auto& w) { return tg::group_norm(x.transpose(1, 2).flatten(0, 1), 2, w, w); }},
      {"instance_norm", [](auto& x, auto& w) { return tg::instance_norm(x, w, w); }},
      {"batch_norm_training", [](auto& x, auto& w) { return tg::batch_norm_training(x, w, w).y; }},
      {"batch_norm_training [N, C]",
       [](auto& x, auto& w) { return tg::batch_norm_training(x.transpose(1, 2).flatten(0, 1), w, w).y; }},
      {"normalize", [](auto& x, auto& w) { return tg::normalize(x, 2, 1) * w.unsqueeze(1); }},
      {"normalize, p = 3", [](auto& x, auto& w) { return tg::normalize(x, 3, 1) * w.unsqueeze(1); }},
      {"cosine_similarity",
       [](auto& x, auto& w) {
         return tg::cosine_similarity(x, tg::flip(x, {0, 2}), 1).unsqueeze(1) * w.unsqueeze(1);
       }},
  };
  const tg::Tensor x = tg::sin(tg::arange(0, 60, 1, tg::kFloat64) * 0.9).reshape({3, 4, 5});
  const tg::Tensor weight = tg::tensor({0.5, -1., 2., 1.}, tg::kFloat64);
  for (const Norm& norm : norms) {
    for (const double scale : {1e17, 3e19, 1e25, 1e30, 1e37}) {
      SCOPED_TRACE(norm.name + std::string(" of float32, x about ") + std::to_string(scale));
      const auto ours = derivatives_of(norm.f, x.to(tg::kFloat32), weight.to(tg::kFloat32), scale);
      const auto right = derivatives_of(norm.f, x.to(tg::kFloat32).to(tg::kFloat64), weight, scale);
      for (std::size_t i = 0; i < right.size(); ++i) {
        EXPECT_LE(tg::amax(tg::abs(ours[i] - right[i])).item(), 1e-4) << i << ": " << ours[i] << right[i];
      }
    }
    SCOPED_TRACE(norm.name + std::string(" of float64"));
    const auto ours = derivatives_of(norm.f, x, weight, 1e200), right = derivatives_of(norm.f, x, weight, 1e50);
    for (std::size_t i = 0; i < right.size(); ++i) {
      EXPECT_LE(tg::amax(tg::abs(ours[i] - right[i])).item(), 1e-11) << i << ": " << ours[i] << right[i];
    }
  }
  EXPECT_NEAR(tg::norm(tg::tensor({3e30, 4e30})).item() / 5e30, 1, 1e-6);
  EXPECT_NEAR(tg::norm(tg::tensor({1e20, 1e20}), 3).item() / 1.259921e20, 1, 1e-6);
  EXPECT_EQ(tg::norm(tg::tensor({3e38, 3e38})).item(), kInf);
  expect_near(gradient([](const tg::Tensor& v) { return tg::norm(v); }, tg::tensor({3e38, 3e38}), tg::scalar(1)),
              {std::sqrt(.5), std::sqrt(.5)});
  // An infinity in x is not an overflow.
  expect_near(tg::rms_norm(tg::tensor({kInf, 1.}), tg::ones({2})), {kNan, 0});
  expect_near(tg::layer_norm(tg::tensor({kInf, 1.}), {}, {}), {kNan, kNan});
  expect_near(tg::normalize(tg::tensor({kInf, 1.}), 2, 0), {kNan, 0});
}

TEST(Variance, GradientOfStdIsZeroIfAllValuesAreEqual) {
  const auto std_of = [](const tg::Tensor& x) { return tg::std(x, -1); };
  expect_near(gradient(std_of, tg::ones({2, 2}), tg::ones({2})), {0, 0, 0, 0});
  expect_near(gradient(std_of, tg::tensor({0., 2.}), tg::scalar(1)), {-std::sqrt(.5), std::sqrt(.5)});
}

TEST(Prod, IsCorrectWithZeros) {
  const tg::Tensor x = tg::tensor({{1., 0., 3., 2.}, {0., 0., 4., 5.}, {1., 2., 3., 4.}});
  const auto rows = [](const tg::Tensor& v) { return tg::prod(v, 1); };
  expect_near(rows(x), {0, 0, 24});
  for (bool again : {false, true}) {
    expect_near(gradient(rows, x, tg::ones({3}), again), {0, 6, 0, 0, 0, 0, 0, 0, 24, 12, 8, 6});
  }
  // d/dx_i sum_j prod of the others of j: 0 3 2 -> pairs {0 3} {0 2} {3 2}
  expect_near(second([](const tg::Tensor& v) { return tg::prod(v); }, tg::tensor({0., 3., 2.})), {5, 2, 3});
  EXPECT_EQ(tg::prod(tg::zeros({0})).item(), 1);
  EXPECT_EQ(tg::prod(tg::tensor({2, 3, 7})).item<int64_t>(), 42);
  EXPECT_EQ(tg::prod(tg::tensor({true, false})).dtype(), tg::kInt64);
}

TEST(Prod, OverAnyAxisOfATensorOfMaximumRank) {
  const tg::Tensor x = tg::sin(tg::arange(1, 25, 1, tg::kFloat64)).reshape({1, 2, 1, 2, 1, 2, 1, 3});
  const tg::Tensor flat = x.reshape({4, 6});
  const auto over = [](const tg::Axes& axes) { return [axes](const tg::Tensor& v) { return tg::prod(v, axes); }; };
  const tg::Tensor one = tg::scalar(1, tg::kFloat64);
  for (bool again : {false, true}) {
    expect_near(gradient(over({5, 7}), x, one, again).reshape({4, 6}), gradient(over(1), flat, one));
    expect_near(gradient(over({1, 3}), x, one, again).reshape({4, 6}), gradient(over(0), flat, one));
    for (int axis = 0; axis < 8; ++axis) EXPECT_TRUE(tg::all_finite(gradient(over(axis), x, one, again)));
  }
}

TEST(Extremes, PropagateNanAndRejectNoElements) {
  for (int n : {3, 9, 40}) {
    for (int at = 0; at < n; ++at) {
      std::vector<float> row(static_cast<std::size_t>(n), 1);
      row[static_cast<std::size_t>(at)] = std::numeric_limits<float>::quiet_NaN();
      const tg::Tensor x = tg::tensor(row, {n});
      EXPECT_TRUE(std::isnan(tg::amax(x).item())) << n << " " << at;
      EXPECT_TRUE(std::isnan(tg::amin(x.reshape({n, 1}), 0).item())) << n << " " << at;
      EXPECT_EQ(tg::argmax(x).item<int>(), at);
      EXPECT_EQ(tg::argmin(x).item<int>(), at);
    }
  }
  expect_near(tg::amax(tg::tensor({-kInf, -kInf})), {-kInf});
  EXPECT_EQ(tg::amax(tg::tensor({true, false})).dtype(), tg::kBool);
  EXPECT_EQ(tg::amax(tg::zeros({0, 3}), 1).shape(), (tg::Shape{0}));
}

TEST(Quantile, OfInfiniteElements) {
  using Mode = tg::QuantileMode;
  const auto at = [](std::vector<double> x, double q, Mode mode = Mode::linear) {
    const auto n = static_cast<int64_t>(x.size());
    return tg::quantile(tg::tensor(x, {n}).to(tg::kFloat32), q, {}, false, mode).item();
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
  const tg::Tensor rows = tg::tensor({{1., 2., kNan, kInf}, {4., -kInf, 2., 8.}});
  expect_near(tg::nanquantile(rows, 0.75, 1), {kInf, 5});
  expect_near(tg::quantile(rows[1], tg::tensor({0., 0.1, 0.5})), {-kInf, -kInf, 3});
}

TEST(Quantile, GradientsAtInfiniteElements) {
  const tg::Tensor x = tg::tensor({1., kInf, -kInf, kInf, 5.}).as_leaf(), q = tg::tensor({0.3, 0.5, 0.9}).as_leaf();
  tg::Tape tape;
  const tg::Tensor y = tg::quantile(x, q);
  expect_near(y, {1.8, 5, kInf});
  const tg::Gradients grads = tape.backward(y, {.grad_output = tg::ones({3})});
  expect_near(grads[x], {0.8, 0.4, 0, 0.6, 1.2});
  expect_near(grads[q], {16, 0, 0});
}

TEST(Quantile, OfMoreElementsThanFloatCounts) {
  const int64_t n = (int64_t{1} << 24) + 4;
  const tg::Tensor x = tg::cat({tg::zeros({n - 3}), tg::tensor({1., 2., 3.}).to(tg::kFloat32)});
  EXPECT_EQ(tg::quantile(x, 1.0).item(), 3);
  EXPECT_NEAR(tg::quantile(x, (static_cast<double>(n) - 2.5) / (static_cast<double>(n) - 1)).item(), 1.5, 1e-6);
}

TEST(Cdist, EqualDifferencesShareTheGradientOfInfinity) {
  const tg::Tensor a = tg::tensor({{0., 0., 0.5}}).as_leaf(), b = tg::ones({1, 3});
  tg::Tape tape;
  const tg::Gradients grads = tape.backward(tg::sum(tg::cdist(a, b, kInf)));
  expect_near(grads[a], {-0.5, -0.5, 0});
}

TEST(Logsumexp, OfExtremeValues) {
  const tg::Tensor x = tg::tensor({{1000., 1000.}, {-kInf, -kInf}, {kInf, 1.}, {-1000., 0.}}, tg::kFloat64);
  const auto rows = [](const tg::Tensor& v) { return tg::logsumexp(v, 1); };
  expect_near(rows(x), {1000 + std::log(2.), -kInf, kInf, 0});
  expect_near(gradient(rows, x.slice(0, 0, 2), tg::ones({2}, tg::kFloat64)), {.5, .5, 0, 0});
  expect_near(tg::logsumexp(tg::zeros({0, 2}), 0), {-kInf, -kInf});
}

TEST(Reductions, OfAllElementsInAnotherType) {
  const tg::Tensor x = tg::tensor({16777216.F, 1.F, 4.F}), whole = tg::tensor({7, 2});
  EXPECT_EQ(tg::sum(x, tg::kFloat64).item<double>(), 16777221);
  EXPECT_EQ(tg::sum(x, tg::kFloat64).dtype(), tg::kFloat64);
  EXPECT_EQ(tg::mean(whole, tg::kFloat32).item<float>(), 4.5);
  EXPECT_EQ(tg::prod(whole, tg::kFloat64).dtype(), tg::kFloat64);
  EXPECT_EQ(tg::sum(x, {}).dtype(), tg::kFloat32);  // an empty list of axes, not a type
  tg::Tape tape;
  const tg::Tensor leaf = x.as_leaf();
  EXPECT_EQ(tape.backward(tg::sum(leaf, tg::kFloat64))[leaf].dtype(), tg::kFloat32);
}

}  // namespace
