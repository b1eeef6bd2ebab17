// Convolution layers: their parameters.
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/nn/convolution.h>
#include <tapegrad/nn/detail/check.h>
#include <tapegrad/nn/init.h>

#include <cmath>
#include <type_traits>

namespace tapegrad::nn {

namespace {

// A weight [out, in / groups, kernel], for a transpose [in, out / groups, kernel], with PyTorch's initial values.
Parameter make_weight(std::string_view where, bool transposed, int axes, int64_t in, int64_t out,
                      const PerAxis<int64_t>& kernel, int64_t groups) {
  require_positive(where, "the number of input channels", in);
  require_positive(where, "the number of output channels", out);
  require_positive(where, "the number of groups", groups);
  require(in % groups == 0 && out % groups == 0, where,
          "expected groups that divide {} input and {} output channels, got {} groups", in, out, groups);
  kernel.require_axes(where, "kernel_size", axes);
  Shape shape{transposed ? in : out, (transposed ? out : in) / groups};
  for (int i = 0; i < axes; ++i) {
    require_positive(where, "the size of the kernel", kernel[i]);
    shape.push_back(kernel[i]);
  }
  Parameter weight(init::blank(shape));
  init::kaiming_uniform(weight, std::sqrt(5.0));
  return weight;
}

Parameter make_bias(int64_t out, const Parameter& weight, bool wanted) {
  if (!wanted) return {};
  Parameter bias(init::blank({out}));
  const double bound = 1 / std::sqrt(static_cast<double>(init::fans(weight).in));
  init::uniform(bias, -bound, bound);
  return bias;
}

// "3", or "{3, 5}" where the axes differ.
std::string per_axis(int axes, const auto& value_of) {
  std::string all;
  bool same = true;
  for (int i = 0; i < axes; ++i) {
    all += fmt::format("{}{}", i == 0 ? "" : ", ", value_of(i));
    same = same && value_of(i) == value_of(0);
  }
  return same ? fmt::format("{}", value_of(0)) : "{" + all + "}";
}

// "nn::Conv2d(3, 16, 3, {.stride = 2, .padding = 1})", with the options that differ from their defaults.
std::string convolution_code(std::string_view type, const Tensor& weight, const Tensor& bias, const ConvOptions& o) {
  const int axes = weight.dim() - 2;
  std::string options;
  const auto add = [&](std::string_view name, const std::string& value, std::string_view usual) {
    if (value != usual) options += fmt::format("{}.{} = {}", options.empty() ? "" : ", ", name, value);
  };
  add("stride", per_axis(axes, [&](int i) { return o.stride[i]; }), "1");
  add("padding", o.padding.same() ? "Padding::same" : per_axis(axes, [&](int i) { return o.padding[i]; }), "0");
  add("dilation", per_axis(axes, [&](int i) { return o.dilation[i]; }), "1");
  add("groups", std::to_string(o.groups), "1");
  constexpr std::string_view kModes[] = {"constant", "reflect", "replicate", "circular"};
  add("padding_mode", fmt::format("PadMode::{}", kModes[static_cast<std::size_t>(o.padding_mode)]),
      "PadMode::constant");
  std::string more = options.empty() ? "" : ", {" + options + "}";
  if (!bias.defined()) more = (options.empty() ? ", {}" : more) + std::string(", false");
  return fmt::format("nn::{}({}, {}, {}{})", type, weight.size(1) * o.groups, weight.size(0),
                     per_axis(axes, [&](int i) { return weight.size(2 + i); }), more);
}

}  // namespace

template <class Options>
detail::ConvLayer<Options>::ConvLayer(std::string_view where, int axes, int64_t in, int64_t out,
                                      const PerAxis<int64_t>& kernel_size, const Options& options, bool bias)
    : weight(make_weight(where, std::is_same_v<Options, ConvTransposeOptions>, axes, in, out, kernel_size,
                         options.groups)),
      bias(make_bias(out, weight, bias)),
      options(options) {}

Conv1d::Conv1d(int64_t in, int64_t out, int64_t kernel_size, const ConvOptions& options, bool bias)
    : ConvLayer("conv1d", 1, in, out, kernel_size, options, bias) {}
Tensor Conv1d::operator()(const Tensor& x) const { return conv1d(x, weight, bias, options); }
std::string Conv1d::describe() const { return convolution_code("Conv1d", weight, bias, options); }

Conv2d::Conv2d(int64_t in, int64_t out, const PerAxis<int64_t>& kernel_size, const ConvOptions& options, bool bias)
    : ConvLayer("conv2d", 2, in, out, kernel_size, options, bias) {}
Tensor Conv2d::operator()(const Tensor& x) const { return conv2d(x, weight, bias, options); }
std::string Conv2d::describe() const { return convolution_code("Conv2d", weight, bias, options); }

Conv3d::Conv3d(int64_t in, int64_t out, const PerAxis<int64_t>& kernel_size, const ConvOptions& options, bool bias)
    : ConvLayer("conv3d", 3, in, out, kernel_size, options, bias) {}
Tensor Conv3d::operator()(const Tensor& x) const { return conv3d(x, weight, bias, options); }
std::string Conv3d::describe() const { return convolution_code("Conv3d", weight, bias, options); }

ConvTranspose1d::ConvTranspose1d(int64_t in, int64_t out, int64_t kernel_size, const ConvTransposeOptions& options,
                                 bool bias)
    : ConvLayer("conv_transpose1d", 1, in, out, kernel_size, options, bias) {}
Tensor ConvTranspose1d::operator()(const Tensor& x) const { return conv_transpose1d(x, weight, bias, options); }

ConvTranspose2d::ConvTranspose2d(int64_t in, int64_t out, const PerAxis<int64_t>& kernel_size,
                                 const ConvTransposeOptions& options, bool bias)
    : ConvLayer("conv_transpose2d", 2, in, out, kernel_size, options, bias) {}
Tensor ConvTranspose2d::operator()(const Tensor& x) const { return conv_transpose2d(x, weight, bias, options); }

ConvTranspose3d::ConvTranspose3d(int64_t in, int64_t out, const PerAxis<int64_t>& kernel_size,
                                 const ConvTransposeOptions& options, bool bias)
    : ConvLayer("conv_transpose3d", 3, in, out, kernel_size, options, bias) {}
Tensor ConvTranspose3d::operator()(const Tensor& x) const { return conv_transpose3d(x, weight, bias, options); }

}  // namespace tapegrad::nn
