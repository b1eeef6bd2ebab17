// Reductions, scans along an axis, order, sets, segments.
#include "families.h"

namespace {

using Reduced = Tensor (*)(const Tensor&, const tg::Axes&, tg::Flag);
using ReducedTo = Tensor (*)(const Tensor&, const tg::Axes&, tg::Flag, tg::DType);
using Along = Tensor (*)(const Tensor&, int64_t);
using AlongTo = Tensor (*)(const Tensor&, int64_t, tg::DType);

// Functions of axes, and those along an axis, which take the type of the result, too.
void typed(Calls& on, const char* name, Reduced f, ReducedTo to) {
  on[name] = [=](Case& c) -> TV {
    if (c.has("dtype")) return {to(c.x[0], c.axes(), c.b("keepdim"), c.dtype())};
    return {f(c.x[0], c.axes(), c.b("keepdim"))};
  };
}
void typed(Calls& on, const char* name, Along f, AlongTo to) {
  on[name] = [=](Case& c) -> TV {
    if (c.has("dtype")) return {to(c.x[0], c.i("dim", -1), c.dtype())};
    return {f(c.x[0], c.i("dim", -1))};
  };
}

}  // namespace

void add_reduce() {
  Calls& on = calls();
  typed(on, "sum", Reduced(tg::sum), ReducedTo(tg::sum));
  typed(on, "mean", Reduced(tg::mean), ReducedTo(tg::mean));
  typed(on, "prod", Reduced(tg::prod), ReducedTo(tg::prod));
  typed(on, "cumsum", Along(tg::cumsum), AlongTo(tg::cumsum));
  typed(on, "cumprod", Along(tg::cumprod), AlongTo(tg::cumprod));
  typed(on, "softmax", Along(tg::softmax), AlongTo(tg::softmax));
  typed(on, "log_softmax", Along(tg::log_softmax), AlongTo(tg::log_softmax));
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
