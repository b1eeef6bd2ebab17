// Cases of pooling and interpolation.
#include <fmt/format.h>
#include <tapegrad/checks/cases/case.h>
#include <tapegrad/tapegrad.h>

namespace tapegrad::tasks {
namespace {

MaxPoolOptions max_options(const json& args) {
  return {.stride = per_axis(args, "stride"),
          .padding = per_axis(args, "padding", 0),
          .dilation = per_axis(args, "dilation", 1),
          .ceil_mode = args.value("ceil_mode", false)};
}

AvgPoolOptions avg_options(const json& args) {
  return {.stride = per_axis(args, "stride"),
          .padding = per_axis(args, "padding", 0),
          .ceil_mode = args.value("ceil_mode", false),
          .count_include_pad = args.value("count_include_pad", true),
          .divisor_override =
              args.contains("divisor_override") ? std::optional(integer(args, "divisor_override")) : std::nullopt};
}

Interpolation mode(const json& args) {
  const std::string wanted = args.value("mode", "nearest");
  return wanted == "nearest-exact" ? Interpolation::nearest_exact
         : wanted == "linear"      ? Interpolation::linear
         : wanted == "bilinear"    ? Interpolation::bilinear
         : wanted == "trilinear"   ? Interpolation::trilinear
         : wanted == "bicubic"     ? Interpolation::bicubic
         : wanted == "area"        ? Interpolation::area
                                   : Interpolation::nearest;
}

void add_pool_calls(CaseTable& t) {
  const auto pooled = [&](const char* name, auto f, auto options) {
    t.call(name, [=](const Inputs& x, const json& args) -> Outputs {
      return outputs(f(x[0], per_axis(args, "kernel_size"), options(args)));
    });
  };
  pooled("max_pool1d", max_pool1d, max_options);
  pooled("max_pool2d", max_pool2d, max_options);
  pooled("max_pool3d", max_pool3d, max_options);
  pooled("max_pool1d_with_indices", max_pool1d_with_indices, max_options);
  pooled("max_pool2d_with_indices", max_pool2d_with_indices, max_options);
  pooled("max_pool3d_with_indices", max_pool3d_with_indices, max_options);
  pooled("avg_pool1d", avg_pool1d, avg_options);
  pooled("avg_pool2d", avg_pool2d, avg_options);
  pooled("avg_pool3d", avg_pool3d, avg_options);
  const auto adaptive = [&](const char* name, auto f) {
    t.call(name, [f](const Inputs& x, const json& args) -> Outputs {
      return outputs(f(x[0], per_axis(args, "output_size")));
    });
  };
  adaptive("adaptive_avg_pool1d", adaptive_avg_pool1d);
  adaptive("adaptive_avg_pool2d", adaptive_avg_pool2d);
  adaptive("adaptive_avg_pool3d", adaptive_avg_pool3d);
  adaptive("adaptive_max_pool1d", adaptive_max_pool1d);
  adaptive("adaptive_max_pool2d", adaptive_max_pool2d);
  adaptive("adaptive_max_pool3d", adaptive_max_pool3d);
  adaptive("adaptive_max_pool1d_with_indices", adaptive_max_pool1d_with_indices);
  adaptive("adaptive_max_pool2d_with_indices", adaptive_max_pool2d_with_indices);
  adaptive("adaptive_max_pool3d_with_indices", adaptive_max_pool3d_with_indices);
  t.call("interpolate", [](auto& x, auto& args) {
    return interpolate(x[0], {.size = per_axis(args, "size"),
                              .scale_factor = per_axis<double>(args, "scale_factor"),
                              .mode = mode(args),
                              .align_corners = args.value("align_corners", false),
                              .antialias = args.value("antialias", false),
                              .recompute_scale_factor = args.value("recompute_scale_factor", false)});
  });
}

// Images [2, 2, h, w] in every layout, and one without the axis N.
std::vector<LaidOut> images(int64_t h, int64_t w) {
  return {{"contiguous", spread({2, 2, h, w})},
          {"transposed", spread({2, 2, w, h}).t()},
          {"channels last", spread({2, h, w, 2}).permute({0, 3, 1, 2})},
          {"every second column", spread({2, 2, h, 2 * w}).slice(3, 0, kAll, 2)},
          {"reversed rows", spread({2, 2, h, w}).slice(2, kAll, kAll, -1)},
          {"one image", spread({2, h, w})},
          {"no image", spread({0, 2, h, w})},
          {"no channel", spread({2, 0, h, w})}};
}

std::vector<LaidOut> signals(int64_t l) {
  return {{"contiguous", spread({2, 2, l})},
          {"transposed", spread({2, l, 2}).t()},
          {"every second", spread({2, 2, 2 * l}).slice(2, 0, kAll, 2)},
          {"one signal", spread({2, l})},
          {"no signal", spread({0, 2, l})}};
}

void add_pools(CaseTable& t) {
  const auto of_images = [&](const char* op, const std::string& label, int64_t h, int64_t w, const json& args) {
    for (const LaidOut& image : images(h, w)) t.add(op, label + ", " + image.label, {image.x}, args);
  };
  const auto of_signals = [&](const char* op, const std::string& label, int64_t l, const json& args) {
    for (const LaidOut& signal : signals(l)) t.add(op, label + ", " + signal.label, {signal.x}, args);
  };
  of_images("max_pool2d", "2 by 2", 4, 5, {{"kernel_size", 2}});
  of_images("max_pool2d", "padded, with strides", 5, 4, {{"kernel_size", {3, 2}}, {"stride", {2, 1}}, {"padding", 1}});
  of_images("max_pool2d", "dilated, ceil_mode", 5, 6,
            {{"kernel_size", 2}, {"stride", 3}, {"dilation", {1, 2}}, {"ceil_mode", true}});
  of_signals("max_pool1d", "of 3", 7, {{"kernel_size", 3}, {"stride", 2}});
  of_signals("max_pool1d", "padded", 37, {{"kernel_size", 3}, {"stride", 1}, {"padding", 1}, {"dilation", 2}});
  of_images("adaptive_max_pool2d", "to 2 by 3", 5, 4, {{"output_size", {2, 3}}});
  of_images("adaptive_max_pool2d", "to 1", 3, 2, {{"output_size", 1}});
  of_signals("adaptive_max_pool1d", "to 3", 7, {{"output_size", 3}});
  of_images("avg_pool2d", "2 by 2", 4, 5, {{"kernel_size", 2}});
  of_images("avg_pool2d", "padded, with strides", 5, 4,
            {{"kernel_size", {3, 2}}, {"stride", {2, 1}}, {"padding", 1}, {"count_include_pad", false}});
  of_images("avg_pool2d", "ceil_mode", 5, 6,
            {{"kernel_size", 3}, {"stride", 2}, {"padding", {1, 0}}, {"ceil_mode", true}});
  of_images("avg_pool2d", "divisor", 4, 3,
            {{"kernel_size", 2}, {"stride", 3}, {"padding", 1}, {"divisor_override", 3}});
  of_signals("avg_pool1d", "of 3", 7, {{"kernel_size", 3}, {"stride", 2}});
  of_signals("avg_pool1d", "with gaps", 9, {{"kernel_size", 1}, {"stride", 2}});
  of_signals("avg_pool1d", "padded", 37, {{"kernel_size", 3}, {"stride", 1}, {"padding", 1}});
  of_images("adaptive_avg_pool2d", "to 2 by 3", 5, 4, {{"output_size", {2, 3}}});
  of_images("adaptive_avg_pool2d", "to 1 by 2", 3, 2, {{"output_size", {1, 2}}});
  of_images("adaptive_avg_pool2d", "to more", 3, 2, {{"output_size", {5, 4}}});
  of_signals("adaptive_avg_pool1d", "to 3", 7, {{"output_size", 3}});
}

// Volumes [1, 2, d, h, w] in several layouts, and one without the axis N.
std::vector<LaidOut> volumes(int64_t d, int64_t h, int64_t w) {
  return {{"contiguous", spread({1, 2, d, h, w})},
          {"channels last", spread({1, d, h, w, 2}).permute({0, 4, 1, 2, 3})},
          {"every second column", spread({1, 2, d, h, 2 * w}).slice(4, 0, kAll, 2)},
          {"reversed depths", spread({1, 2, d, h, w}).slice(2, kAll, kAll, -1)},
          {"one volume", spread({2, d, h, w})},
          {"no volume", spread({0, 2, d, h, w})},
          {"no channel", spread({1, 0, d, h, w})}};
}

void add_volume_pools(CaseTable& t) {
  const auto of_volumes = [&](const char* op, const std::string& label, const Shape& size, const json& args) {
    for (const LaidOut& volume : volumes(size[0], size[1], size[2])) {
      t.add(op, label + ", " + volume.label, {volume.x}, args);
    }
  };
  const json mixed{{"kernel_size", {2, 3, 2}}, {"stride", {1, 2, 1}}, {"padding", {1, 1, 0}}};
  const json dilated{{"kernel_size", 2}, {"stride", 2}, {"dilation", {2, 1, 1}}, {"ceil_mode", true}};
  of_volumes("max_pool3d", "of 2", {2, 2, 4}, {{"kernel_size", 2}});
  of_volumes("max_pool3d", "padded, with strides", {3, 3, 2}, mixed);
  of_volumes("max_pool3d", "dilated, ceil_mode", {4, 3, 3}, dilated);
  of_volumes("adaptive_max_pool3d", "to 2 by 1 by 3", {3, 2, 4}, {{"output_size", {2, 1, 3}}});
  of_volumes("avg_pool3d", "of 2", {2, 2, 4}, {{"kernel_size", 2}});
  of_volumes("avg_pool3d", "padded, with strides", {3, 3, 2}, mixed);
  of_volumes("avg_pool3d", "without the padding", {3, 2, 2},
             {{"kernel_size", 2}, {"stride", 1}, {"padding", 1}, {"count_include_pad", false}});
  of_volumes("avg_pool3d", "divisor", {3, 3, 2}, {{"kernel_size", {3, 2, 1}}, {"divisor_override", 3}});
  of_volumes("adaptive_avg_pool3d", "to 2 by 1 by 3", {3, 2, 4}, {{"output_size", {2, 1, 3}}});
  of_volumes("adaptive_avg_pool3d", "to more depths", {2, 2, 3}, {{"output_size", {3, 2, 2}}});
}

void add_filters(CaseTable& t) {
  for (const char* mode : {"bilinear", "bicubic"}) {
    for (const auto& [h, w] : {std::pair<int64_t, int64_t>{5, 2}, {2, 7}, {1, 3}}) {
      for (const bool align : {false, true}) {
        for (const bool antialias : {false, true}) {
          if (std::string_view(mode) == "bilinear" && !antialias) continue;
          const std::string label =
              fmt::format("{} to {} by {}{}{}", mode, h, w, align ? ", aligned" : "", antialias ? ", antialiased" : "");
          const json args{{"size", {h, w}}, {"mode", mode}, {"align_corners", align}, {"antialias", antialias}};
          t.add("interpolate", label, {spread({2, 1, 3, 4})}, args);
          t.add("interpolate", label + ", transposed", {spread({1, 2, 5, 3}).t()}, args);
        }
      }
    }
  }
  for (const char* mode : {"nearest-exact", "area"}) {
    for (const double factor : {2.0, 0.6, 1.7}) {
      t.add("interpolate", fmt::format("{} by {}", mode, factor), {spread({2, 2, 5})},
            {{"scale_factor", factor}, {"mode", mode}});
      t.add("interpolate", fmt::format("{}, image by {}", mode, factor), {spread({1, 2, 3, 4}).t()},
            {{"scale_factor", factor}, {"mode", mode}, {"recompute_scale_factor", true}});
    }
  }
  for (const char* mode : {"nearest", "nearest-exact", "area", "trilinear"}) {
    for (const json& size : {json{3, 2, 4}, json{1, 3, 2}, json{2, 2, 5}}) {
      t.add("interpolate", fmt::format("{}, volume to {}", mode, size.dump()), {spread({1, 2, 2, 3, 2})},
            {{"size", size}, {"mode", mode}});
    }
  }
  t.add("interpolate", "trilinear, aligned", {spread({1, 2, 3, 2, 2}).t()},
        {{"scale_factor", 1.7}, {"mode", "trilinear"}, {"align_corners", true}});
}

void add_interpolations(CaseTable& t) {
  for (const std::string mode : {"nearest", "bilinear"}) {
    for (const auto& [h, w] : {std::pair<int64_t, int64_t>{6, 4}, {2, 7}, {3, 2}, {1, 1}}) {
      for (const bool align : {false, true}) {
        if (align && mode == "nearest") continue;
        for (const LaidOut& image : images(3, 4)) {
          if (image.x.dim() == 3) continue;
          t.add("interpolate", fmt::format("{} to {} by {}{}, {}", mode, h, w, align ? ", aligned" : "", image.label),
                {image.x}, {{"size", {h, w}}, {"mode", mode}, {"align_corners", align}});
        }
      }
    }
  }
  for (const char* mode : {"nearest", "linear"}) {
    for (const double factor : {2.0, 0.6, 1.7}) {
      t.add("interpolate", fmt::format("{} by {}", mode, factor), {spread({2, 2, 5})},
            {{"scale_factor", factor}, {"mode", mode}});
    }
  }
  t.add("interpolate", "doubled, long", {spread({1, 1, 19})}, {{"scale_factor", 2}});
}

void add_pool_rules(CaseTable& t) {
  const DrawRule signal = sized(2, 12), image = sized(4, 16, 2), volume = sized(4, kMostElements, 4);
  t.rule(FORMULA(max_pool1d(a.t[0].reshape({1, 1, -1}), 2, {.stride = 1, .padding = 1})),
         "F.max_pool1d({t0}.reshape(1, 1, -1), 2, stride=1, padding=1)", signal, apart);
  t.rule(FORMULA(avg_pool1d(a.t[0].reshape({1, 1, -1}), 2, {.ceil_mode = true})),
         "F.avg_pool1d({t0}.reshape(1, 1, -1), 2, ceil_mode=True)", signal);
  t.rule(FORMULA(adaptive_avg_pool1d(a.t[0].reshape({1, 1, -1}), 3)),
         "F.adaptive_avg_pool1d({t0}.reshape(1, 1, -1), 3)", sized(1, 12));
  t.rule(FORMULA(adaptive_max_pool1d(a.t[0].reshape({1, 1, -1}), 2)),
         "F.adaptive_max_pool1d({t0}.reshape(1, 1, -1), 2)", sized(1, 12), apart);
  t.rule(FORMULA(interpolate(a.t[0].reshape({1, 1, -1}), {.size = 5, .mode = Interpolation::linear})),
         "F.interpolate({t0}.reshape(1, 1, -1), size=5, mode='linear')", sized(1, 12));
  t.rule(FORMULA(interpolate(a.t[0].reshape({1, 1, -1}), {.scale_factor = 2})),
         "F.interpolate({t0}.reshape(1, 1, -1), scale_factor=2)", sized(1, 10));
  t.rule(FORMULA(max_pool2d(a.t[0].reshape({1, 1, 2, -1}), 2)), "F.max_pool2d({t0}.reshape(1, 1, 2, -1), 2)", image,
         apart);
  t.rule(FORMULA(avg_pool2d(a.t[0].reshape({1, 1, 2, -1}), 2, {.stride = 1, .padding = 1, .count_include_pad = false})),
         "F.avg_pool2d({t0}.reshape(1, 1, 2, -1), 2, stride=1, padding=1, count_include_pad=False)", image);
  t.rule(FORMULA(adaptive_avg_pool2d(a.t[0].reshape({1, 1, 2, -1}), {3, 2})),
         "F.adaptive_avg_pool2d({t0}.reshape(1, 1, 2, -1), (3, 2))", image);
  t.rule(FORMULA(adaptive_max_pool2d(a.t[0].reshape({1, 1, 2, -1}), {1, 2})),
         "F.adaptive_max_pool2d({t0}.reshape(1, 1, 2, -1), (1, 2))", image, apart);
  t.rule(FORMULA(interpolate(a.t[0].reshape({1, 1, 2, -1}),
                             {.size = {3, 4}, .mode = Interpolation::bilinear, .align_corners = true})),
         "F.interpolate({t0}.reshape(1, 1, 2, -1), size=(3, 4), mode='bilinear', align_corners=True)", image);
  t.rule(FORMULA(max_pool3d(a.t[0].reshape({1, 1, 2, 2, -1}), {2, 2, 1})),
         "F.max_pool3d({t0}.reshape(1, 1, 2, 2, -1), (2, 2, 1))", volume, apart);
  t.rule(FORMULA(avg_pool3d(a.t[0].reshape({1, 1, 2, 2, -1}), 2, {.stride = 1, .padding = 1})),
         "F.avg_pool3d({t0}.reshape(1, 1, 2, 2, -1), 2, stride=1, padding=1)", volume);
  t.rule(FORMULA(adaptive_avg_pool3d(a.t[0].reshape({1, 1, 2, 2, -1}), {3, 1, 2})),
         "F.adaptive_avg_pool3d({t0}.reshape(1, 1, 2, 2, -1), (3, 1, 2))", volume);
  t.rule(FORMULA(adaptive_max_pool3d(a.t[0].reshape({1, 1, 2, 2, -1}), {1, 2, 2})),
         "F.adaptive_max_pool3d({t0}.reshape(1, 1, 2, 2, -1), (1, 2, 2))", volume, apart);
  t.rule(FORMULA(interpolate(a.t[0].reshape({1, 1, 2, 2, -1}), {.size = {3, 2, 3}, .mode = Interpolation::trilinear})),
         "F.interpolate({t0}.reshape(1, 1, 2, 2, -1), size=(3, 2, 3), mode='trilinear')", volume);
}

void add_large_images(CaseTable& t) {
  const json of_three{{"kernel_size", 3}, {"stride", 2}, {"padding", 1}}, cells{{"output_size", {7, 9}}};
  for (const Shape& shape : {Shape{7, 30, 61, 43}, Shape{1, 1, 701, 803}}) {
    const Tensor x = numbers(shape);
    for (const char* op : {"max_pool2d", "avg_pool2d"}) t.add_large(op, {x}, of_three);
    for (const char* op : {"adaptive_max_pool2d", "adaptive_avg_pool2d"}) t.add_large(op, {x}, cells);
    t.add_large("interpolate", {x}, {{"scale_factor", 1.7}});
    t.add_large("interpolate", {x}, {{"scale_factor", 2}, {"mode", "bilinear"}});
    t.add_large("interpolate", {x}, {{"scale_factor", 1.3}, {"mode", "bicubic"}});
    t.add_large("interpolate", {x}, {{"scale_factor", 0.3}, {"mode", "bicubic"}, {"antialias", true}});
  }
  const Tensor volume = numbers({3, 20, 9, 31, 43});
  for (const char* op : {"max_pool3d", "avg_pool3d"}) t.add_large(op, {volume}, of_three);
  for (const char* op : {"adaptive_max_pool3d", "adaptive_avg_pool3d"}) {
    t.add_large(op, {volume}, {{"output_size", {4, 7, 9}}});
  }
  t.add_large("interpolate", {volume}, {{"scale_factor", 1.7}, {"mode", "trilinear"}});
  const Tensor signal = numbers({40, 30, 403});
  for (const char* op : {"max_pool1d", "avg_pool1d"}) t.add_large(op, {signal}, {{"kernel_size", 2}});
  for (const char* op : {"adaptive_max_pool1d", "adaptive_avg_pool1d"}) t.add_large(op, {signal}, {{"output_size", 7}});
}

}  // namespace

void add_pooling_cases(CaseTable& table) {
  add_pool_calls(table);
  add_pools(table);
  add_volume_pools(table);
  add_interpolations(table);
  add_filters(table);
  add_pool_rules(table);
  if (table.large()) add_large_images(table);
}

}  // namespace tapegrad::tasks
