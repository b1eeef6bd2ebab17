// Cases of linear algebra. Symmetric matrices are built from their factors, and functions of vectors with arbitrary
// signs do not depend on the signs.
#include <tapegrad/checks/cases/case.h>
#include <tapegrad/tapegrad.h>

namespace tapegrad::tasks {
namespace {

using A = Arguments;

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

void add_linalg_calls(CaseTable& t) {
  t.call("solve", solve);
  t.call("lstsq", lstsq);
  t.call("inverse", inverse);
  t.call("det", det);
  t.call("eigvalsh", eigvalsh);
  t.call("svdvals", svdvals);
  t.call("pinv", pinv, "rcond=-1");
  t.call("matrix_power", matrix_power, "n");
  t.call("triangular_solve", [](auto& x, auto& args) {
    return triangular_solve(x[0], x[1],
                            {.upper = args.value("upper", false),
                             .left = args.value("left", true),
                             .unitriangular = args.value("unitriangular", false)});
  });
  t.call("cholesky", [](auto& x, auto& args) { return cholesky(x[0], args.value("upper", false)); });
  t.call("slogdet", [](const Inputs& x, const json&) -> Outputs {
    const SignLogDet y = slogdet(x[0]);
    return {y.logabsdet, y.sign};
  });
  t.call("qr", [](const Inputs& x, const json& args) -> Outputs {
    const Qr y = qr(x[0], args.value("mode", "") == "complete" ? QrMode::complete : QrMode::reduced);
    return args.value("first", "") == "q" ? Outputs{y.q, y.r} : Outputs{y.r, y.q};
  });
  t.call("eigh", [](const Inputs& x, const json& args) -> Outputs {
    const Eigh y = eigh(x[0]);
    return {args["of"] == "values" ? y.values : abs(y.vectors)};
  });
  t.call("svd", [](const Inputs& x, const json& args) -> Outputs {
    const Svd y = svd(x[0], args.value("full", false));
    const int64_t k = y.s.size(-1);
    return {abs(args["of"] == "u" ? y.u.slice(-1, 0, k) : args["of"] == "s" ? y.s : y.vh.slice(-2, 0, k))};
  });
}

void add_systems(CaseTable& t) {
  const Shape pairs[][2] = {
      {{2, 2}, {2, 3}},    {{2, 2}, {2}},    {{2, 3, 3}, {2, 3, 2}}, {{2, 2, 2}, {2, 2}}, {{3, 1, 2, 2}, {2, 2, 1}},
      {{2, 2}, {3, 2, 1}}, {{1, 1}, {1, 1}}, {{0, 0}, {0, 2}},       {{2, 2}, {2, 0}},    {{0, 2, 2}, {0, 2, 1}}};
  for (const auto& [a, b] : pairs) t.add("solve", str(a) + ", " + str(b), {regular(a), spread(b)});
  t.add("solve", "transposed", {regular({3, 3}).t(), spread({2, 3}).t()});
  for (bool upper : {false, true}) {
    for (bool left : {false, true}) {
      for (bool unit : {false, true}) {
        const json options{{"upper", upper}, {"left", left}, {"unitriangular", unit}};
        const std::string label =
            std::string(upper ? "upper" : "lower") + (left ? ", left" : ", right") + (unit ? ", unit diagonal" : "");
        t.add("triangular_solve", label, {regular({3, 3}), left ? spread({3, 2}) : spread({2, 3})}, options);
        t.add("triangular_solve", label + ", batch",
              {regular({2, 1, 2, 2}).t(), left ? spread({2, 2, 1}) : spread({2, 1, 2})}, options);
      }
    }
  }
  t.add("triangular_solve", "reversed rows",
        {regular({3, 3}).slice(0, kAll, kAll, -1) + eye(3, kFloat64) * 3, spread({3, 4}).slice(1, 0, kAll, 2)});
  t.add("triangular_solve", "empty", {regular({0, 0}), spread({0, 2})});
}

void add_square(CaseTable& t) {
  for (const Shape& shape : {Shape{3, 3}, Shape{2, 2, 2}, Shape{1, 1}, Shape{0, 0}, Shape{0, 2, 2}}) {
    for (const char* op : {"inverse", "det", "slogdet"}) t.add(op, str(shape), {regular(shape)});
    const Tensor x = spread(shape, -1, 1);
    t.add("cholesky", str(shape), {x}, [](auto x) { return cholesky(positive(x[0])); });
    t.add("cholesky", str(shape) + ", upper", {x}, [](auto x) { return cholesky(positive(x[0]), true); });
    t.add("eigvalsh", str(shape), {regular(shape)}, [](auto x) { return eigvalsh(symmetric(x[0])); });
    t.add("eigh", str(shape) + ", values", {regular(shape)}, [](auto x) { return eigh(symmetric(x[0])).values; });
    t.add("eigh", str(shape) + ", both", {regular(shape)}, [](auto x) {
      const auto [values, v] = eigh(symmetric(x[0]));
      return matmul(v * sin(values).unsqueeze(-2), v.t());
    });
    if (shape[-1] == 1) continue;  // 1 or -1
    t.add("eigh", str(shape) + ", vectors", {regular(shape)}, [](auto x) {
      const Tensor v = eigh(symmetric(x[0])).vectors;
      return v * v;
    });
  }
  const Function turned = [](auto x) { return inverse(x[0]) + det(x[0]); };
  t.add("inverse", "transposed", {regular({3, 3}).t()}, turned);
  t.add("det", "every second row and column", {regular({6, 6}).slice(1, 0, kAll, 2).slice(0, 0, kAll, 2)}, turned);
  const Tensor singular = tensor({{1, 2}, {2, 4}}, kFloat64);
  t.add("det", "singular", {singular});
  t.add("det", "singular in a batch", {stack({singular, regular({2, 2})})});
  t.add("det", "of rank 2", {tensor({{1, 2, 3}, {4, 5, 6}, {7, 8, 9}}, kFloat64)});
}

void add_oblong(CaseTable& t) {
  for (const Shape& shape : {Shape{3, 3}, Shape{4, 2}, Shape{2, 4}, Shape{2, 3, 2}, Shape{2, 2, 3}, Shape{0, 2},
                             Shape{2, 0}, Shape{0, 2, 2}}) {
    const std::string label = str(shape);
    const Tensor x = oblong(shape);
    for (QrMode mode : {QrMode::reduced, QrMode::complete}) {
      if (mode == QrMode::complete && shape[-2] > shape[-1]) continue;
      const std::string name = label + (mode == QrMode::complete ? ", complete" : "");
      t.add("qr", name + ", q", {x}, [mode](auto x) { return qr(x[0], mode).q; });
      t.add("qr", name + ", r", {x}, [mode](auto x) { return qr(x[0], mode).r; });
      t.add("qr", name + ", both", {x}, [mode](auto x) {
        const auto [q, r] = qr(x[0], mode);
        return matmul(sin(q), cos(r));
      });
    }
    t.add("svdvals", label, {x});
    for (bool full : {false, true}) {
      const std::string name = label + (full ? ", full" : "");
      const int64_t k = std::min(shape[-2], shape[-1]);
      t.add("svd", name + ", u", {x}, [full, k](auto x) { return square(svd(x[0], full).u.slice(-1, 0, k)); });
      t.add("svd", name + ", s", {x}, [full](auto x) { return svd(x[0], full).s; });
      t.add("svd", name + ", vh", {x}, [full, k](auto x) { return square(svd(x[0], full).vh.slice(-2, 0, k)); });
      t.add("svd", name + ", all", {x}, [full, k](auto x) {
        const auto [u, s, vh] = svd(x[0], full);
        return matmul(u.slice(-1, 0, k) * sin(s).unsqueeze(-2), vh.slice(-2, 0, k));
      });
    }
    t.add("pinv", label, {x}, [](auto x) { return pinv(x[0]); });
  }
  t.add("pinv", "rank 1", {spread({3, 1}), spread({1, 2})}, [](auto x) { return pinv(matmul(x[0], x[1]), 1e-10); });
  for (const LaidOut& laid : layouts(3, 2, -1, 1)) {
    t.add("qr", laid.label, {laid.x});
    t.add("svd", laid.label, {laid.x}, [](auto x) { return svd(x[0]).s; });
  }
}

void add_linalg_rules(CaseTable& t) {
  // Diagonally dominant matrices.
  const auto dominant = [](const A& a) { return a.t[0] * 0.2 + eye(a.t[0].size(-1), a.type) * 2; };
  const std::string matrix = "({t0} * 0.2 + eye({t0}.size(-1), {T}) * 2)";
  const std::string python = "({t0} * 0.2 + torch.eye({t0}.size(-1), dtype={T}) * 2)";
  const auto of_matrix = [&](const std::string& name, Tensor (*f)(const Tensor&), const std::string& torch,
                             const std::string& after = "") {
    t.rule(name + matrix + after, "torch.linalg." + torch + python + after, square_matrices,
           [=](const A& a) { return f(dominant(a)); });
  };
  of_matrix("det", det, "det");
  of_matrix("inverse", inverse, "inv");
  of_matrix(
      "slogdet", [](const Tensor& x) { return slogdet(x).logabsdet; }, "slogdet", ".logabsdet");
  of_matrix(
      "pinv", [](const Tensor& x) { return pinv(x); }, "pinv");
  t.rule("cholesky(matmul" + replaced("(M, M.t()))", "M", matrix),
         "torch.linalg.cholesky" + replaced("(M @ M.mT)", "M", python), square_matrices,
         [=](const A& a) { return cholesky(matmul(dominant(a), dominant(a).t())); });
  t.rule("matrix_power(" + matrix + ", {i0})", "torch.linalg.matrix_power(" + python + ", {i0})",
         and_integer(square_matrices, -2, 3), [=](const A& a) { return matrix_power(dominant(a), a.i(0)); });
  t.rule("qr(" + matrix + ").r", "torch.linalg.qr(" + python + ").R", square_matrices,
         [=](const A& a) { return qr(dominant(a)).r; });
  const DrawRule system =
      and_operand(operand([](const Tensor& x) { return x.dim() == 2 && x.size(-1) == x.size(-2) && x.numel() > 0; }),
                  [](const Tensor& a, const Tensor& b) { return b.dim() == 2 && b.size(0) == a.size(0); });
  t.rule("solve(" + matrix + ", {t1})", "torch.linalg.solve(" + python + ", {t1})", system,
         [=](const A& a) { return solve(dominant(a), a.t[1]); });
  t.rule("triangular_solve(" + matrix + ", {t1}, {.upper = true})",
         "torch.linalg.solve_triangular(" + python + ", {t1}, upper=True)", system,
         [=](const A& a) { return triangular_solve(dominant(a), a.t[1], {.upper = true}); });
  // Well-separated eigenvalues and singular values.
  const auto separate = [](const A& a) { return tanh(a.t[0]) * 0.1 + diag(arange(a.t[0].size(-1)).to(a.type) + 1); };
  const std::string apart = "tanh({t0}) * 0.1 + diag(arange({t0}.size(-1)).to({T}) + 1)";
  const std::string apart_python = "{t0}.tanh() * 0.1 + torch.diag(torch.arange({t0}.size(-1)).to({T}) + 1)";
  const std::string both = "((" + apart + " + (" + apart + ").t()) / 2)";
  const std::string both_python = "((lambda m: (m + m.mT) / 2)(" + apart_python + "))";
  t.rule("svdvals(" + apart + ")", "torch.linalg.svdvals(" + apart_python + ")", square_matrices,
         [=](const A& a) { return svdvals(separate(a)); });
  t.rule("square(svd(" + apart + ").u)", "torch.linalg.svd(" + apart_python + ").U.square()", square_matrices,
         [=](const A& a) { return square(svd(separate(a)).u); });
  t.rule("square(eigh" + both + ".vectors)", "torch.linalg.eigh" + both_python + ".eigenvectors.square()",
         square_matrices, [=](const A& a) { return square(eigh((separate(a) + separate(a).t()) / 2).vectors); });
  t.rule("eigvalsh" + both, "torch.linalg.eigvalsh" + both_python, square_matrices,
         [=](const A& a) { return eigvalsh((separate(a) + separate(a).t()) / 2); });
}

// Well-conditioned and symmetric matrices: a batch of small ones, and a large one.
void add_large_matrices(CaseTable& t) {
  for (const Shape& shape : {Shape{64, 24, 24}, Shape{100, 100}}) {
    const int64_t n = shape[-1];
    const Tensor a = numbers(shape, -0.5, 0.5) + eye(n) * arange(1, static_cast<double>(n + 1), 1, kFloat32);
    const Tensor b = numbers(shape), both = a + a.t();
    t.add_large("solve", {a, b});
    t.add_large("triangular_solve", {a, b}, {{"upper", true}});
    t.add_large("inverse", {a});
    t.add_large("cholesky", {matmul(a, a.t())});
    t.add_large("det", {a * 0.2});
    t.add_large("slogdet", {a});
    t.add_large("qr", {a.slice(-1, 0, n / 2)}, [](auto v) { return matmul(qr(v[0]).q, qr(v[0]).r); });
    t.add_large("eigh", {both}, [](auto v) { return eigh(v[0]).vectors * eigh(v[0]).values.unsqueeze(-1); });
    t.add_large("eigvalsh", {both});
    t.add_large("svd", {a.slice(-2, 1)}, [](auto v) {
      const Svd y = svd(v[0]);
      return matmul(y.u * y.s.unsqueeze(-2), sin(y.vh));
    });
    t.add_large("svdvals", {a});
    t.add_large("pinv", {a.slice(-1, 1)}, [](auto v) { return pinv(v[0]); });
  }
}

}  // namespace

void add_linalg_cases(CaseTable& table) {
  add_linalg_calls(table);
  add_systems(table);
  add_square(table);
  add_oblong(table);
  add_linalg_rules(table);
  if (table.large()) add_large_matrices(table);
}

}  // namespace tapegrad::tasks
