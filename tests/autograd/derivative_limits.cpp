// Elementwise functions and their derivatives to third order at 0, tiny and huge arguments, where exponentials overflow
// and branches that are not taken must not count, against exact values; as operations and as formulas of fuse.
// ctest: families
#include <tapegrad/tests/support/testing.h>

namespace tapegrad::tests {
namespace {

constexpr int kHighestOrder = 3;
using OfElements = std::function<Tensor(const Tensor&)>;
using Functions = std::map<std::string, std::vector<OfElements>>;  // a function, and the same in a fuse

// f for tensors and symbols.
std::vector<OfElements> in_both_ways(auto f) {
  return {[f](const Tensor& x) { return f(x); }, [f](const Tensor& x) { return fuse(f, x); }};
}

// y in the shape of x; and x and y along a last axis.
Tensor like(const Tensor& x, double y) { return full_like(x, y); }
Tensor beside(const Tensor& x, double y) { return stack({x, full_like(x, y)}, -1); }

void add_functions(Functions& all) {
  all["exp"] = in_both_ways([](auto x) { return exp(x); });
  all["expm1"] = in_both_ways([](auto x) { return expm1(x); });
  all["exp2"] = in_both_ways([](auto x) { return exp2(x); });
  all["log"] = in_both_ways([](auto x) { return log(x); });
  all["log1p"] = in_both_ways([](auto x) { return log1p(x); });
  all["log2"] = in_both_ways([](auto x) { return log2(x); });
  all["log10"] = in_both_ways([](auto x) { return log10(x); });
  all["square"] = in_both_ways([](auto x) { return square(x); });
  all["reciprocal"] = in_both_ways([](auto x) { return reciprocal(x); });
  all["sqrt"] = in_both_ways([](auto x) { return sqrt(x); });
  all["rsqrt"] = in_both_ways([](auto x) { return rsqrt(x); });
  all["abs"] = in_both_ways([](auto x) { return abs(x); });
  all["sin"] = in_both_ways([](auto x) { return sin(x); });
  all["cos"] = in_both_ways([](auto x) { return cos(x); });
  all["tan"] = in_both_ways([](auto x) { return tan(x); });
  all["asin"] = in_both_ways([](auto x) { return asin(x); });
  all["acos"] = in_both_ways([](auto x) { return acos(x); });
  all["atan"] = in_both_ways([](auto x) { return atan(x); });
  all["sinh"] = in_both_ways([](auto x) { return sinh(x); });
  all["cosh"] = in_both_ways([](auto x) { return cosh(x); });
  all["tanh"] = in_both_ways([](auto x) { return tanh(x); });
  all["asinh"] = in_both_ways([](auto x) { return asinh(x); });
  all["acosh"] = in_both_ways([](auto x) { return acosh(x); });
  all["atanh"] = in_both_ways([](auto x) { return atanh(x); });
  all["erf"] = in_both_ways([](auto x) { return erf(x); });
  all["sinc"] = in_both_ways([](auto x) { return sinc(x); });
  all["erfc"] = {[](const Tensor& x) { return erfc(x); }};
  all["erfinv"] = {[](const Tensor& x) { return erfinv(x); }};
  all["lgamma"] = {[](const Tensor& x) { return lgamma(x); }};
  all["digamma"] = {[](const Tensor& x) { return digamma(x); }};
  all["i0"] = {[](const Tensor& x) { return i0(x); }};
  all["i1"] = {[](const Tensor& x) { return i1(x); }};
  all["i0e"] = {[](const Tensor& x) { return i0e(x); }};
  all["i1e"] = {[](const Tensor& x) { return i1e(x); }};
}

void add_activations(Functions& all) {
  all["sigmoid"] = in_both_ways([](auto x) { return sigmoid(x); });
  all["relu"] = in_both_ways([](auto x) { return relu(x); });
  all["relu6"] = {[](const Tensor& x) { return relu6(x); }};
  all["silu"] = in_both_ways([](auto x) { return silu(x); });
  all["gelu"] = in_both_ways([](auto x) { return gelu(x); });
  all["gelu_tanh"] = in_both_ways([](auto x) { return gelu(x, Gelu::tanh); });
  all["logit"] = in_both_ways([](auto x) { return logit(x); });
  all["log_sigmoid"] = in_both_ways([](auto x) { return log_sigmoid(x); });
  all["softplus"] = in_both_ways([](auto x) { return softplus(x); });
  all["mish"] = in_both_ways([](auto x) { return mish(x); });
  all["leaky_relu"] = in_both_ways([](auto x) { return leaky_relu(x); });
  all["elu"] = in_both_ways([](auto x) { return elu(x); });
  all["elu_alpha"] = {[](const Tensor& x) { return elu(x, 0.5); }};
  all["celu"] = in_both_ways([](auto x) { return 2 * elu(x / 2); });
  all["selu"] = in_both_ways([](auto x) { return selu(x); });
  all["hardtanh"] = {[](const Tensor& x) { return hardtanh(x); }};
  all["hardsigmoid"] = in_both_ways([](auto x) { return hardsigmoid(x); });
  all["hardswish"] = in_both_ways([](auto x) { return hardswish(x); });
  all["softsign"] = in_both_ways([](auto x) { return softsign(x); });
  all["glu(x, x)"] = {[](const Tensor& x) { return glu(stack({x, x}, -1)).squeeze(-1); }};
  all["swiglu(x, x)"] = {[](const Tensor& x) { return swiglu(stack({x, x}, -1)).squeeze(-1); }};
  all["swiglu(x, 2)"] = {[](const Tensor& x) { return swiglu(stack({x, full_like(x, 2)}, -1)).squeeze(-1); }};
  all["prelu(x, 0.25)"] = {[](const Tensor& x) { return prelu(x, full({1}, 0.25, x.dtype())); }};
}

void add_pairs(Functions& all) {
  all["pow(x, 0.5)"] = in_both_ways([](auto x) { return pow(x, 0.5); });
  all["pow(x, 2)"] = in_both_ways([](auto x) { return pow(x, 2); });
  all["pow(x, 3)"] = in_both_ways([](auto x) { return pow(x, 3); });
  all["pow(x, 4)"] = in_both_ways([](auto x) { return pow(x, 4); });
  all["pow(x, 1.5)"] = in_both_ways([](auto x) { return pow(x, 1.5); });
  all["pow(x, -2)"] = in_both_ways([](auto x) { return pow(x, -2); });
  all["1 / x"] = in_both_ways([](auto x) { return 1 / x; });
  all["x / 3"] = in_both_ways([](auto x) { return x / 3; });
  all["clamp(x, -2, 30)"] = in_both_ways([](auto x) { return clamp(x, -2, 30); });
  all["maximum(x, 0.5)"] = in_both_ways([](auto x) { return maximum(x, 0.5); });
  all["minimum(x, 0.5)"] = in_both_ways([](auto x) { return minimum(x, 0.5); });
  all["pow(2, x)"] = {[=](const Tensor& x) { return pow(like(x, 2), x); }};
  all["pow(x, 3) of tensors"] = {[=](const Tensor& x) { return pow(x, like(x, 3)); }};
  all["pow(x, 2) of tensors"] = {[=](const Tensor& x) { return pow(x, like(x, 2)); }};
  all["logaddexp(x, 0)"] = {[=](const Tensor& x) { return logaddexp(x, like(x, 0)); }};
  all["logaddexp2(x, 0)"] = {[=](const Tensor& x) { return logaddexp2(x, like(x, 0)); }};
  all["xlogy(x, 3)"] = {[=](const Tensor& x) { return xlogy(x, like(x, 3)); }};
  all["xlogy(2, x)"] = {[=](const Tensor& x) { return xlogy(like(x, 2), x); }};
  all["xlog1py(2, x)"] = {[=](const Tensor& x) { return xlog1py(like(x, 2), x); }};
  all["atan2(x, 1)"] = {[=](const Tensor& x) { return atan2(x, like(x, 1)); }};
  all["atan2(1, x)"] = {[=](const Tensor& x) { return atan2(like(x, 1), x); }};
  all["norm(x, 1)"] = {[=](const Tensor& x) { return norm(beside(x, 1), 2, -1); }};
  all["logsumexp(x, 0)"] = {[=](const Tensor& x) { return logsumexp(beside(x, 0), -1); }};
  all["softmax(x, 0)"] = {[=](const Tensor& x) { return softmax(beside(x, 0), -1).select(-1, 0); }};
  all["bce_with_logits(x, 1)"] = {
      [=](const Tensor& x) { return binary_cross_entropy_with_logits(x, like(x, 1), {.reduction = Reduction::none}); }};
  all["soft_margin(x, 1)"] = {[=](const Tensor& x) { return soft_margin_loss(x, like(x, 1), Reduction::none); }};
  all["huber(x, 0)"] = {[=](const Tensor& x) { return huber_loss(x, like(x, 0), {.reduction = Reduction::none}); }};
  all["poisson_nll(x, 2)"] = {[=](auto& x) { return poisson_nll_loss(x, like(x, 2), {.reduction = Reduction::none}); }};
}

void add_functions_of_squares(Functions& all) {
  constexpr double kTiny = 1e-30F, kHuge = 1e30F, kEps = 0.125;
  all["atan2(x, 1e-30)"] = {[=](const Tensor& x) { return atan2(x, like(x, kTiny)); }};
  all["atan2(1e-30, x)"] = {[=](const Tensor& x) { return atan2(like(x, kTiny), x); }};
  all["atan2(x, 1e30)"] = {[=](const Tensor& x) { return atan2(x, like(x, kHuge)); }};
  all["2 / x of tensors"] = {[=](const Tensor& x) { return like(x, 2) / x; }};
  all["pow(x, -1.5)"] = in_both_ways([](auto x) { return pow(x, -1.5); });
  all["norm(x, 1e-30)"] = {[=](const Tensor& x) { return norm(beside(x, kTiny), 2, -1); }};
  all["norm(x, 1e30)"] = {[=](const Tensor& x) { return norm(beside(x, kHuge), 2, -1); }};
  all["normalize(x, 1)"] = {[=](const Tensor& x) { return normalize(beside(x, 1), 2, -1).select(-1, 0); }};
  all["cosine_similarity(x, 1)"] = {[=](const Tensor& x) {
    return cosine_similarity(beside(x, 1), stack({like(x, 1), like(x, 2)}, -1), -1);
  }};
  all["rms_norm(x, 1)"] = {[=](auto& x) { return rms_norm(beside(x, 1), ones({2}, x.dtype()), kEps).select(-1, 0); }};
  all["layer_norm(x, 1, 0)"] = {[=](const Tensor& x) {
    return layer_norm(stack({x, like(x, 1), like(x, 0)}, -1), {}, {}, kEps).select(-1, 0);
  }};
  all["smooth_l1(x, 0)"] = {[=](auto& x) { return smooth_l1_loss(x, like(x, 0), {.reduction = Reduction::none}); }};
  all["polygamma(1, x)"] = {[](const Tensor& x) { return polygamma(1, x); }};
}

// f and its derivatives at the points. x times 0 makes what is constant a function of x.
std::vector<std::vector<double>> orders_of(const OfElements& f, const std::vector<double>& points, DType dtype) {
  const Tensor x = tensor(points, {static_cast<int64_t>(points.size())}).to(dtype).as_leaf(), nothing = zeros_like(x);
  Tape tape;
  std::vector<std::vector<double>> orders;
  Tensor y = f(x);
  for (int order = 0; order <= kHighestOrder; ++order) {
    orders.push_back(y.detach().to(kFloat64).to_vector<double>());
    if (order < kHighestOrder) y = tape.backward(sum(y + x * nothing), {.create_graph = true})[x];
  }
  return orders;
}

// Whether a value is right: finite where the exact one is, within 1e-4 of it or of 1 in float32. Values beyond the type
// may be infinite or NaN.
bool is_right(double got, const Json& exact, DType dtype) {
  const double most =
      dtype == kFloat32 ? double{std::numeric_limits<float>::max()} : std::numeric_limits<double>::max();
  if (exact.is_string() || std::abs(exact.get<double>()) > most) return !(std::abs(got) < most / 2);
  const double expected = exact, tolerance = dtype == kFloat32 ? 1e-4 : 1e-10;
  return std::abs(got - expected) <= tolerance * std::max(1.0, std::abs(expected));
}

TEST(DerivativeLimits, AreExactToThirdOrder) {
  Functions all;
  add_functions(all), add_activations(all), add_pairs(all), add_functions_of_squares(all);
  const Json table = stored("derivatives.json");
  const std::vector<double> points = table["points"];
  EXPECT_EQ(table.size(), all.size() + 1);
  for (const auto& [name_of, ways] : all) {
    for (std::size_t way = 0; way < ways.size(); ++way)
      for (const DType dtype : {kFloat32, kFloat64}) {
        const auto orders = orders_of(ways[way], points, dtype);
        for (std::size_t i = 0; i < points.size(); ++i) {
          const Json& exact = table.at(name_of)[i];
          for (std::size_t order = 0; !exact.is_null() && order < orders.size(); ++order)
            EXPECT_TRUE(is_right(orders[order][i], exact[order], dtype))
                << name_of << (way == 1 ? " in a fuse, " : ", ") << name(dtype) << ", order " << order << " at "
                << points[i] << ": " << orders[order][i] << ", expected " << exact[order];
        }
      }
  }
}

// By both arguments.
TEST(DerivativeLimits, OfPowersOf0) {
  for (const DType dtype : {kFloat32, kFloat64}) {
    const Tensor a = zeros({3}, dtype).as_leaf(), b = tensor({2., 3., 1.5}).to(dtype).as_leaf();
    Tape tape;
    const Gradients first = tape.backward(sum(pow(a, b)), {.create_graph = true});
    const Gradients second = tape.backward(sum(first[a] + first[b]));
    expect_near(second[a].slice(0, 0, 2).to(kFloat32), {2, 0});
    expect_near(second[b].to(kFloat32), {0, 0, 0});
  }
}

// The second derivative of the square of a norm is that of the sum of squares, but at 0, where it is 0, not NaN.
TEST(DerivativeLimits, OfSquaredLengths) {
  const auto second = [](auto f, const Tensor& at) {
    const Tensor x = at.as_leaf();
    Tape tape;
    return tape.backward(sum(tape.backward(f(x), {.create_graph = true})[x]))[x].template to_vector<double>()[0];
  };
  const Tensor zero = zeros({1, 2}, kFloat64), one = ones({1, 2}, kFloat64);
  EXPECT_EQ(second([](const Tensor& x) { return sum(square(x)); }, zero), 2);
  for (const auto& [at, expected] : {std::pair{one, 2}, std::pair{zero, 0}}) {
    EXPECT_NEAR(second([](const Tensor& x) { return square(norm(x)); }, at), expected, 1e-14);
    EXPECT_NEAR(second([&](const Tensor& x) { return sum(square(cdist(x, zero))); }, at), expected, 1e-14);
  }
}

// Far below 0 gelu has its digits in float64, where 1 + erf(x / sqrt(2)) has lost them: x and the orders, of 60 digits.
TEST(DerivativeLimits, OfGeluFarBelowZero) {
  constexpr double kRows[][2 + kHighestOrder] = {
      {-5.25, -3.992604271156575e-07, -2.091397663865862e-06, -1.0553403964685433e-05, -5.1070476276537026e-05},
      {-6.0, -5.9195258702261885e-09, -3.5468709453902015e-08, -2.065800168939917e-07, -1.1665695071660708e-06},
      {-8.35, -2.849978852592555e-16, -2.3788169126903845e-15, -1.9570167394617987e-14, -1.5858500095315024e-13},
      {-10.0, -7.619853024160526e-23, -7.618400096464814e-22, -7.540706654172292e-21, -7.386814681638163e-20},
      {-20.0, -5.507248237212468e-88, -1.1014360483133464e-86, -2.1973374481395856e-85, -4.372591102830533e-84},
      {-30.0, -1.472014178144456e-196, -4.416031690708495e-195, -1.3233342291209357e-193, -3.961160810553536e-192},
      {-37.5, -1.7270073785932332e-306, -6.476271143055812e-305, -2.4268722185599547e-303, -9.0878090666077e-302},
  };
  for (const auto& row : kRows) {
    const auto orders = orders_of([](const Tensor& x) { return gelu(x); }, {row[0]}, kFloat64);
    for (std::size_t order = 0; order < orders.size(); ++order)
      EXPECT_NEAR(orders[order][0] / row[order + 1], 1, order == 0 ? 2e-15 : 2e-13)
          << "order " << order << " at " << row[0];
    const Tensor x = scalar(row[0], kFloat64).as_leaf();
    EXPECT_NEAR(Tape().backward(gelu(x))[x].item() / row[2], 1, 2e-13) << "at " << row[0];
  }
}

}  // namespace
}  // namespace tapegrad::tests
