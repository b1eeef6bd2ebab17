// The operations that random programs are made of: products, linear algebra, and operations on images.
#include <tapegrad/autograd/convolution.h>
#include <tapegrad/autograd/linalg.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/pooling.h>
#include <tapegrad/tests/support/program_table.h>

namespace tapegrad::tests {

void add_products(Table& table) {
  table.add(
      "matmul({t0}, {t1})", "{t0} @ {t1}",
      [](const D& d, Call& c) {
        if (!d.operand(c, [](const Tensor& x) { return x.dim() > 0; })) return false;
        const Tensor a = d.last(c);
        return d.operand(c, [&](const Tensor& b) {
          if (b.dim() == 0 || b.size(b.dim() == 1 ? 0 : -2) != a.size(-1)) return false;

          return a.dim() < 3 || b.dim() < 3 || broadcast(sum(a, {-1, -2}).shape(), sum(b, {-1, -2}).shape());
        });
      },
      [](const A& a) { return matmul(a.t[0], a.t[1]); });
  table.add("matmul({t0}, {t0}.t())", "{t0} @ {t0}.transpose(-1, -2)", matrices,
            [](const A& a) { return matmul(a.t[0], a.t[0].t()); });
  const DrawRule same_last = [](const D& d, Call& c) {
    if (!d.operand(c, [](const Tensor& x) { return x.dim() > 0; })) return false;
    const int64_t size = d.last(c).size(-1);
    return d.operand(c, [&](const Tensor& w) { return w.dim() == 2 && w.size(1) == size; });
  };
  table.add("linear({t0}, {t1})", "F.linear({t0}, {t1})", same_last, [](const A& a) { return linear(a.t[0], a.t[1]); });
  table.add("linear({t0}, {t1}, sum({t1}, {1}))", "F.linear({t0}, {t1}, {t1}.sum(1))", same_last,
            [](const A& a) { return linear(a.t[0], a.t[1], sum(a.t[1], {1})); });
  table.add("einsum(\"...i,ji->j...\", {{t0}, {t1}})", "torch.einsum('...i,ji->j...', {t0}, {t1})", same_last,
            [](const A& a) {
              return einsum("...i,ji->j...", {a.t[0], a.t[1]});
            });
  table.add(
      "einsum(\"ij,kj,ij->ki\", {{t0}, {t1}, {t0}})", "torch.einsum('ij,kj,ij->ki', {t0}, {t1}, {t0})",
      [same_last](const D& d, Call& c) { return same_last(d, c) && d.value(c.t[0]).dim() == 2; },
      [](const A& a) {
        return einsum("ij,kj,ij->ki", {a.t[0], a.t[1], a.t[0]});
      });
  table.add(
      "outer({t0}.reshape({-1}), {t1}.reshape({-1}))", "torch.outer({t0}.reshape(-1), {t1}.reshape(-1))",
      [](const D& d, Call& c) { return sized(0, 4)(d, c) && sized(0, 6)(d, c); },
      [](const A& a) { return outer(a.t[0].reshape({-1}), a.t[1].reshape({-1})); });
  table.add("tensordot({t0}, {t1}, {t0}.dim())", "torch.tensordot({t0}, {t1}, {t0}.dim())", twins,
            [](const A& a) { return tensordot(a.t[0], a.t[1], a.t[0].dim()); });
}

void add_linalg(Table& table) {
  // Diagonally dominant matrices.
  const auto regular = [](const A& a) { return a.t[0] * 0.2 + eye(a.t[0].size(-1), a.type) * 2; };
  const std::string matrix = "({t0} * 0.2 + eye({t0}.size(-1), {T}) * 2)";
  const std::string python = "({t0} * 0.2 + torch.eye({t0}.size(-1), dtype={T}) * 2)";
  const auto of_matrix = [&](const std::string& name, Tensor (*f)(const Tensor&), const std::string& torch,
                             const std::string& after = "") {
    table.add(name + matrix + (after.empty() ? "" : "." + after), torch + python + (after.empty() ? "" : "." + after),
              square_matrices, [=](const A& a) { return f(regular(a)); });
  };
  of_matrix("det", det, "torch.linalg.det");
  of_matrix("inverse", inverse, "torch.linalg.inv");
  of_matrix(
      "slogdet", [](const Tensor& x) { return slogdet(x).logabsdet; }, "torch.linalg.slogdet", "logabsdet");
  of_matrix(
      "pinv", [](const Tensor& x) { return pinv(x); }, "torch.linalg.pinv");
  table.add("cholesky(matmul" + replaced("(M, M.t()))", "M", matrix),
            "torch.linalg.cholesky" + replaced("(M @ M.mT)", "M", python), square_matrices,
            [=](const A& a) { return cholesky(matmul(regular(a), regular(a).t())); });
  table.add(
      "matrix_power(" + matrix + ", {i0})", "torch.linalg.matrix_power(" + python + ", {i0})",
      [](const D& d, Call& c) {
        if (!square_matrices(d, c)) return false;
        c.i = {d.between(-2, 3)};
        return true;
      },
      [=](const A& a) { return matrix_power(regular(a), a.i(0)); });
  const DrawRule system = [](const D& d, Call& c) {
    if (!d.operand(c, [](const Tensor& x) { return x.dim() == 2 && x.size(-1) == x.size(-2) && x.numel() > 0; }))
      return false;
    const int64_t size = d.last(c).size(0);
    return d.operand(c, [&](const Tensor& b) { return b.dim() == 2 && b.size(0) == size; });
  };
  table.add("solve(" + matrix + ", {t1})", "torch.linalg.solve(" + python + ", {t1})", system,
            [=](const A& a) { return solve(regular(a), a.t[1]); });
  table.add("triangular_solve(" + matrix + ", {t1}, {.upper = true})",
            "torch.linalg.solve_triangular(" + python + ", {t1}, upper=True)", system,
            [=](const A& a) { return triangular_solve(regular(a), a.t[1], {.upper = true}); });
  // Well-separated eigenvalues and singular values.
  const auto spread = [](const A& a) {
    const int64_t n = a.t[0].size(-1);
    return tanh(a.t[0]) * 0.1 + diag(arange(n).to(a.type) + 1);
  };
  const std::string apart = "tanh({t0}) * 0.1 + diag(arange({t0}.size(-1)).to({T}) + 1)";
  const std::string apart_python = "{t0}.tanh() * 0.1 + torch.diag(torch.arange({t0}.size(-1)).to({T}) + 1)";
  table.add("svdvals(" + apart + ")", "torch.linalg.svdvals(" + apart_python + ")", square_matrices,
            [=](const A& a) { return svdvals(spread(a)); });
  table.add("square(eigh(" + apart + ").vectors)",
            "torch.linalg.eigh((lambda m: (m + m.mT) / 2)(" + apart_python + ")).eigenvectors.square()",
            square_matrices, [=](const A& a) { return square(eigh((spread(a) + spread(a).t()) / 2).vectors); });
  table.rules.back().cpp = "square(eigh((" + apart + " + (" + apart + ").t()) / 2).vectors)";
  table.add("eigvalsh((" + apart + " + (" + apart + ").t()) / 2)",
            "torch.linalg.eigvalsh((lambda m: (m + m.mT) / 2)(" + apart_python + "))", square_matrices,
            [=](const A& a) { return eigvalsh((spread(a) + spread(a).t()) / 2); });
  table.add("square(svd(" + apart + ").u)", "torch.linalg.svd(" + apart_python + ").U.square()", square_matrices,
            [=](const A& a) { return square(svd(spread(a)).u); });
  table.add("qr(" + matrix + ").r", "torch.linalg.qr(" + python + ").R", square_matrices,
            [=](const A& a) { return qr(regular(a)).r; });
}

void add_images(Table& table) {
  const DrawRule signal = [](const D& d, Call& c) {
    if (!sized(2, 12)(d, c)) return false;
    const int64_t length = d.last(c).numel();
    if (!d.operand(c, [&](const Tensor& w) { return w.numel() > 0 && w.numel() <= std::min<int64_t>(length, 4); }))
      return false;
    c.i = {d.between(1, 2), d.between(0, 1)};
    return true;
  };
  table.add("conv1d({t0}.reshape({1, 1, -1}), {t1}.reshape({1, 1, -1}), {}, {.stride = {i0}, .padding = {i1}})",
            "F.conv1d({t0}.reshape(1, 1, -1), {t1}.reshape(1, 1, -1), stride={i0}, padding={i1})", signal,
            [](const A& a) {
              return conv1d(a.t[0].reshape({1, 1, -1}), a.t[1].reshape({1, 1, -1}), {},
                            {.stride = a.i(0), .padding = a.i(1)});
            });
  table.add("conv_transpose1d({t0}.reshape({1, 1, -1}), {t1}.reshape({1, 1, -1}), {}, {.stride = {i0}})",
            "F.conv_transpose1d({t0}.reshape(1, 1, -1), {t1}.reshape(1, 1, -1), stride={i0})", signal, [](const A& a) {
              return conv_transpose1d(a.t[0].reshape({1, 1, -1}), a.t[1].reshape({1, 1, -1}), {}, {.stride = a.i(0)});
            });
  const DrawRule even = [](const D& d, Call& c) {
    return d.operand(c, [](const Tensor& x) { return x.numel() >= 4 && x.numel() <= 16 && x.numel() % 2 == 0; });
  };
  const DrawRule image = [even](const D& d, Call& c) { return even(d, c) && sized(2, 2)(d, c); };
  table.add("conv2d({t0}.reshape({1, 1, 2, -1}), {t1}.reshape({1, 1, 1, 2}), {}, {.padding = {1, 0}})",
            "F.conv2d({t0}.reshape(1, 1, 2, -1), {t1}.reshape(1, 1, 1, 2), padding=(1, 0))", image, [](const A& a) {
              return conv2d(a.t[0].reshape({1, 1, 2, -1}), a.t[1].reshape({1, 1, 1, 2}), {}, {.padding = {1, 0}});
            });
  table.add("conv_transpose2d({t0}.reshape({1, 1, 2, -1}), {t1}.reshape({1, 1, 2, 1}))",
            "F.conv_transpose2d({t0}.reshape(1, 1, 2, -1), {t1}.reshape(1, 1, 2, 1))", image, [](const A& a) {
              return conv_transpose2d(a.t[0].reshape({1, 1, 2, -1}), a.t[1].reshape({1, 1, 2, 1}));
            });
  table.add(
      "max_pool1d({t0}.reshape({1, 1, -1}), 2, {.stride = 1, .padding = 1})",
      "F.max_pool1d({t0}.reshape(1, 1, -1), 2, stride=1, padding=1)", sized(2, 12),
      [](const A& a) {
        return max_pool1d(a.t[0].reshape({1, 1, -1}), 2, {.stride = 1, .padding = 1});
      },
      kApart);
  table.add("avg_pool1d({t0}.reshape({1, 1, -1}), 2, {.ceil_mode = true})",
            "F.avg_pool1d({t0}.reshape(1, 1, -1), 2, ceil_mode=True)", sized(2, 12), [](const A& a) {
              return avg_pool1d(a.t[0].reshape({1, 1, -1}), 2, {.ceil_mode = true});
            });
  table.add(
      "max_pool2d({t0}.reshape({1, 1, 2, -1}), 2)", "F.max_pool2d({t0}.reshape(1, 1, 2, -1), 2)", even,
      [](const A& a) {
        return max_pool2d(a.t[0].reshape({1, 1, 2, -1}), 2);
      },
      kApart);
  table.add(
      "avg_pool2d({t0}.reshape({1, 1, 2, -1}), 2, {.stride = 1, .padding = 1, .count_include_pad = false})",
      "F.avg_pool2d({t0}.reshape(1, 1, 2, -1), 2, stride=1, padding=1, count_include_pad=False)", even, [](const A& a) {
        return avg_pool2d(a.t[0].reshape({1, 1, 2, -1}), 2, {.stride = 1, .padding = 1, .count_include_pad = false});
      });
  table.add("adaptive_avg_pool1d({t0}.reshape({1, 1, -1}), 3)", "F.adaptive_avg_pool1d({t0}.reshape(1, 1, -1), 3)",
            sized(1, 12), [](const A& a) {
              return adaptive_avg_pool1d(a.t[0].reshape({1, 1, -1}), 3);
            });
  table.add(
      "adaptive_max_pool1d({t0}.reshape({1, 1, -1}), 2)", "F.adaptive_max_pool1d({t0}.reshape(1, 1, -1), 2)",
      sized(1, 12),
      [](const A& a) {
        return adaptive_max_pool1d(a.t[0].reshape({1, 1, -1}), 2);
      },
      kApart);
  table.add("adaptive_avg_pool2d({t0}.reshape({1, 1, 2, -1}), {3, 2})",
            "F.adaptive_avg_pool2d({t0}.reshape(1, 1, 2, -1), (3, 2))", even, [](const A& a) {
              return adaptive_avg_pool2d(a.t[0].reshape({1, 1, 2, -1}), {3, 2});
            });
  table.add(
      "adaptive_max_pool2d({t0}.reshape({1, 1, 2, -1}), {1, 2})",
      "F.adaptive_max_pool2d({t0}.reshape(1, 1, 2, -1), (1, 2))", even,
      [](const A& a) {
        return adaptive_max_pool2d(a.t[0].reshape({1, 1, 2, -1}), {1, 2});
      },
      kApart);
  table.add("interpolate({t0}.reshape({1, 1, -1}), {.size = 5, .mode = Interpolation::linear})",
            "F.interpolate({t0}.reshape(1, 1, -1), size=5, mode='linear')", sized(1, 12), [](const A& a) {
              return interpolate(a.t[0].reshape({1, 1, -1}), {.size = 5, .mode = Interpolation::linear});
            });
  table.add(
      "interpolate({t0}.reshape({1, 1, 2, -1}), {.size = {3, 4}, .mode = Interpolation::bilinear, .align_corners = "
      "true})",
      "F.interpolate({t0}.reshape(1, 1, 2, -1), size=(3, 4), mode='bilinear', align_corners=True)", even,
      [](const A& a) {
        return interpolate(a.t[0].reshape({1, 1, 2, -1}),
                           {.size = {3, 4}, .mode = Interpolation::bilinear, .align_corners = true});
      });
  table.add("interpolate({t0}.reshape({1, 1, -1}), {.scale_factor = 2})",
            "F.interpolate({t0}.reshape(1, 1, -1), scale_factor=2)", sized(1, 10), [](const A& a) {
              return interpolate(a.t[0].reshape({1, 1, -1}), {.scale_factor = 2});
            });
}

}  // namespace tapegrad::tests
