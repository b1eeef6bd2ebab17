// Options of convolution and pooling, for modules.
#include "families.h"

tg::ConvOptions conv_options(const Case& c) {
  tg::ConvOptions o;
  o.stride = c.per_axis("stride", 1);
  if (c.has("padding") && c.attributes["padding"].is_string())
    o.padding = c.s("padding") == "same" ? tg::Padding::same : tg::Padding::valid;
  else
    o.padding = c.per_axis("padding", 0);
  o.dilation = c.per_axis("dilation", 1);
  o.groups = c.i("groups", 1);
  return o;
}
tg::ConvTransposeOptions conv_transpose_options(const Case& c) {
  return {c.per_axis("stride", 1), c.per_axis("padding", 0), c.per_axis("output_padding", 0), c.per_axis("dilation", 1),
          c.i("groups", 1)};
}
tg::MaxPoolOptions max_pool_options(const Case& c) {
  return {c.per_axis("stride"), c.per_axis("padding", 0), c.per_axis("dilation", 1), c.b("ceil_mode")};
}
tg::AvgPoolOptions avg_pool_options(const Case& c) {
  return {c.per_axis("stride"), c.per_axis("padding", 0), c.b("ceil_mode"), c.b("count_include_pad", true),
          c.oi("divisor_override")};
}
