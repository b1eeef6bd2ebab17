// Reductions, scans along an axis, order, sets, segments.
#include "families.h"

namespace {

void add_reductions(Calls& on) {
  of_axes(on, "amax", tg::amax);
  of_axes(on, "amin", tg::amin);
  of_axes(on, "logsumexp", tg::logsumexp);
  of_axes(on, "count_nonzero", tg::count_nonzero);
  on["sum"] = [](Case& c) -> TV {
    return {c.has("dtype") ? tg::sum(c.x[0], c.axes(), c.b("keepdim"), c.dtype())
                           : tg::sum(c.x[0], c.axes(), c.b("keepdim"))};
  };
  on["mean"] = [](Case& c) -> TV {
    return {c.has("dtype") ? tg::mean(c.x[0], c.axes(), c.b("keepdim"), c.dtype())
                           : tg::mean(c.x[0], c.axes(), c.b("keepdim"))};
  };
  on["prod"] = [](Case& c) -> TV {
    return {c.has("dtype") ? tg::prod(c.x[0], c.axes(), c.b("keepdim"), c.dtype())
                           : tg::prod(c.x[0], c.axes(), c.b("keepdim"))};
  };
  on["var"] = [](Case& c) -> TV { return {tg::var(c.x[0], c.axes(), c.b("keepdim"), c.d("correction", 1))}; };
  on["std"] = [](Case& c) -> TV { return {tg::std(c.x[0], c.axes(), c.b("keepdim"), c.d("correction", 1))}; };
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
  on["norm"] = [](Case& c) -> TV { return {tg::norm(c.x[0], c.d("p", 2), c.axes(), c.b("keepdim"))}; };
  on["cdist"] = [](Case& c) -> TV { return {tg::cdist(c.x[0], c.x[1], c.d("p", 2))}; };
  on["normalize"] = [](Case& c) -> TV {
    return {tg::normalize(c.x[0], c.d("p", 2), c.i("dim", 1), c.d("eps", 1e-12))};
  };
  on["pairwise_distance"] = [](Case& c) -> TV {
    return {tg::pairwise_distance(c.x[0], c.x[1], c.d("p", 2), c.d("eps", 1e-6), c.b("keepdim"))};
  };
  on["cosine_similarity"] = [](Case& c) -> TV {
    return {tg::cosine_similarity(c.x[0], c.x[1], c.i("dim", 1), c.d("eps", 1e-8))};
  };
  on["sum_to"] = [](Case& c) -> TV { return {tg::sum_to(c.x[0], c.dims("size"))}; };
}

void add_scans(Calls& on) {
  on["cumsum"] = [](Case& c) -> TV {
    return {c.has("dtype") ? tg::cumsum(c.x[0], c.i("dim"), c.dtype()) : tg::cumsum(c.x[0], c.i("dim"))};
  };
  on["cumprod"] = [](Case& c) -> TV {
    return {c.has("dtype") ? tg::cumprod(c.x[0], c.i("dim"), c.dtype()) : tg::cumprod(c.x[0], c.i("dim"))};
  };
  on["logcumsumexp"] = [](Case& c) -> TV { return {tg::logcumsumexp(c.x[0], c.i("dim"))}; };
  on["cummax"] = [](Case& c) -> TV { return pair(tg::cummax(c.x[0], c.i("dim"))); };
  on["cummin"] = [](Case& c) -> TV { return pair(tg::cummin(c.x[0], c.i("dim"))); };
  on["softmax"] = [](Case& c) -> TV {
    return {c.has("dtype") ? tg::softmax(c.x[0], c.i("dim", -1), c.dtype()) : tg::softmax(c.x[0], c.i("dim", -1))};
  };
  on["log_softmax"] = [](Case& c) -> TV {
    return {c.has("dtype") ? tg::log_softmax(c.x[0], c.i("dim", -1), c.dtype())
                           : tg::log_softmax(c.x[0], c.i("dim", -1))};
  };
}

TV quantile(Case& c, bool nan) {
  static const std::map<std::string, tg::QuantileMode> kModes{{"linear", tg::QuantileMode::linear},
                                                              {"lower", tg::QuantileMode::lower},
                                                              {"higher", tg::QuantileMode::higher},
                                                              {"midpoint", tg::QuantileMode::midpoint},
                                                              {"nearest", tg::QuantileMode::nearest}};
  const tg::QuantileMode mode = kModes.at(c.s("interpolation", "linear"));
  const tg::Flag keepdim = c.b("keepdim");
  if (c.at(1).defined())
    return {nan ? tg::nanquantile(c.x[0], c.x[1], c.oi("dim"), keepdim, mode)
                : tg::quantile(c.x[0], c.x[1], c.oi("dim"), keepdim, mode)};
  const double q = c.d("q");
  return {nan ? tg::nanquantile(c.x[0], q, c.oi("dim"), keepdim, mode)
              : tg::quantile(c.x[0], q, c.oi("dim"), keepdim, mode)};
}

void add_order(Calls& on) {
  on["argmax"] = [](Case& c) -> TV {
    return {c.has("dim") ? tg::argmax(c.x[0], c.i("dim"), c.b("keepdim")) : tg::argmax(c.x[0], c.b("keepdim"))};
  };
  on["argmin"] = [](Case& c) -> TV {
    return {c.has("dim") ? tg::argmin(c.x[0], c.i("dim"), c.b("keepdim")) : tg::argmin(c.x[0], c.b("keepdim"))};
  };
  on["max"] = [](Case& c) -> TV {
    if (c.has("dim")) return pair(tg::max(c.x[0], c.i("dim"), c.b("keepdim")));
    return {tg::max(c.x[0])};
  };
  on["min"] = [](Case& c) -> TV {
    if (c.has("dim")) return pair(tg::min(c.x[0], c.i("dim"), c.b("keepdim")));
    return {tg::min(c.x[0])};
  };
  on["median"] = [](Case& c) -> TV {
    if (c.has("dim")) return pair(tg::median(c.x[0], c.i("dim"), c.b("keepdim")));
    return {tg::median(c.x[0])};
  };
  on["sort"] = [](Case& c) -> TV { return pair(tg::sort(c.x[0], c.i("dim", -1), c.b("descending"))); };
  on["argsort"] = [](Case& c) -> TV { return {tg::argsort(c.x[0], c.i("dim", -1), c.b("descending"))}; };
  on["msort"] = [](Case& c) -> TV { return {tg::sort(c.x[0], 0).values}; };
  on["topk"] = [](Case& c) -> TV { return pair(tg::topk(c.x[0], c.i("k"), c.i("dim", -1), c.b("largest", true))); };
  on["quantile"] = [](Case& c) -> TV { return quantile(c, false); };
  on["nanquantile"] = [](Case& c) -> TV { return quantile(c, true); };
}

void add_sets(Calls& on) {
  on["unique"] = [](Case& c) -> TV {
    const tg::Unique u = tg::unique(c.x[0]);
    return {u.values, u.inverse, u.counts};
  };
  on["unique_consecutive"] = [](Case& c) -> TV {
    const tg::Unique u = tg::unique_consecutive(c.x[0]);
    return {u.values, u.inverse, u.counts};
  };
  on["bincount"] = [](Case& c) -> TV {
    if (c.at(1).defined()) return {tg::bincount(c.x[0], c.x[1], c.i("minimum", 0))};
    return {tg::bincount(c.x[0], c.i("minimum", 0))};
  };
  on["searchsorted"] = [](Case& c) -> TV { return {tg::searchsorted(c.x[0], c.x[1], c.b("right"))}; };
  on["bucketize"] = [](Case& c) -> TV { return {tg::bucketize(c.x[0], c.x[1], c.b("right"))}; };
  on["isin"] = [](Case& c) -> TV { return {tg::isin(c.x[0], c.x[1], c.b("invert"))}; };
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

void add_segments(Calls& on) {
  on["segment_sum"] = [](Case& c) -> TV { return {tg::segment_sum(c.x[0], c.x[1], c.i("segments"))}; };
  on["segment_mean"] = [](Case& c) -> TV { return {tg::segment_mean(c.x[0], c.x[1], c.i("segments"))}; };
  on["segment_max"] = [](Case& c) -> TV { return {tg::segment_max(c.x[0], c.x[1], c.i("segments"))}; };
  on["segment_min"] = [](Case& c) -> TV { return {tg::segment_min(c.x[0], c.x[1], c.i("segments"))}; };
}

}  // namespace

void add_reduce() {
  Calls& on = calls();
  add_reductions(on);
  add_scans(on);
  add_order(on);
  add_sets(on);
  add_segments(on);
}
