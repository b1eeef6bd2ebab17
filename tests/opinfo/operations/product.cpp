// Products and linear algebra. Of factorizations, what does not depend on signs.
#include "families.h"

namespace {

tg::AddProductOptions factors(const Case& c) { return {.beta = c.d("beta", 1), .alpha = c.d("alpha", 1)}; }

void add_products(Calls& on) {
  two(on, "matmul", tg::matmul);
  two(on, "bmm", tg::bmm);
  two(on, "mv", tg::mv);
  two(on, "dot", tg::dot);
  two(on, "outer", tg::outer);
  two(on, "kron", tg::kron);
  on["linear"] = [](Case& c) -> TV { return {tg::linear(c.x[0], c.x[1], c.at(2))}; };
  on["einsum"] = [](Case& c) -> TV { return {tg::einsum(c.s("equation"), all_of(c))}; };
  on["tensordot"] = [](Case& c) -> TV {
    return {c.has("count") ? tg::tensordot(c.x[0], c.x[1], c.i("count"))
                           : tg::tensordot(c.x[0], c.x[1], c.axes("a"), c.axes("b"))};
  };
  on["addmm"] = [](Case& c) -> TV { return {tg::addmm(c.x[0], c.x[1], c.x[2], factors(c))}; };
  on["baddbmm"] = [](Case& c) -> TV { return {tg::baddbmm(c.x[0], c.x[1], c.x[2], factors(c))}; };
  on["cross"] = [](Case& c) -> TV { return {tg::cross(c.x[0], c.x[1], c.i("dim", -1))}; };
}

void add_linalg(Calls& on) {
  two(on, "solve", tg::solve);
  two(on, "lstsq", tg::lstsq);
  one(on, "inverse", tg::inverse);
  one(on, "det", tg::det);
  one(on, "svdvals", tg::svdvals);
  on["triangular_solve"] = [](Case& c) -> TV {
    return {tg::triangular_solve(
        c.x[0], c.x[1], {.upper = c.b("upper"), .left = c.b("left", true), .unitriangular = c.b("unitriangular")})};
  };
  on["cholesky"] = [](Case& c) -> TV { return {tg::cholesky(c.x[0], c.b("upper"))}; };
  on["slogdet"] = [](Case& c) -> TV {
    const tg::SignLogDet r = tg::slogdet(c.x[0]);
    return {r.sign, r.logabsdet};
  };
  on["logdet"] = [](Case& c) -> TV { return {tg::slogdet(c.x[0]).logabsdet}; };
  on["qr"] = [](Case& c) -> TV {
    const tg::Qr r = tg::qr(c.x[0], c.s("mode", "reduced") == "complete" ? tg::QrMode::complete : tg::QrMode::reduced);
    return {r.q, r.r};
  };
  on["eigvalsh"] = [](Case& c) -> TV { return {tg::eigvalsh(c.b("upper") ? c.x[0].t() : c.x[0])}; };
  on["eigh"] = [](Case& c) -> TV {
    const tg::Eigh r = tg::eigh(c.b("upper") ? c.x[0].t() : c.x[0]);
    return {r.values, tg::matmul(r.vectors * tg::sin(r.values).unsqueeze(-2), r.vectors.t())};
  };
  on["svd"] = [](Case& c) -> TV {
    const tg::Svd r = tg::svd(c.x[0], c.b("full_matrices"));
    const int64_t k = r.s.size(-1);
    return {r.s, tg::matmul(tg::narrow(r.u, -1, 0, k) * tg::sin(r.s).unsqueeze(-2), tg::narrow(r.vh, -2, 0, k))};
  };
  on["svd_full"] = [](Case& c) -> TV {
    const tg::Svd r = tg::svd(c.x[0], true);
    return {tg::abs(tg::matmul(r.u.t(), r.u)), tg::abs(tg::matmul(r.vh, r.vh.t())), r.s};
  };
  on["pinv"] = [](Case& c) -> TV { return {tg::pinv(c.x[0], c.d("rcond", -1))}; };
  on["matrix_power"] = [](Case& c) -> TV { return {tg::matrix_power(c.x[0], c.i("n"))}; };
}

}  // namespace

void add_product() {
  Calls& on = calls();
  add_products(on);
  add_linalg(on);
}
