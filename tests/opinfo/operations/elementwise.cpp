// Elementwise operations with options that checks/cases names otherwise, or whose first argument is no constant here.
#include "families.h"

void add_elementwise() {
  Calls& on = calls();
  one(on, "ones_like", tg::ones_like);
  one(on, "zeros_like", tg::zeros_like);
  two(on, "igamma", tg::igamma);
  two(on, "igammac", tg::igammac);
  on["gelu"] = [](Case& c) -> TV {
    return {tg::gelu(c.x[0], c.s("approximate", "none") == "tanh" ? tg::Gelu::tanh : tg::Gelu::erf)};
  };
  on["dropout"] = [](Case& c) -> TV { return {tg::dropout(c.x[0], c.d("p"), c.b("training", true))}; };
}
