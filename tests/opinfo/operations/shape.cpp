// Joining, cutting, views, new tensors, random tensors.
#include "families.h"

namespace {

tg::PadMode pad_mode(const std::string& name) {
  if (name == "constant" || name == "zeros") return tg::PadMode::constant;
  return name == "reflect"     ? tg::PadMode::reflect
         : name == "replicate" ? tg::PadMode::replicate
                               : tg::PadMode::circular;
}

void add_joins(Calls& on) {
  on["broadcast_to"] = [](Case& c) -> TV { return {tg::broadcast_to(c.x[0], c.dims("shape"))}; };
  on["broadcast_tensors"] = [](Case& c) -> TV {
    tg::Shape s;
    for (const Tensor& x : c.x) s = tg::broadcast("broadcast", s, x.shape());
    TV y;
    for (const Tensor& x : c.x) y.push_back(x.expand(s));
    return y;
  };
  on["roll"] = [](Case& c) -> TV {
    return {c.has("shift") ? tg::roll(c.x[0], c.i("shift"), c.oi("dim"))
                           : tg::roll(c.x[0], c.dims("shifts"), c.axes("dims"))};
  };
  on["pad"] = [](Case& c) -> TV {
    return {tg::pad(c.x[0], c.list("pad"), pad_mode(c.s("mode", "constant")), c.d("value", 0))};
  };
  on["meshgrid"] = [](Case& c) -> TV {
    return tg::meshgrid(all_of(c), c.s("indexing", "ij") == "ij" ? tg::MeshIndexing::ij : tg::MeshIndexing::xy);
  };
}

void add_views(Calls& on) {
  on["diag"] = [](Case& c) -> TV { return {tg::diag(c.x[0], c.i("diagonal", 0))}; };
  on["flatten"] = [](Case& c) -> TV { return {c.x[0].flatten(c.i("start_dim", 0), c.i("end_dim", -1))}; };
  on["clone"] = [](Case& c) -> TV { return {c.x[0].clone()}; };
  on["to"] = [](Case& c) -> TV { return {c.x[0].to(c.dtype())}; };
}

void add_creation(Calls& on) {
  on["item"] = [](Case& c) -> TV { return {tg::full({}, c.x[0].item(), tg::kFloat64)}; };
  on["full_like"] = [](Case& c) -> TV { return {tg::full_like(c.x[0], c.d("value"))}; };
  on["full"] = [](Case& c) -> TV { return {tg::full(c.dims("size"), c.d("value"), c.dtype())}; };
  on["arange"] = [](Case& c) -> TV { return {tg::arange(c.d("start"), c.d("end"), c.d("step", 1), c.dtype())}; };
  on["linspace"] = [](Case& c) -> TV { return {tg::linspace(c.d("start"), c.d("end"), c.i("steps"), c.dtype())}; };
  on["eye"] = [](Case& c) -> TV { return {tg::eye(c.i("n"), c.dtype())}; };
  on["randn"] = [](Case& c) -> TV { return {tg::randn(c.dims("size"), c.dtype())}; };
  on["rand"] = [](Case& c) -> TV { return {tg::rand(c.dims("size"), c.dtype())}; };
  on["randint"] = [](Case& c) -> TV { return {tg::randint(c.i("low"), c.i("high"), c.dims("size"))}; };
  on["normal"] = [](Case& c) -> TV { return {tg::normal(c.dims("size"), c.d("mean"), c.d("std"), c.dtype())}; };
  on["bernoulli"] = [](Case& c) -> TV { return {tg::bernoulli(c.x[0])}; };
  on["multinomial"] = [](Case& c) -> TV { return {tg::multinomial(c.x[0], c.i("num_samples"), c.b("replacement"))}; };
  on["uniform"] = [](Case& c) -> TV { return {tg::uniform(c.dims("size"), c.d("from"), c.d("to"), c.dtype())}; };
  on["exponential"] = [](Case& c) -> TV { return {tg::exponential(c.dims("size"), c.d("rate"), c.dtype())}; };
}

}  // namespace

void add_shape() {
  Calls& on = calls();
  add_joins(on);
  add_views(on);
  add_creation(on);
}
