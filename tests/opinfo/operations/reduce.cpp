// Reductions with two results, and a histogram with edges or weights.
#include "families.h"

void add_reduce() {
  Calls& on = calls();
  on["var_mean"] = [](Case& c) -> TV {
    return {tg::var(c.x[0], c.axes(), c.b("keepdim"), c.d("correction", 1)),
            tg::mean(c.x[0], c.axes(), c.b("keepdim"))};
  };
  on["std_mean"] = [](Case& c) -> TV {
    return {tg::std(c.x[0], c.axes(), c.b("keepdim"), c.d("correction", 1)),
            tg::mean(c.x[0], c.axes(), c.b("keepdim"))};
  };
  on["aminmax"] = [](Case& c) -> TV {
    return {tg::amin(c.x[0], c.axes(), c.b("keepdim")), tg::amax(c.x[0], c.axes(), c.b("keepdim"))};
  };
  on["msort"] = [](Case& c) -> TV { return {tg::sort(c.x[0], 0).values}; };
  on["histogram"] = [](Case& c) -> TV {  // x, weights or none, edges or none
    tg::Histogram h;
    if (c.at(2).defined()) {
      h = tg::histogram(c.x[0], c.x[2], c.at(1));
    } else {
      std::optional<std::pair<double, double>> range;
      if (c.has("low")) range = {c.d("low"), c.d("high")};
      h = tg::histogram(c.x[0], c.i("bins"), range, c.at(1));
    }
    return {h.counts, h.edges};
  };
}
