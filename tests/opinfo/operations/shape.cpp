// Broadcasting, rolls, new tensors, random tensors.
#include "families.h"

namespace {

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
}

void add_creation(Calls& on) {
  on["clone"] = [](Case& c) -> TV { return {c.x[0].clone()}; };
  on["item"] = [](Case& c) -> TV { return {tg::full({}, c.x[0].item(), tg::kFloat64)}; };
  on["full_like"] = [](Case& c) -> TV { return {tg::full_like(c.x[0], c.d("value"))}; };
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
  add_creation(on);
}
