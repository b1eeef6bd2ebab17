// Convolution layers: their parameters.
#include <fmt/format.h>
#include <tapegrad/autograd/error.h>
#include <tapegrad/nn/convolution.h>
#include <tapegrad/nn/detail/check.h>
#include <tapegrad/nn/init.h>

#include <cmath>
#include <string_view>
#include <type_traits>

namespace tapegrad::nn {

namespace {

// A weight [out, in / groups, kernel], for a transpose [in, out / groups, kernel], with PyTorch's initial values.
Parameter make_weight(std::string_view where, bool transposed, int axes, int64_t in, int64_t out,
                      const PerAxis<int64_t>& kernel, int64_t groups) {
  require_positive(where, "the number of input channels", in);
  require_positive(where, "the number of output channels", out);
  require_positive(where, "the number of groups", groups);
  if (in % groups != 0 || out % groups != 0) {
    fail(where,
         fmt::format("expected groups that divide {} input and {} output channels, got {} groups", in, out, groups));
  }
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

Conv2d::Conv2d(int64_t in, int64_t out, const PerAxis<int64_t>& kernel_size, const ConvOptions& options, bool bias)
    : ConvLayer("conv2d", 2, in, out, kernel_size, options, bias) {}
Tensor Conv2d::operator()(const Tensor& x) const { return conv2d(x, weight, bias, options); }

Conv3d::Conv3d(int64_t in, int64_t out, const PerAxis<int64_t>& kernel_size, const ConvOptions& options, bool bias)
    : ConvLayer("conv3d", 3, in, out, kernel_size, options, bias) {}
Tensor Conv3d::operator()(const Tensor& x) const { return conv3d(x, weight, bias, options); }

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
