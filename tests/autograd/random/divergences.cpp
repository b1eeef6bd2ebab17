// Divergences of distributions against torch.distributions, within a family and between two, and their derivatives.
// Densities, entropies and divergences with parameters from 1e-3 to 1e12, and their gradients, against 60 digits.
// ctest: families
#include <tapegrad/tests/autograd/random/distribution_cases.h>
#include <tapegrad/tests/support/testing.h>

namespace tapegrad::tests {
namespace {

TEST(Divergences, EqualPyTorch) {
  EXPECT_GE(distribution_table()["divergences"].size(), 40u);
  for (const auto& of : distribution_table()["divergences"]) {
    const auto make = [](const Json& stored) {
      Parameters parameters;
      for (const auto& [key, value] : stored[1].items()) parameters[key] = read_tensor(value, kFloat64);
      return distribution_makers().at(stored[0])(parameters);
    };
    const Made p = make(of["p"]), q = make(of["q"]);
    expect_like_pytorch(dist::kl_divergence(*p, *q), of["value"], 1e-12,
                        of["p"][0].get<std::string>() + " from " + of["q"][0].get<std::string>());
    if (p->name() == q->name()) {
      EXPECT_LT(amax(abs(dist::kl_divergence(*p, *p))).item(), 1e-14) << p->name();
    }
  }
}

// Of two distributions that are near each other: half the squared distance in the metric of their parameters, without
// cancellation.
TEST(Divergences, OfNeighboursInFloat32) {
  const float step = 0x1p-13F;
  const Tensor one = ones({1}), next = one + static_cast<double>(step), zero = zeros({1});
  const double half = 0.5 * double{step} * double{step};
  const auto relative = [&](const dist::Distribution& p, const dist::Distribution& q, double expected) {
    return std::abs(dist::kl_divergence(p, q).item() / expected - 1);
  };
  EXPECT_LT(relative(dist::Normal(zero, one), dist::Normal(zero, next), 2 * half), 1e-3);
  EXPECT_LT(relative(dist::Normal(zero, one), dist::Normal(full({1}, double{step}), one), half), 1e-6);
  EXPECT_LT(relative(dist::Laplace(zero, one), dist::Laplace(zero, next), half), 1e-3);
  EXPECT_LT(relative(dist::Laplace(zero, one), dist::Laplace(full({1}, double{step}), one), half), 1e-3);
  EXPECT_LT(relative(dist::Exponential(one), dist::Exponential(next), half), 1e-3);
  const Tensor rates = tensor({0x1p-10, 1., 0x1p10}), others = rates * (1 + 0x1p-20);
  expect_near(dist::kl_divergence(dist::Exponential(rates), dist::Exponential(others)) * 0x1p41, {1, 1, 1});
  const Tensor eye = tapegrad::eye(2);
  EXPECT_LT(relative(dist::MultivariateNormal(zeros({2}), eye),
                     dist::MultivariateNormal(zeros({2}), eye * (1 + double{step})), half),
            1e-3);
}

// Where they are finite, by the parameters of both.
TEST(Divergences, BetweenFamiliesHaveSecondDerivatives) {
  int checked = 0;
  for (const auto& of : distribution_table()["divergences"]) {
    const std::string from = of["p"][0], to = of["q"][0];
    if (from == to || of["value"].dump().find("inf") != std::string::npos) continue;
    std::vector<std::pair<int, std::string>> keys;
    std::vector<Tensor> inputs;
    for (const int side : {0, 1})
      for (const auto& [key, value] : of[side == 0 ? "p" : "q"][1].items()) {
        keys.emplace_back(side, key);
        const bool at_a_bound = side == 0 && key == "low";  // steps must not leave q's support
        inputs.push_back(read_tensor(value, kFloat64) + (at_a_bound ? 0.0625 : 0));
      }
    const auto divergence = [&](std::span<const Tensor> x) {
      Parameters sides[2];
      for (std::size_t i = 0; i < keys.size(); ++i) sides[keys[i].first][keys[i].second] = x[i];
      return dist::kl_divergence(*distribution_makers().at(from)(sides[0]), *distribution_makers().at(to)(sides[1]));
    };
    EXPECT_TRUE(gradients_match(divergence, inputs, {.atol = 1e-6, .rtol = 1e-5, .step = 0x1p-13}))
        << from << " from " << to;
    ++checked;
  }
  EXPECT_GE(checked, 11);
}

TEST(Divergences, OfAUniformFromABeta) {
  const Tensor low = tensor({0.125, 0.25}).to(kFloat64), high = tensor({0.5, 0.75}).to(kFloat64);
  const auto divergence = [&](std::span<const Tensor> x) {
    return dist::kl_divergence(dist::Uniform(x[0], x[1]), dist::Beta(x[2], x[3]));
  };
  const std::vector<Tensor> inputs{low, high, tensor({2., 0.5}).to(kFloat64), tensor({3., 1.5}).to(kFloat64)};
  EXPECT_TRUE(gradients_match(divergence, inputs, {.atol = 1e-6, .rtol = 1e-5, .step = 0x1p-13}));
}

TEST(Divergences, HaveFiniteGradientsOnTheEdges) {
  Tape tape;
  const Tensor low = tensor({0., 0.5}).as_leaf(), high = tensor({1., 1.}).as_leaf(),
               p = tensor({0., 0.25, 1.}).as_leaf();
  const Tensor of_uniforms = dist::kl_divergence(dist::Uniform(low, high), dist::Beta(2, 3));
  const Tensor of_events = dist::kl_divergence(dist::Bernoulli(p), dist::Bernoulli(tensor({0.5, 0.25, 0.5})));
  EXPECT_TRUE(all(isfinite(of_uniforms)));
  const Gradients grads = tape.backward(sum(of_uniforms) + sum(of_events));
  for (const Tensor& leaf : {low, high, p}) EXPECT_TRUE(all(isfinite(grads[leaf])));
}

using dist::Distribution;
using json = Json;

std::unique_ptr<Distribution> family_of_row(const std::string& family, const std::vector<Tensor>& p) {
  if (family == "Gamma") return std::make_unique<dist::Gamma>(p[0], p[1]);
  if (family == "Beta") return std::make_unique<dist::Beta>(p[0], p[1]);
  if (family == "Dirichlet") return std::make_unique<dist::Dirichlet>(stack(p, -1));
  if (family == "StudentT") return std::make_unique<dist::StudentT>(p[0]);
  if (family == "Poisson") return std::make_unique<dist::Poisson>(p[0]);
  if (family == "Normal") return std::make_unique<dist::Normal>(p[0], p[1]);
  if (family == "Laplace") return std::make_unique<dist::Laplace>(p[0], p[1]);
  if (family == "Uniform") return std::make_unique<dist::Uniform>(p[0], p[1]);
  if (family == "Exponential") return std::make_unique<dist::Exponential>(p[0]);
  return std::make_unique<dist::Binomial>(p[0], p[1]);
}

std::vector<Tensor> row_tensors(const json& numbers, DType dtype) {
  std::vector<Tensor> out;
  for (const double x : numbers) out.push_back(scalar(x, dtype));
  return out;
}

// |got - expected| within `relative` of the result, of 1, or of `size`.
void expect_digits(double got, double expected, double relative, double size, const std::string& what) {
  if (std::abs(expected) > 3e38 && std::isinf(got)) return;
  EXPECT_LE(std::abs(got - expected), relative * std::max(size, std::abs(expected)))
      << what << ": " << got << ", expected " << expected;
}

void check_row(const json& row, DType dtype) {
  std::vector<Tensor> leaves;
  for (const Tensor& x : row_tensors(row["parameters"], dtype)) leaves.push_back(x.as_leaf());
  const bool between = row.contains("of");
  std::vector<Tensor> others;
  if (row.contains("other")) others = row_tensors(row["other"], dtype);
  if (between) {
    for (Tensor& x : others) leaves.push_back(x = x.as_leaf());
  }
  Tape tape;
  const auto p = family_of_row(row["family"], leaves);
  const std::string kind = row.contains("kl") ? "kl" : row.contains("entropy") ? "entropy" : "log_prob";
  Tensor y;
  if (kind == "kl") y = kl_divergence(*p, *family_of_row(row[between ? "of" : "family"], others));
  if (kind == "entropy") y = p->entropy();
  if (kind == "log_prob") {
    const json& value = row["value"];
    y = p->log_prob(value.is_array() ? stack(row_tensors(value, dtype), -1) : scalar(value.get<double>(), dtype));
  }
  const std::string what = name(dtype).data() + (" " + row.dump());
  // What the rounding of a parameter changes is not less than this; vectors of Dirichlet have a sum that is nearly 1.
  const bool is_vector = row["family"] == "Dirichlet", is_binomial = row["family"] == "Binomial";
  double most = 0;
  for (const Tensor& x : leaves) most = std::max(most, x.item());
  const double relative =
      dtype == kFloat32 ? 3e-7 : std::max({1e-12, 1e-14 * std::sqrt(most), is_vector ? 4e-16 * most : 0});
  expect_digits(y.item(), row[kind], relative, 1, what);
  const Gradients grads = tape.backward(y);
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    const json& expected = row["gradients"][i];
    if (expected.is_null()) continue;
    const double least = dtype == kFloat32 ? 1e-3 : 0.05;
    // Between two families, parts of 1 / parameter cancel where the two are nearly equal, and of most / parameter where
    // one is much narrower.
    const double of_parts = std::max(1.0, 1e-15 / relative * most) / leaves[i].item();
    const double size = is_binomial ? most : between ? std::max(least, of_parts) : least;
    expect_digits(grads[leaves[i]].item(), expected, relative, size, what + " gradient " + std::to_string(i));
    if (row["family"] == "StudentT") {
      EXPECT_NEAR(grads[leaves[i]].item() / expected.get<double>(), 1, 1e-6 + 1e-15 * most) << what;
    }
  }
}

TEST(LargeParameters, AreExact) {
  for (const json& row : stored("large_parameters.json"))
    for (const DType dtype : {kFloat32, kFloat64}) check_row(row, dtype);
}

}  // namespace
}  // namespace tapegrad::tests
