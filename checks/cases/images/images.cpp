// Cases of patches of images, and of images at the positions of a grid.
#include <fmt/format.h>
#include <tapegrad/checks/cases/case.h>
#include <tapegrad/tapegrad.h>

namespace tapegrad::tasks {
namespace {

using A = Arguments;

FoldOptions fold_options(const json& args) {
  return {.dilation = per_axis(args, "dilation", 1),
          .padding = per_axis(args, "padding", 0),
          .stride = per_axis(args, "stride", 1)};
}

GridSampleOptions grid_options(const json& args) {
  const std::string mode = args.value("mode", "bilinear"), padding = args.value("padding_mode", "zeros");
  return {.mode = mode == "nearest"   ? GridMode::nearest
                  : mode == "bicubic" ? GridMode::bicubic
                                      : GridMode::bilinear,
          .padding = padding == "border"       ? GridPadding::border
                     : padding == "reflection" ? GridPadding::reflection
                                               : GridPadding::zeros,
          .align_corners = args.value("align_corners", false)};
}

void add_image_calls(CaseTable& t) {
  t.call("unfold2d",
         [](auto& x, auto& args) { return unfold2d(x[0], per_axis(args, "kernel_size"), fold_options(args)); });
  t.call("fold2d", [](auto& x, auto& args) {
    return fold2d(x[0], per_axis(args, "output_size"), per_axis(args, "kernel_size"), fold_options(args));
  });
  t.call("pixel_shuffle", pixel_shuffle, "factor", "permute");
  t.call("pixel_unshuffle", pixel_unshuffle, "factor", "permute");
  t.call("channel_shuffle", channel_shuffle, "groups", "transpose");
  t.call("grid_sample", [](auto& x, auto& args) { return grid_sample(x[0], x[1], grid_options(args)); });
  t.call(
      "affine_grid",
      [](auto& x, auto& args) { return affine_grid(x[0], dims(args, "size"), args.value("align_corners", false)); },
      "mul");
}

void add_patches(CaseTable& t) {
  struct Settings {
    std::string label;
    json args;
  };
  const Settings all[] = {{"2 by 2", {{"kernel_size", 2}}},
                          {"padded, with strides", {{"kernel_size", {3, 2}}, {"stride", {2, 1}}, {"padding", {1, 2}}}},
                          {"dilated", {{"kernel_size", 2}, {"dilation", {3, 2}}, {"padding", 1}, {"stride", 2}}},
                          {"with gaps", {{"kernel_size", 1}, {"stride", {2, 3}}}}};
  for (const auto& [label, args] : all) {
    for (const LaidOut& x :
         {LaidOut{"contiguous", spread({2, 2, 4, 5})}, LaidOut{"transposed", spread({2, 2, 5, 4}).t()},
          LaidOut{"channels last", spread({1, 4, 5, 2}).permute({0, 3, 1, 2})}, LaidOut{"one image", spread({2, 4, 5})},
          LaidOut{"no image", spread({0, 2, 4, 5})}, LaidOut{"no channel", spread({2, 0, 4, 5})}}) {
      t.add("unfold2d", label + ", " + x.label, {x.x}, args);
      const Shape shape = unfold2d(x.x, per_axis(args, "kernel_size"), fold_options(args)).shape();
      json back = args;
      back["output_size"] = {4, 5};
      t.add("fold2d", label + ", " + x.label, {spread(shape)}, back);
      if (shape.rank() == 3) {
        t.add("fold2d", label + ", " + x.label + ", transposed", {spread({shape[0], shape[2], shape[1]}).t()}, back);
      }
    }
  }
  t.add("permute", "pixel_shuffle", {spread({2, 8, 2, 3})}, [](auto x) { return pixel_shuffle(x[0], 2); });
  t.add("permute", "pixel_unshuffle", {spread({2, 2, 4, 6}).t()}, [](auto x) { return pixel_unshuffle(x[0], 2); });
  t.add("transpose", "channel_shuffle", {spread({2, 6, 2})}, [](auto x) { return channel_shuffle(x[0], 3); });
}

// Positions in and around the image, away from the middles and edges of its elements.
Tensor some_grid(const Shape& shape) { return spread(shape, -1.37, 1.31) + 0.00417; }

// grid_sample and its gradient for x. The gradient for the grid is 0 with nearest, so it is not computed.
void add_grid(CaseTable& t, const std::string& label, const Tensor& x, const Tensor& grid, const json& args) {
  const GridSampleOptions options = grid_options(args);
  const Shape sampled = grid_sample(x, grid, options).shape();
  const auto back = [=, shape = x.shape()](const Tensor& dy, const Tensor& at) {
    return pulled_back([&](const Tensor& v) { return grid_sample(v, at, options); }, zeros(shape, kFloat64), dy);
  };
  if (options.mode == GridMode::nearest) {
    t.add("grid_sample", label, {x}, [=](auto in) { return grid_sample(in[0], grid, options); });
    t.add("grid_add", label, {spread(sampled, -1, 1)}, [=](auto in) { return back(in[0], grid); });
  } else {
    t.add("grid_sample", label, {x, grid}, args);
    t.add("grid_add", label, {spread(sampled, -1, 1), grid}, [=](auto in) { return back(in[0], in[1]); });
  }
}

void add_grids(CaseTable& t) {
  for (const char* mode : {"bilinear", "nearest", "bicubic"}) {
    for (const char* padding : {"zeros", "border", "reflection"}) {
      for (const bool align : {false, true}) {
        const json args{{"mode", mode}, {"padding_mode", padding}, {"align_corners", align}};
        const std::string label = fmt::format("{}, {}{}", mode, padding, align ? ", aligned" : "");
        add_grid(t, label, spread({2, 2, 3, 4}), some_grid({2, 2, 3, 2}), args);
        add_grid(t, label + ", strides", spread({2, 2, 4, 3}).t(), some_grid({2, 3, 2, 2}).transpose(1, 2), args);
        if (std::string_view(mode) == "bicubic") continue;
        add_grid(t, label + ", volume", spread({1, 2, 2, 3, 2}), some_grid({1, 1, 2, 2, 3}), args);
      }
    }
  }
  t.add("grid_sample", "no image", {spread({0, 2, 3, 4}), spread({0, 2, 3, 2})});
  t.add("grid_sample", "no channel", {spread({2, 0, 3, 4}), some_grid({2, 2, 3, 2})});
  t.add("grid_sample", "no point", {spread({2, 1, 3, 4}), spread({2, 0, 3, 2})});
  t.add("grid_sample", "one element", {spread({1, 1, 1, 1}), some_grid({1, 2, 3, 2})});
  t.add("mul", "affine_grid", {spread({2, 2, 3})}, [](auto x) { return affine_grid(x[0], {2, 1, 3, 2}); });
  t.add("mul", "affine_grid, volume", {spread({1, 3, 4})}, [](auto x) {
    return affine_grid(x[0], {1, 1, 2, 1, 3}, true);
  });
}

void add_image_rules(CaseTable& t) {
  const DrawRule even = sized(4, 16, 2);
  t.rule(FORMULA(unfold2d(a.t[0].reshape({1, 2, -1}), {1, 2}, {.padding = {0, 1}})),
         "F.unfold({t0}.reshape(1, 2, -1), (1, 2), padding=(0, 1))", even);
  t.rule(FORMULA(fold2d(a.t[0].reshape({-1, 4}), {2, 3}, {1, 2})), "F.fold({t0}.reshape(-1, 4), (2, 3), (1, 2))",
         sized(8, kMostElements, 8));
  t.rule(FORMULA(pixel_shuffle(a.t[0].reshape({4, 1, -1}), 2)), "F.pixel_shuffle({t0}.reshape(4, 1, -1), 2)",
         sized(4, kMostElements, 4));
  // At positions that are not whole numbers of elements, where second derivatives jump.
  t.rule(FORMULA(grid_sample(a.t[0].reshape({1, 1, 2, -1}), tanh(a.t[0].reshape({1, 1, -1, 2})),
                             {.mode = GridMode::bicubic})),
         "F.grid_sample({t0}.reshape(1, 1, 2, -1), torch.tanh({t0}.reshape(1, 1, -1, 2)), mode='bicubic', "
         "align_corners=False)",
         even, [](const A& a) {
           const Tensor grid = tanh(a.t[0].reshape({-1, 2}));
           const Tensor at = (grid + 1) * tensor({static_cast<double>(a.t[0].numel() / 2), 2.0}, kFloat64) / 2 - 0.5;
           return away_from(at - floor(at), {0, 1});
         });
}

void add_large_grids(CaseTable& t) {
  const Tensor x = numbers({5, 30, 41, 43}), grid = numbers({5, 50, 61, 2}, -1.2, 1.2);
  const Tensor volume = numbers({2, 30, 9, 31, 43}), places = numbers({2, 10, 21, 31, 3}, -1.2, 1.2);
  for (const char* op : {"grid_sample", "grid_add"}) {
    for (const char* mode : {"bilinear", "bicubic"}) {
      t.add_large(op, {x, grid},
                  [options = grid_options({{"mode", mode}})](auto v) { return grid_sample(v[0], v[1], options); });
    }
    t.add_large(op, {volume, places}, [](auto v) { return grid_sample(v[0], v[1]); });
  }
  for (const int64_t stride : {1, 2}) {
    t.add_large("unfold2d", {x}, {{"kernel_size", 3}, {"padding", 1}, {"stride", stride}});
    t.add_large("fold2d", {unfold2d(x, 3, {.padding = 1, .stride = stride})},
                {{"output_size", {41, 43}}, {"kernel_size", 3}, {"padding", 1}, {"stride", stride}});
  }
}

}  // namespace

void add_image_cases(CaseTable& table) {
  add_image_calls(table);
  add_patches(table);
  add_grids(table);
  add_image_rules(table);
  if (table.large()) add_large_grids(table);
}

}  // namespace tapegrad::tasks
