// Convolution, pooling, interpolation, grids, patches.
#include "families.h"

using Sizes = tg::PerAxis<int64_t>;

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

namespace {

// Each operation in one, two and three spatial axes: `name` is followed by 1d, 2d, 3d.
template <class F>
void of_ranks(Calls& on, const std::string& name, const std::vector<F>& functions, const auto& call) {
  for (size_t k = 0; k < functions.size(); ++k)
    on[name + std::to_string(k + 1) + "d"] = [f = functions[k], call](Case& c) -> TV { return call(f, c); };
}

void add_convolution(Calls& on) {
  of_ranks(on, "conv", std::vector{tg::conv1d, tg::conv2d, tg::conv3d},
           [](auto f, Case& c) -> TV { return {f(c.x[0], c.x[1], c.at(2), conv_options(c))}; });
  of_ranks(on, "conv_transpose", std::vector{tg::conv_transpose1d, tg::conv_transpose2d, tg::conv_transpose3d},
           [](auto f, Case& c) -> TV { return {f(c.x[0], c.x[1], c.at(2), conv_transpose_options(c))}; });
}

void add_pooling(Calls& on) {
  using Max = Tensor (*)(const Tensor&, const Sizes&, const tg::MaxPoolOptions&);
  using MaxIndices = tg::MaxPooled (*)(const Tensor&, const Sizes&, const tg::MaxPoolOptions&);
  const std::vector<std::pair<Max, MaxIndices>> max{{tg::max_pool1d, tg::max_pool1d_with_indices},
                                                    {tg::max_pool2d, tg::max_pool2d_with_indices},
                                                    {tg::max_pool3d, tg::max_pool3d_with_indices}};
  of_ranks(on, "max_pool", max, [](auto f, Case& c) -> TV {
    const Sizes kernel = c.per_axis("kernel_size");
    if (c.b("return_indices")) return pair(f.second(c.x[0], kernel, max_pool_options(c)));
    return {f.first(c.x[0], kernel, max_pool_options(c))};
  });
  of_ranks(on, "avg_pool", std::vector{tg::avg_pool1d, tg::avg_pool2d, tg::avg_pool3d},
           [](auto f, Case& c) -> TV { return {f(c.x[0], c.per_axis("kernel_size"), avg_pool_options(c))}; });
  of_ranks(on, "adaptive_avg_pool",
           std::vector{tg::adaptive_avg_pool1d, tg::adaptive_avg_pool2d, tg::adaptive_avg_pool3d},
           [](auto f, Case& c) -> TV { return {f(c.x[0], c.per_axis("output_size"))}; });
  using Adaptive = Tensor (*)(const Tensor&, const Sizes&);
  using AdaptiveIndices = tg::MaxPooled (*)(const Tensor&, const Sizes&);
  const std::vector<std::pair<Adaptive, AdaptiveIndices>> adaptive{
      {tg::adaptive_max_pool1d, tg::adaptive_max_pool1d_with_indices},
      {tg::adaptive_max_pool2d, tg::adaptive_max_pool2d_with_indices},
      {tg::adaptive_max_pool3d, tg::adaptive_max_pool3d_with_indices}};
  of_ranks(on, "adaptive_max_pool", adaptive, [](auto f, Case& c) -> TV {
    if (c.b("return_indices")) return pair(f.second(c.x[0], c.per_axis("output_size")));
    return {f.first(c.x[0], c.per_axis("output_size"))};
  });
}

// The value under its name in PyTorch; an Error for other names.
template <class Enum>
Enum named(const std::map<std::string, Enum>& values, const std::string& name) {
  const auto found = values.find(name);
  if (found == values.end()) tg::fail("bridge", "no value has the name " + name);
  return found->second;
}

tg::InterpolateOptions interpolate_options(const Case& c) {
  using Mode = tg::Interpolation;
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
  o.mode = named<Mode>({{"nearest", Mode::nearest},
                        {"nearest-exact", Mode::nearest_exact},
                        {"linear", Mode::linear},
                        {"bilinear", Mode::bilinear},
                        {"trilinear", Mode::trilinear},
                        {"bicubic", Mode::bicubic},
                        {"area", Mode::area}},
                       c.s("mode", "nearest"));
  o.align_corners = c.b("align_corners");
  o.antialias = c.b("antialias");
  o.recompute_scale_factor = c.b("recompute_scale_factor");
  return o;
}

void add_grids(Calls& on) {
  on["interpolate"] = [](Case& c) -> TV { return {tg::interpolate(c.x[0], interpolate_options(c))}; };
  on["grid_sample"] = [](Case& c) -> TV {
    using Mode = tg::GridMode;
    using Outside = tg::GridPadding;
    const tg::GridSampleOptions o{
        named<Mode>({{"bilinear", Mode::bilinear}, {"nearest", Mode::nearest}, {"bicubic", Mode::bicubic}},
                    c.s("mode", "bilinear")),
        named<Outside>({{"zeros", Outside::zeros}, {"border", Outside::border}, {"reflection", Outside::reflection}},
                       c.s("padding_mode", "zeros")),
        c.b("align_corners")};
    return {tg::grid_sample(c.x[0], c.x[1], o)};
  };
  on["affine_grid"] = [](Case& c) -> TV {
    return {tg::affine_grid(c.x[0], tg::Shape(c.dims("size")), c.b("align_corners"))};
  };
}

tg::FoldOptions fold_options(const Case& c) {
  return {c.per_axis("dilation", 1), c.per_axis("padding", 0), c.per_axis("stride", 1)};
}

void add_patches(Calls& on) {
  on["unfold2d"] = [](Case& c) -> TV { return {tg::unfold2d(c.x[0], c.per_axis("kernel_size"), fold_options(c))}; };
  on["fold2d"] = [](Case& c) -> TV {
    return {tg::fold2d(c.x[0], c.per_axis("output_size"), c.per_axis("kernel_size"), fold_options(c))};
  };
  on["pixel_shuffle"] = [](Case& c) -> TV { return {tg::pixel_shuffle(c.x[0], c.i("factor"))}; };
  on["pixel_unshuffle"] = [](Case& c) -> TV { return {tg::pixel_unshuffle(c.x[0], c.i("factor"))}; };
  on["channel_shuffle"] = [](Case& c) -> TV { return {tg::channel_shuffle(c.x[0], c.i("groups"))}; };
}

}  // namespace

void add_image() {
  Calls& on = calls();
  add_convolution(on);
  add_pooling(on);
  add_grids(on);
  add_patches(on);
}
