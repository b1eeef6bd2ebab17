// Linear algebra. Of factorizations, what does not depend on signs.
#include "families.h"

void add_product() {
  Calls& on = calls();
  on["slogdet"] = [](Case& c) -> TV {
    const tg::SignLogDet r = tg::slogdet(c.x[0]);
    return {r.sign, r.logabsdet};
  };
  on["logdet"] = [](Case& c) -> TV { return {tg::slogdet(c.x[0]).logabsdet}; };
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
}
