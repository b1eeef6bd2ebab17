// Samples of linear algebra. Symmetric matrices are built from their factors, and functions of vectors with arbitrary
// signs do not depend on the signs.
#include <tapegrad/autograd/linalg.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/tasks/gradcheck/op_samples.h>

namespace tapegrad::tasks {
namespace {

using Inputs = std::span<const Tensor>;

// Well-conditioned, with distinct singular values.
Tensor regular(const Shape& shape) {
  const int64_t n = shape[-1];
  const Tensor scale = arange(2, 2 + static_cast<double>(n), 1, kFloat64);
  return spread(shape, -0.5, 0.5) + eye(n, kFloat64) * scale;
}
Tensor symmetric(const Tensor& x) { return (x + x.t()) * 0.5; }
Tensor positive(const Tensor& x) { return matmul(x, x.t()) + eye(x.size(-2), x.dtype()); }
// Rectangular, with full rank.
Tensor oblong(const Shape& shape) {
  const Tensor x = spread(shape, -0.5, 0.5);
  const int64_t m = shape[-2], n = shape[-1], k = m < n ? m : n;
  const Tensor scale = arange(2, 2 + 2 * static_cast<double>(k), 2, kFloat64).unsqueeze(-1);
  const Tensor diagonal = eye(k, kFloat64) * scale;
  if (m > n) return x + cat({diagonal, zeros({m - n, n}, kFloat64)}, 0);
  return m < n ? x + cat({diagonal, zeros({m, n - m}, kFloat64)}, 1) : x + diagonal;
}

void add_systems(SampleTable& table) {
  const auto solves = [](Inputs x) { return solve(x[0], x[1]); };
  const Shape pairs[][2] = {
      {{2, 2}, {2, 3}},    {{2, 2}, {2}},    {{2, 3, 3}, {2, 3, 2}}, {{2, 2, 2}, {2, 2}}, {{3, 1, 2, 2}, {2, 2, 1}},
      {{2, 2}, {3, 2, 1}}, {{1, 1}, {1, 1}}, {{0, 0}, {0, 2}},       {{2, 2}, {2, 0}},    {{0, 2, 2}, {0, 2, 1}}};
  for (const auto& [a, b] : pairs) table.add("solve", str(a) + ", " + str(b), {regular(a), spread(b)}, solves);
  table.add("solve", "transposed", {regular({3, 3}).t(), spread({2, 3}).t()}, solves);
  for (bool upper : {false, true}) {
    for (bool left : {false, true}) {
      for (bool unit : {false, true}) {
        const TriangularOptions options{.upper = upper, .left = left, .unitriangular = unit};
        const auto f = [options](Inputs x) { return triangular_solve(x[0], x[1], options); };
        const std::string label =
            std::string(upper ? "upper" : "lower") + (left ? ", left" : ", right") + (unit ? ", unit diagonal" : "");
        table.add("triangular_solve", label, {regular({3, 3}), left ? spread({3, 2}) : spread({2, 3})}, f);
        table.add("triangular_solve", label + ", batch",
                  {regular({2, 1, 2, 2}).t(), left ? spread({2, 2, 1}) : spread({2, 1, 2})}, f);
      }
    }
  }
  const auto lower = [](Inputs x) { return triangular_solve(x[0], x[1], {}); };
  table.add("triangular_solve", "reversed rows",
            {regular({3, 3}).slice(0, kAll, kAll, -1) + eye(3, kFloat64) * 3, spread({3, 4}).slice(1, 0, kAll, 2)},
            lower);
  table.add("triangular_solve", "empty", {regular({0, 0}), spread({0, 2})}, lower);
}

void add_square(SampleTable& table) {
  for (const Shape& shape : {Shape{3, 3}, Shape{2, 2, 2}, Shape{1, 1}, Shape{0, 0}, Shape{0, 2, 2}}) {
    table.add("inverse", str(shape), {regular(shape)}, [](Inputs x) { return inverse(x[0]); });
    table.add("det", str(shape), {regular(shape)}, [](Inputs x) { return det(x[0]); });
    table.add("slogdet", str(shape), {regular(shape)}, [](Inputs x) { return slogdet(x[0]).logabsdet; });
    table.add("cholesky", str(shape), {spread(shape, -1, 1)}, [](Inputs x) { return cholesky(positive(x[0])); });
    table.add("cholesky", str(shape) + ", upper", {spread(shape, -1, 1)},
              [](Inputs x) { return cholesky(positive(x[0]), true); });
    table.add("eigvalsh", str(shape), {regular(shape)}, [](Inputs x) { return eigvalsh(symmetric(x[0])); });
    table.add("eigh", str(shape) + ", values", {regular(shape)}, [](Inputs x) { return eigh(symmetric(x[0])).values; });
    table.add("eigh", str(shape) + ", both", {regular(shape)}, [](Inputs x) {
      const auto [values, v] = eigh(symmetric(x[0]));
      return matmul(v * sin(values).unsqueeze(-2), v.t());
    });
    if (shape[-1] == 1) continue;  // 1 or -1
    table.add("eigh", str(shape) + ", vectors", {regular(shape)}, [](Inputs x) {
      const Tensor v = eigh(symmetric(x[0])).vectors;
      return v * v;
    });
  }
  const auto turned = [](Inputs x) { return inverse(x[0]) + det(x[0]); };
  table.add("inverse", "transposed", {regular({3, 3}).t()}, turned);
  table.add("det", "every second row and column", {regular({6, 6}).slice(1, 0, kAll, 2).slice(0, 0, kAll, 2)}, turned);
  const Tensor singular = tensor({{1, 2}, {2, 4}}, kFloat64);
  table.add("det", "singular", {singular}, [](Inputs x) { return det(x[0]); });
  table.add("det", "singular in a batch", {stack({singular, regular({2, 2})})}, [](Inputs x) { return det(x[0]); });
  table.add("det", "of rank 2", {tensor({{1, 2, 3}, {4, 5, 6}, {7, 8, 9}}, kFloat64)},
            [](Inputs x) { return det(x[0]); });
}

void add_oblong(SampleTable& table) {
  for (const Shape& shape : {Shape{3, 3}, Shape{4, 2}, Shape{2, 4}, Shape{2, 3, 2}, Shape{2, 2, 3}, Shape{0, 2},
                             Shape{2, 0}, Shape{0, 2, 2}}) {
    const std::string label = str(shape);
    for (QrMode mode : {QrMode::reduced, QrMode::complete}) {
      if (mode == QrMode::complete && shape[-2] > shape[-1]) continue;
      const std::string name = label + (mode == QrMode::complete ? ", complete" : "");
      table.add("qr", name + ", q", {oblong(shape)}, [mode](Inputs x) { return qr(x[0], mode).q; });
      table.add("qr", name + ", r", {oblong(shape)}, [mode](Inputs x) { return qr(x[0], mode).r; });
      table.add("qr", name + ", both", {oblong(shape)}, [mode](Inputs x) {
        const auto [q, r] = qr(x[0], mode);
        return matmul(sin(q), cos(r));
      });
    }
    table.add("svdvals", label, {oblong(shape)}, [](Inputs x) { return svdvals(x[0]); });
    for (bool full : {false, true}) {
      const std::string name = label + (full ? ", full" : "");
      const int64_t k = std::min(shape[-2], shape[-1]);
      table.add("svd", name + ", u", {oblong(shape)}, [full, k](Inputs x) {
        const Tensor u = svd(x[0], full).u.slice(-1, 0, k);
        return u * u;
      });
      table.add("svd", name + ", s", {oblong(shape)}, [full](Inputs x) { return svd(x[0], full).s; });
      table.add("svd", name + ", vh", {oblong(shape)}, [full, k](Inputs x) {
        const Tensor vh = svd(x[0], full).vh.slice(-2, 0, k);
        return vh * vh;
      });
      table.add("svd", name + ", all", {oblong(shape)}, [full, k](Inputs x) {
        const auto [u, s, vh] = svd(x[0], full);
        return matmul(u.slice(-1, 0, k) * sin(s).unsqueeze(-2), vh.slice(-2, 0, k));
      });
    }
    table.add("pinv", label, {oblong(shape)}, [](Inputs x) { return pinv(x[0]); });
  }
  table.add("pinv", "rank 1", {spread({3, 1}), spread({1, 2})},
            [](Inputs x) { return pinv(matmul(x[0], x[1]), 1e-10); });
  for (const LaidOut& laid : layouts(3, 2, -1, 1)) {
    table.add("qr", laid.label, {laid.x}, [](Inputs x) { return qr(x[0]).r; });
    table.add("svd", laid.label, {laid.x}, [](Inputs x) { return svd(x[0]).s; });
  }
}

}  // namespace

void add_linalg_samples(SampleTable& table) {
  add_systems(table);
  add_square(table);
  add_oblong(table);
}

}  // namespace tapegrad::tasks
