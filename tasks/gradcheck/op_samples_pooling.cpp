// Samples of pooling and interpolation.
#include <fmt/format.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/pooling.h>
#include <tapegrad/tasks/gradcheck/op_samples.h>

namespace tapegrad::tasks {
namespace {

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

template <class F>
void add_images(SampleTable& table, std::string_view op, std::string_view label, int64_t h, int64_t w, F f) {
  for (const LaidOut& image : images(h, w)) {
    table.add(op, fmt::format("{}, {}", label, image.label), {image.x}, [f](auto x) { return f(x[0]); });
  }
}

template <class F>
void add_signals(SampleTable& table, std::string_view op, std::string_view label, int64_t l, F f) {
  for (const LaidOut& signal : signals(l)) {
    table.add(op, fmt::format("{}, {}", label, signal.label), {signal.x}, [f](auto x) { return f(x[0]); });
  }
}

void add_max_pools(SampleTable& table) {
  add_images(table, "max_pool2d", "2 by 2", 4, 5, [](const Tensor& x) { return max_pool2d(x, 2); });
  add_images(table, "max_pool2d", "padded, with strides", 5, 4, [](const Tensor& x) {
    return max_pool2d(x, {3, 2}, {.stride = {2, 1}, .padding = 1});
  });
  add_images(table, "max_pool2d", "dilated, ceil_mode", 5, 6, [](const Tensor& x) {
    return max_pool2d_with_indices(x, 2, {.stride = 3, .dilation = {1, 2}, .ceil_mode = true}).values;
  });
  add_signals(table, "max_pool1d", "of 3", 7, [](const Tensor& x) { return max_pool1d(x, 3, {.stride = 2}); });
  add_signals(table, "max_pool1d", "padded", 37,
              [](const Tensor& x) { return max_pool1d(x, 3, {.stride = 1, .padding = 1, .dilation = 2}); });
  add_images(table, "adaptive_max_pool2d", "to 2 by 3", 5, 4, [](const Tensor& x) {
    return adaptive_max_pool2d(x, {2, 3});
  });
  add_images(table, "adaptive_max_pool2d", "to 1", 3, 2, [](const Tensor& x) { return adaptive_max_pool2d(x, 1); });
  add_signals(table, "adaptive_max_pool1d", "to 3", 7, [](const Tensor& x) { return adaptive_max_pool1d(x, 3); });
}

void add_avg_pools(SampleTable& table) {
  add_images(table, "avg_pool2d", "2 by 2", 4, 5, [](const Tensor& x) { return avg_pool2d(x, 2); });
  add_images(table, "avg_pool2d", "padded, with strides", 5, 4, [](const Tensor& x) {
    return avg_pool2d(x, {3, 2}, {.stride = {2, 1}, .padding = 1, .count_include_pad = false});
  });
  add_images(table, "avg_pool2d", "ceil_mode", 5, 6, [](const Tensor& x) {
    return avg_pool2d(x, 3, {.stride = 2, .padding = {1, 0}, .ceil_mode = true});
  });
  add_images(table, "avg_pool2d", "divisor", 4, 3,
             [](const Tensor& x) { return avg_pool2d(x, 2, {.stride = 3, .padding = 1, .divisor_override = 3}); });
  add_signals(table, "avg_pool1d", "of 3", 7, [](const Tensor& x) { return avg_pool1d(x, 3, {.stride = 2}); });
  add_signals(table, "avg_pool1d", "with gaps", 9, [](const Tensor& x) { return avg_pool1d(x, 1, {.stride = 2}); });
  add_signals(table, "avg_pool1d", "padded", 37,
              [](const Tensor& x) { return avg_pool1d(x, 3, {.stride = 1, .padding = 1}); });
  add_images(table, "adaptive_avg_pool2d", "to 2 by 3", 5, 4, [](const Tensor& x) {
    return adaptive_avg_pool2d(x, {2, 3});
  });
  add_images(table, "adaptive_avg_pool2d", "to 1 by 2", 3, 2, [](const Tensor& x) {
    return adaptive_avg_pool2d(x, {1, 2});
  });
  add_images(table, "adaptive_avg_pool2d", "to more", 3, 2, [](const Tensor& x) {
    return adaptive_avg_pool2d(x, {5, 4});
  });
  add_signals(table, "adaptive_avg_pool1d", "to 3", 7, [](const Tensor& x) { return adaptive_avg_pool1d(x, 3); });
}

void add_interpolations(SampleTable& table) {
  for (const auto& [mode, name] :
       {std::pair{Interpolation::nearest, "nearest"}, {Interpolation::bilinear, "bilinear"}}) {
    for (const auto& [h, w] : {std::pair<int64_t, int64_t>{6, 4}, {2, 7}, {3, 2}, {1, 1}}) {
      for (const bool align : {false, true}) {
        if (align && mode == Interpolation::nearest) continue;
        for (const LaidOut& image : images(3, 4)) {
          if (image.x.dim() == 3) continue;
          table.add("interpolate",
                    fmt::format("{} to {} by {}{}, {}", name, h, w, align ? ", aligned" : "", image.label), {image.x},
                    [=, mode = mode, h = h, w = w](auto x) {
                      return interpolate(x[0], {.size = {h, w}, .mode = mode, .align_corners = align});
                    });
        }
      }
    }
  }
  for (const auto& [mode, name] : {std::pair{Interpolation::nearest, "nearest"}, {Interpolation::linear, "linear"}}) {
    for (const double factor : {2.0, 0.6, 1.7}) {
      table.add("interpolate", fmt::format("{} by {}", name, factor), {spread({2, 2, 5})},
                [=, mode = mode](auto x) { return interpolate(x[0], {.scale_factor = factor, .mode = mode}); });
    }
  }
  table.add("interpolate", "doubled, long", {spread({1, 1, 19})},
            [](auto x) { return interpolate(x[0], {.scale_factor = 2}); });
}

}  // namespace

void add_pooling_samples(SampleTable& table) {
  add_max_pools(table);
  add_avg_pools(table);
  add_interpolations(table);
}

}  // namespace tapegrad::tasks
