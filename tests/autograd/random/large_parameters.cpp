// Densities, entropies and divergences with parameters from 1e-3 to 1e12, and their gradients, against 60 digits.
#include <tapegrad/tests/support/testing.h>

namespace tapegrad::tests {
namespace {

using dist::Distribution;
using nlohmann::json;

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
  for (const json& row : stored("large_parameters.json")) {
    for (const DType dtype : {kFloat32, kFloat64}) check_row(row, dtype);
  }
}

}  // namespace
}  // namespace tapegrad::tests
