// Convolution layers: their parameters.
#include <fmt/format.h>
#include <tapegrad/autograd/error.h>
#include <tapegrad/nn/convolution.h>
#include <tapegrad/nn/detail/check.h>
#include <tapegrad/nn/init.h>

#include <cmath>
#include <string_view>

namespace tapegrad::nn {

namespace {

enum class Direction { forward, transposed };

// A weight [out, in / groups, kernel], for a transpose [in, out / groups, kernel], with PyTorch's initial values.
Parameter make_weight(std::string_view where, Direction direction, int64_t in, int64_t out,
                      const PerAxis<int64_t>& kernel, int axes, int64_t groups) {
  require_positive(where, "the number of input channels", in);
  require_positive(where, "the number of output channels", out);
  require_positive(where, "the number of groups", groups);
  if (in % groups != 0 || out % groups != 0) {
    fail(where,
         fmt::format("expected groups that divide {} input and {} output channels, got {} groups", in, out, groups));
  }
  kernel.require_axes(where, "kernel_size", axes);
  Shape shape{direction == Direction::forward ? out : in, (direction == Direction::forward ? in : out) / groups};
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

}  // namespace

Conv1d::Conv1d(int64_t in, int64_t out, int64_t kernel_size, const ConvOptions& options, bool bias)
    : weight(make_weight("conv1d", Direction::forward, in, out, kernel_size, 1, options.groups)),
      bias(make_bias(out, weight, bias)),
      options(options) {}

Tensor Conv1d::operator()(const Tensor& x) const { return conv1d(x, weight, bias, options); }

Conv2d::Conv2d(int64_t in, int64_t out, const PerAxis<int64_t>& kernel_size, const ConvOptions& options, bool bias)
    : weight(make_weight("conv2d", Direction::forward, in, out, kernel_size, 2, options.groups)),
      bias(make_bias(out, weight, bias)),
      options(options) {}

Tensor Conv2d::operator()(const Tensor& x) const { return conv2d(x, weight, bias, options); }

Conv3d::Conv3d(int64_t in, int64_t out, const PerAxis<int64_t>& kernel_size, const ConvOptions& options, bool bias)
    : weight(make_weight("conv3d", Direction::forward, in, out, kernel_size, 3, options.groups)),
      bias(make_bias(out, weight, bias)),
      options(options) {}

Tensor Conv3d::operator()(const Tensor& x) const { return conv3d(x, weight, bias, options); }

ConvTranspose1d::ConvTranspose1d(int64_t in, int64_t out, int64_t kernel_size, const ConvTransposeOptions& options,
                                 bool bias)
    : weight(make_weight("conv_transpose1d", Direction::transposed, in, out, kernel_size, 1, options.groups)),
      bias(make_bias(out, weight, bias)),
      options(options) {}

Tensor ConvTranspose1d::operator()(const Tensor& x) const { return conv_transpose1d(x, weight, bias, options); }

ConvTranspose2d::ConvTranspose2d(int64_t in, int64_t out, const PerAxis<int64_t>& kernel_size,
                                 const ConvTransposeOptions& options, bool bias)
    : weight(make_weight("conv_transpose2d", Direction::transposed, in, out, kernel_size, 2, options.groups)),
      bias(make_bias(out, weight, bias)),
      options(options) {}

Tensor ConvTranspose2d::operator()(const Tensor& x) const { return conv_transpose2d(x, weight, bias, options); }

ConvTranspose3d::ConvTranspose3d(int64_t in, int64_t out, const PerAxis<int64_t>& kernel_size,
                                 const ConvTransposeOptions& options, bool bias)
    : weight(make_weight("conv_transpose3d", Direction::transposed, in, out, kernel_size, 3, options.groups)),
      bias(make_bias(out, weight, bias)),
      options(options) {}

Tensor ConvTranspose3d::operator()(const Tensor& x) const { return conv_transpose3d(x, weight, bias, options); }

}  // namespace tapegrad::nn
