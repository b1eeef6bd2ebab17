// Samples of convolutions and their transposes.
#include <fmt/format.h>
#include <tapegrad/autograd/convolution.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/tasks/gradcheck/op_samples.h>

namespace tapegrad::tasks {
namespace {

using X = std::span<const Tensor>;

Tensor bias_of(X x) { return x.size() > 2 ? x[2] : Tensor(); }

void add_convolutions(SampleTable& table) {
  const auto one = [&](std::string_view label, std::vector<Tensor> inputs, const ConvOptions& options = {}) {
    table.add("conv1d", label, std::move(inputs), [options](X x) { return conv1d(x[0], x[1], bias_of(x), options); });
  };
  one("[2, 3, 7]", {spread({2, 3, 7}), spread({4, 3, 3}, -1, 1), spread({4})});
  one("without bias", {spread({1, 2, 6}), spread({3, 2, 2}, -1, 1)}, {.stride = 2, .padding = 1});
  one("one signal", {spread({2, 6}), spread({3, 2, 3}, -1, 1), spread({3})}, {.padding = 2, .dilation = 2});
  one("groups", {spread({2, 4, 5}), spread({6, 2, 2}, -1, 1), spread({6})}, {.stride = 2, .groups = 2});
  one("depthwise", {spread({2, 3, 6}), spread({3, 1, 3}, -1, 1), spread({3})}, {.padding = 1, .groups = 3});
  one("the same size", {spread({2, 2, 5}), spread({3, 2, 4}, -1, 1), spread({3})}, {.padding = Padding::same});
  one("circular", {spread({2, 5}), spread({3, 2, 3}, -1, 1)}, {.padding = 2, .padding_mode = PadMode::circular});
  one("no signal", {spread({0, 2, 6}), spread({3, 2, 3}, -1, 1), spread({3})});
  one("no channels", {spread({2, 0, 6}), spread({3, 0, 3}), spread({3})});
  for (const LaidOut& x : layouts(3, 6)) {
    for (const LaidOut& w : layouts(2, 3)) {
      one(x.label + ", weight " + w.label, {x.x.unsqueeze(1), w.x.unsqueeze(1), spread({4}).slice(0, 0, kAll, 2)},
          {.padding = 1});
    }
  }

  const auto two = [&](std::string_view label, std::vector<Tensor> inputs, const ConvOptions& options = {}) {
    table.add("conv2d", label, std::move(inputs), [options](X x) { return conv2d(x[0], x[1], bias_of(x), options); });
  };
  const Tensor image = spread({2, 2, 4, 5}), filters = spread({3, 2, 2, 3}, -1, 1), bias = spread({3});
  two("[2, 2, 4, 5]", {image, filters, bias});
  two("padded", {image, filters, bias}, {.padding = {1, 2}});
  two("stride", {image, filters}, {.stride = {2, 3}, .padding = 1});
  two("dilation", {image, filters}, {.stride = {1, 2}, .padding = {1, 2}, .dilation = {3, 2}});
  two("the same size", {image, filters, bias}, {.padding = Padding::same, .dilation = {1, 2}});
  two("depthwise, of the same size", {image, spread({4, 1, 2, 4}, -1, 1)}, {.padding = Padding::same, .groups = 2});
  two("reflected", {image, filters}, {.stride = {1, 2}, .padding = {0, 2}, .padding_mode = PadMode::reflect});
  two("one image", {spread({2, 3, 4}), filters, bias}, {.padding = 1});
  two("a kernel of one element", {image, spread({3, 2, 1, 1}, -1, 1), bias});
  two("one element, stride", {image, spread({3, 2, 1, 1}, -1, 1), bias}, {.stride = 2});
  two("one element, groups", {spread({1, 4, 2, 2}), spread({2, 2, 1, 1}, -1, 1)}, {.groups = 2});
  two("groups", {spread({1, 4, 3, 3}), spread({4, 2, 2, 2}, -1, 1), spread({4})}, {.padding = 1, .groups = 2});
  two("depthwise", {image, spread({2, 1, 2, 2}, -1, 1), spread({2})}, {.stride = {1, 2}, .padding = 1, .groups = 2});
  two("depthwise, two filters per channel", {image, spread({4, 1, 2, 2}, -1, 1)},
      {.stride = 2, .dilation = {1, 2}, .groups = 2});
  two("no image", {spread({0, 2, 4, 5}), filters, bias});
  two("transposed image", {spread({2, 2, 5, 4}).t(), spread({3, 2, 3, 2}, -1, 1).t()});
  two("expanded", {spread({1, 2, 1, 5}).expand({2, 2, 4, 5}), spread({2, 1, 1}).expand({3, 2, 2, 3})});
  two("wider than a vector", {spread({1, 2, 2, 19}), spread({9, 2, 1, 2}, -1, 1)});
}

void add_transposes(SampleTable& table) {
  const auto one = [&](std::string_view label, std::vector<Tensor> inputs, const ConvTransposeOptions& options = {}) {
    table.add("conv_transpose1d", label, std::move(inputs),
              [options](X x) { return conv_transpose1d(x[0], x[1], bias_of(x), options); });
  };
  one("[2, 3, 4]", {spread({2, 3, 4}), spread({3, 2, 3}, -1, 1), spread({2})});
  one("stride", {spread({2, 3, 4}), spread({3, 2, 3}, -1, 1)}, {.stride = 2, .padding = 1, .output_padding = 1});
  one("groups", {spread({1, 4, 3}), spread({4, 2, 3}, -1, 1), spread({4})}, {.stride = 2, .dilation = 2, .groups = 2});
  one("depthwise", {spread({2, 2, 3}), spread({2, 1, 3}, -1, 1), spread({2})}, {.stride = 3, .groups = 2});
  one("one signal", {spread({3, 4}), spread({3, 2, 2}, -1, 1), spread({2})}, {.padding = 1});

  const auto two = [&](std::string_view label, std::vector<Tensor> inputs, const ConvTransposeOptions& options = {}) {
    table.add("conv_transpose2d", label, std::move(inputs),
              [options](X x) { return conv_transpose2d(x[0], x[1], bias_of(x), options); });
  };
  const Tensor image = spread({2, 2, 3, 2}), filters = spread({2, 3, 2, 3}, -1, 1), bias = spread({3});
  two("[2, 2, 3, 2]", {image, filters, bias});
  two("stride", {image, filters, bias}, {.stride = {2, 3}, .padding = {1, 0}, .output_padding = {1, 2}});
  two("stride beyond the kernel", {image, spread({2, 1, 1, 2}, -1, 1)}, {.stride = 3, .output_padding = {2, 0}});
  two("dilation", {image, filters}, {.stride = {2, 1}, .padding = 1, .output_padding = {2, 1}, .dilation = {3, 2}});
  two("a kernel of one element", {image, spread({2, 3, 1, 1}, -1, 1), bias});
  two("one image", {spread({2, 3, 2}), filters, bias});
  two("groups", {image, spread({2, 2, 2, 2}, -1, 1), spread({4})}, {.stride = 2, .groups = 2});
  two("no image", {spread({0, 2, 3, 2}), filters, bias});
}

void add_weights(SampleTable& table) {
  const auto gradient = [&](std::string_view label, const Shape& x, const Shape& weight, const Shape& dy,
                            const ConvOptions& options) {
    table.add("conv_weight", label, {spread(x), spread(dy, -1, 1)}, [weight, options](X in) {
      const Tensor image = in[0];
      return pulled_back([&](const Tensor& w) { return conv2d(image, w, {}, options); }, spread(weight), in[1]);
    });
  };
  gradient("padded", {2, 2, 3, 4}, {3, 2, 2, 3}, {2, 3, 4, 4}, {.padding = 1});
  gradient("stride and groups", {1, 4, 5, 4}, {2, 2, 2, 2}, {1, 2, 2, 2}, {.stride = 2, .groups = 2});
  gradient("depthwise", {2, 2, 4, 5}, {2, 1, 3, 2}, {2, 2, 2, 2}, {.stride = {1, 3}, .groups = 2});
}

}  // namespace

void add_convolution_samples(SampleTable& table) {
  add_convolutions(table);
  add_transposes(table);
  add_weights(table);
}

}  // namespace tapegrad::tasks
