// Elementwise operations with options that checks/cases names otherwise, or whose first argument is no constant here.
#include "families.h"

void add_elementwise() {
  Calls& on = calls();
  on["ones_like"] = [](Case& c) -> TV { return {tg::ones_like(c.x[0])}; };
  on["zeros_like"] = [](Case& c) -> TV { return {tg::zeros_like(c.x[0])}; };
  on["igamma"] = [](Case& c) -> TV { return {tg::igamma(c.x[0], c.x[1])}; };
  on["igammac"] = [](Case& c) -> TV { return {tg::igammac(c.x[0], c.x[1])}; };
  on["gelu"] = [](Case& c) -> TV {
    return {tg::gelu(c.x[0], c.s("approximate", "none") == "tanh" ? tg::Gelu::tanh : tg::Gelu::erf)};
  };
  on["dropout"] = [](Case& c) -> TV { return {tg::dropout(c.x[0], c.d("p"), c.b("training", true))}; };
}
