// Convolution, pooling, interpolation.
#include "families.h"

tg::ConvOptions conv_options(const Case& c) {
  tg::ConvOptions o;
  o.stride = c.per_axis("stride", 1);
  if (c.texts.count("padding"))
    o.padding = c.s("padding") == "same" ? tg::Padding::same : tg::Padding::valid;
  else
    o.padding = c.per_axis("padding", 0);
  o.dilation = c.per_axis("dilation", 1);
  o.groups = c.i("groups", 1);
  return o;
}

namespace {

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

void add_convolution(Calls& on) {
  on["conv1d"] = [](Case& c) -> TV { return {tg::conv1d(c.x[0], c.x[1], c.at(2), conv_options(c))}; };
  on["conv2d"] = [](Case& c) -> TV { return {tg::conv2d(c.x[0], c.x[1], c.at(2), conv_options(c))}; };
  on["conv_transpose1d"] = [](Case& c) -> TV {
    return {tg::conv_transpose1d(c.x[0], c.x[1], c.at(2), conv_transpose_options(c))};
  };
  on["conv_transpose2d"] = [](Case& c) -> TV {
    return {tg::conv_transpose2d(c.x[0], c.x[1], c.at(2), conv_transpose_options(c))};
  };
}

void add_pooling(Calls& on) {
  on["max_pool1d"] = [](Case& c) -> TV {
    if (c.b("return_indices"))
      return pair(tg::max_pool1d_with_indices(c.x[0], c.per_axis("kernel_size"), max_pool_options(c)));
    return {tg::max_pool1d(c.x[0], c.per_axis("kernel_size"), max_pool_options(c))};
  };
  on["max_pool2d"] = [](Case& c) -> TV {
    if (c.b("return_indices"))
      return pair(tg::max_pool2d_with_indices(c.x[0], c.per_axis("kernel_size"), max_pool_options(c)));
    return {tg::max_pool2d(c.x[0], c.per_axis("kernel_size"), max_pool_options(c))};
  };
  on["avg_pool1d"] = [](Case& c) -> TV {
    return {tg::avg_pool1d(c.x[0], c.per_axis("kernel_size"), avg_pool_options(c))};
  };
  on["avg_pool2d"] = [](Case& c) -> TV {
    return {tg::avg_pool2d(c.x[0], c.per_axis("kernel_size"), avg_pool_options(c))};
  };
  on["adaptive_avg_pool1d"] = [](Case& c) -> TV {
    return {tg::adaptive_avg_pool1d(c.x[0], c.per_axis("output_size"))};
  };
  on["adaptive_avg_pool2d"] = [](Case& c) -> TV {
    return {tg::adaptive_avg_pool2d(c.x[0], c.per_axis("output_size"))};
  };
  on["adaptive_max_pool1d"] = [](Case& c) -> TV {
    if (c.b("return_indices")) return pair(tg::adaptive_max_pool1d_with_indices(c.x[0], c.per_axis("output_size")));
    return {tg::adaptive_max_pool1d(c.x[0], c.per_axis("output_size"))};
  };
  on["adaptive_max_pool2d"] = [](Case& c) -> TV {
    if (c.b("return_indices")) return pair(tg::adaptive_max_pool2d_with_indices(c.x[0], c.per_axis("output_size")));
    return {tg::adaptive_max_pool2d(c.x[0], c.per_axis("output_size"))};
  };
  on["interpolate"] = [](Case& c) -> TV {
    tg::InterpolateOptions o;
    o.size = c.per_axis("size");
    if (c.doubles.count("scale_factor")) {
      const Doubles& v = c.doubles.at("scale_factor");
      if (v.size() == 1)
        o.scale_factor = v[0];
      else if (v.size() == 2)
        o.scale_factor = {v[0], v[1]};
      else
        o.scale_factor = {v[0], v[1], v[2]};
    }
    const std::string m = c.s("mode", "nearest");
    o.mode = m == "nearest"  ? tg::Interpolation::nearest
             : m == "linear" ? tg::Interpolation::linear
                             : tg::Interpolation::bilinear;
    o.align_corners = c.b("align_corners");
    return {tg::interpolate(c.x[0], o)};
  };
}

}  // namespace

void add_image() {
  Calls& on = calls();
  add_convolution(on);
  add_pooling(on);
}
