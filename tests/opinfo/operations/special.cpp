// Special functions.
#include "families.h"

void add_special() {
  Calls& on = calls();
  one(on, "lgamma", tg::lgamma);
  one(on, "digamma", tg::digamma);
  one(on, "erfc", tg::erfc);
  one(on, "erfinv", tg::erfinv);
  one(on, "i0", tg::i0);
  one(on, "i1", tg::i1);
  one(on, "i0e", tg::i0e);
  one(on, "i1e", tg::i1e);
  two(on, "igamma", tg::igamma);
  two(on, "igammac", tg::igammac);
  on["polygamma"] = [](Case& c) -> TV { return {tg::polygamma(c.i("n"), c.x[0])}; };
}
