// einsum and tensordot: orders of multiplication, views and gradients. Linear algebra: large matrices, equal values
// and arbitrary signs.
// ctest: families
#include <tapegrad/checks/cases/case.h>
#include <tapegrad/tests/support/testing.h>

namespace tapegrad::tests {
namespace {

using tasks::spread;

// The operations that f records.
std::map<std::string, int> recorded(const std::function<void()>& f) {
  Tape tape;
  f();
  std::map<std::string, int> names;
  for (int64_t i = 0; i < tape.size(); ++i) ++names[std::string(tape.op_name(i))];
  return names;
}

TEST(Einsum, AttentionCopiesNothing) {
  const Tensor q = spread({2, 5, 3, 4}).as_leaf(), k = spread({2, 7, 3, 4}).as_leaf(),
               w = spread({2, 3, 5, 7}).as_leaf();
  using Names = std::map<std::string, int>;
  EXPECT_EQ(recorded([&] { einsum("bthd,bshd->bhts", {q, k}); }), (Names{{"leaf", 2}, {"permute", 2}, {"matmul", 1}}));
  EXPECT_EQ(recorded([&] { einsum("bhts,bshd->bthd", {w, k}); }), (Names{{"leaf", 2}, {"permute", 2}, {"matmul", 1}}));
  const Tensor y = einsum("bhts,bshd->bthd", {w, k});
  EXPECT_EQ(y.transpose(1, 2).is_contiguous(), true);
  EXPECT_TRUE(einsum("ij->ji", {q[0][0]}).storage() == q.storage());  // a view
}

TEST(Einsum, MultipliesInTheCheapestOrder) {
  // [2, 100] ([100, 100] [100, 1]): from the right, 2 * 100 + 100 * 100 multiplications; from the left, 100 times more
  const Tensor a = spread({2, 100}).as_leaf(), b = spread({100, 100}).as_leaf(), c = spread({100, 1}).as_leaf();
  const Tensor y = einsum("ij,jk,kl->il", {a, b, c});
  EXPECT_EQ(y.to_vector<double>(), matmul(a, matmul(b, c)).to_vector<double>());
  EXPECT_NE(y.to_vector<double>(), matmul(matmul(a, b), c).to_vector<double>());
  // The same with nine operands, the cheapest pair first.
  const Tensor x = spread({3, 3});
  Tensor chain = x;
  for (int i = 0; i < 8; ++i) chain = matmul(chain, x);
  const std::vector<Tensor> nine(9, x);
  expect_near(einsum("ab,bc,cd,de,ef,fg,gh,hi,ij->aj", nine), chain);
}

TEST(Einsum, TakesMoreLettersThanAxes) {
  const Tensor x = ones({2, 2, 2, 2, 2, 2});
  EXPECT_EQ(einsum("abcdei,fghjei->", {x, x}).item(), 1024);
}

// --- linear algebra ---

// The largest |x - y|.
double distance(const Tensor& x, const Tensor& y) { return x.numel() == 0 ? 0 : amax(abs(x - y)).item(); }

// Random matrices with a dominant diagonal: well-conditioned. Sizes around the block size of the factorizations.
Tensor regular(int64_t n) { return spread({n, n}, -1, 1) + eye(n, kFloat64) * std::sqrt(static_cast<double>(n)); }

class LinearAlgebra : public testing::TestWithParam<int64_t> {};

TEST_P(LinearAlgebra, ReconstructsMatricesOfEverySize) {
  const int64_t n = GetParam();
  const Tensor a = regular(n), b = spread({n, 5}), identity = eye(n, kFloat64);
  const double tolerance = 1e-12 * static_cast<double>(n + 10);
  EXPECT_LT(distance(matmul(a, solve(a, b)), b), tolerance);
  EXPECT_LT(distance(matmul(a.t(), solve(a.t(), b)), b), tolerance);
  EXPECT_LT(distance(matmul(a, inverse(a)), identity), tolerance);
  const Tensor swapped = flip(a, {0});  // every pivot needs a row exchange
  EXPECT_LT(distance(matmul(swapped, solve(swapped, b)), b), tolerance);
  const Tensor positive = matmul(a, a.t()) / static_cast<double>(n) + identity, l = cholesky(positive);
  EXPECT_LT(distance(matmul(l, l.t()), positive), tolerance);
  EXPECT_EQ(distance(l, tril(l)), 0);
  EXPECT_LT(distance(cholesky(positive, true), l.t()), tolerance);
  EXPECT_NEAR(slogdet(positive).logabsdet.item(), 2 * sum(log(sum(l * identity, {1}))).item(), 1e-9);
  for (bool upper : {false, true}) {
    const Tensor triangle = upper ? triu(positive) : tril(positive);
    EXPECT_LT(distance(matmul(triangle, triangular_solve(positive, b, {.upper = upper})), b), tolerance);
    const Tensor right = triangular_solve(positive, b.t(), {.upper = upper, .left = false});
    EXPECT_LT(distance(matmul(right, triangle), b.t()), tolerance);
  }
  const auto [q, r] = qr(a);
  EXPECT_LT(distance(matmul(q, r), a), tolerance);
  EXPECT_LT(distance(matmul(q.t(), q), identity), tolerance);
  const auto [values, vectors] = eigh(positive);
  EXPECT_LT(distance(matmul(vectors * values.unsqueeze(0), vectors.t()), positive), tolerance);
  const auto [u, s, vh] = svd(a);
  EXPECT_LT(distance(matmul(u * s.unsqueeze(0), vh), a), tolerance);
  EXPECT_LT(distance(svdvals(a), s), tolerance);
  EXPECT_LT(distance(eigvalsh(positive), values), tolerance);
}

INSTANTIATE_TEST_SUITE_P(Sizes, LinearAlgebra, testing::Values(1, 2, 3, 8, 9, 12, 13, 24, 25, 31, 32, 33, 65, 300),
                         [](const auto& size) { return std::to_string(size.param); });

TEST(LinearAlgebra, FullFormsAndFurtherVectors) {
  for (const Shape& shape : {Shape{5, 3}, Shape{3, 5}, Shape{4, 0}, Shape{0, 4}}) {
    const Tensor a = spread(shape);
    const auto [q, r] = qr(a, QrMode::complete);
    EXPECT_EQ(q.shape(), (Shape{shape[0], shape[0]}));
    EXPECT_LT(distance(matmul(q, r), a), 1e-12);
    EXPECT_LT(distance(matmul(q, q.t()), eye(shape[0], kFloat64)), 1e-12);
    const auto [u, s, vh] = svd(a, true);
    EXPECT_LT(distance(matmul(u, u.t()), eye(shape[0], kFloat64)), 1e-12);
    EXPECT_LT(distance(matmul(vh, vh.t()), eye(shape[1], kFloat64)), 1e-12);
    const int64_t k = s.size(0);
    EXPECT_LT(distance(matmul(u.slice(1, 0, k) * s, vh.slice(0, 0, k)), a), 1e-12);
  }
}

// Small matrices take kernels of ours, unless their numbers are extreme.
TEST(LinearAlgebra, SmallMatricesOfEveryKind) {
  const int64_t n = 6;
  const Tensor x = spread({n, n}), steep = diag(exp(arange(n).to(kFloat64) * -9));
  const Tensor one_rank = matmul(x.slice(0, 0, 1).t(), x.slice(0, 0, 1));
  for (const Tensor& a : {x, zeros({n, n}, kFloat64), eye(n, kFloat64), one_rank, matmul(steep, matmul(x, steep)),
                          x * 1e-200, x * 1e200, tril(ones({n, n}, kFloat64)), x.slice(0, 0, 2), x.slice(1, 0, 3)}) {
    const double size = tapegrad::max(abs(a)).item() + 1e-300;
    const auto expect_equal = [&](const Tensor& ours, const Tensor& right, double of) {
      EXPECT_LE(tapegrad::max(abs(ours / of - right / of)).item(), 1e-13) << a;
    };
    const auto [u, s, vh] = svd(a, false);
    expect_equal(matmul(u * s, vh), a, size);
    expect_equal(matmul(u.t(), u), eye(u.size(-1), kFloat64), 1);
    expect_equal(matmul(vh, vh.t()), eye(vh.size(-2), kFloat64), 1);
    expect_equal(svdvals(a), s, size);
    if (a.size(0) != a.size(1)) continue;
    const Tensor both = a * 0.5 + a.t() * 0.5;
    const auto [values, vectors] = eigh(both);
    expect_equal(matmul(vectors * values, vectors.t()), both, size);
    expect_equal(matmul(vectors.t(), vectors), eye(n, kFloat64), 1);
    expect_equal(eigvalsh(both), values, size);
    EXPECT_TRUE(all(values.slice(0, 1, n) >= values.slice(0, 0, n - 1)));
  }
}

// det is a polynomial: the derivatives of singular matrices of any rank are those of the sum over permutations.
TEST(LinearAlgebra, DerivativesOfDetOfSingularMatrices) {
  const auto polynomial = [](const Tensor& a, auto&& self) -> Tensor {  // along the first row
    const int64_t n = a.size(-1);
    if (n == 0) return ones_like(sum(a, {-1, -2}));
    Tensor y;
    for (int64_t j = 0; j < n; ++j) {
      const Tensor rows = a.slice(-2, 1), minor = cat({rows.slice(-1, 0, j), rows.slice(-1, j + 1)}, -1);
      const Tensor term = a.select(-2, 0).select(-1, j) * self(minor, self) * (j % 2 == 0 ? 1 : -1);
      y = y.defined() ? y + term : term;
    }
    return y;
  };
  const auto derivatives = [](const Tensor& given, auto&& f) {  // of first and second order, along some direction
    const Tensor a = given.as_leaf(), direction = spread(given.shape());
    Tape tape;
    const Tensor y = f(a), da = tape.backward(y, {.create_graph = true, .grad_output = spread(y.shape())})[a];
    return std::array{da.detach(), tape.backward(da, {.grad_output = direction})[a].detach()};
  };
  for (int64_t n = 2; n <= 4; ++n) {
    for (int64_t rank = 0; rank <= n; ++rank) {
      const Tensor low = matmul(spread({n, rank}), spread({rank, n}) + 0.3);
      // Alone, and in a batch with a regular one, whose derivatives do not become worse.
      for (const Tensor& a : {low, stack({regular(n), low, regular(n) * 2})}) {
        const auto ours = derivatives(a, [](const Tensor& x) { return det(x); });
        const auto right = derivatives(a, [&](const Tensor& x) { return polynomial(x, polynomial); });
        EXPECT_LT(distance(ours[0], right[0]), 1e-9) << n << " " << rank;
        EXPECT_LT(distance(ours[1], right[1]), 1e-9) << n << " " << rank;
      }
    }
  }
}

TEST(LinearAlgebra, ValuesAreTheSameBitsWithATape) {
  for (const int64_t n : {3, 10, 40}) {
    const Tensor a = spread({n + 2, n}), symmetric = matmul(a.t(), a);
    const Tensor values = svdvals(a), eigenvalues = eigvalsh(symmetric);
    Tape tape;
    EXPECT_TRUE(equal(svdvals(a.as_leaf()), values)) << n;
    EXPECT_TRUE(equal(eigvalsh(symmetric.as_leaf()), eigenvalues)) << n;
  }
}

TEST(LinearAlgebra, ReadsOneTriangle) {
  const Tensor a = regular(4), lower = tril(a) + tril(a, -1).t();
  EXPECT_EQ(distance(eigvalsh(a), eigvalsh(lower)), 0);
  const Tensor positive = matmul(a, a.t()), noise = triu(spread({4, 4}), 1);
  EXPECT_EQ(distance(cholesky(positive + noise), cholesky(positive)), 0);
  EXPECT_EQ(distance(cholesky(positive + noise.t(), true), cholesky(positive, true)), 0);
}

TEST(LinearAlgebra, ErrorsOfGradients) {
  EXPECT_ERROR(Tape().backward(sum(qr(ones({3, 2}).as_leaf(), QrMode::complete).q)));
  EXPECT_TEXT(error_of([] {
    Tape tape;
    const Tensor a = zeros({2, 2}).as_leaf(), da = tape.backward(det(a), {.create_graph = true})[a];
    tape.backward(sum(da), {.create_graph = true});
  }));
}

}  // namespace
}  // namespace tapegrad::tests
