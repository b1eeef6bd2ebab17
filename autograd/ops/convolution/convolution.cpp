// conv1d, conv2d, conv3d, and their transposes: checks, and what is recorded. Convolutions of volumes are those of
// images whose channels include the depths of a window.
#include <fmt/format.h>
#include <tapegrad/autograd/convolution.h>
#include <tapegrad/autograd/detail/op_timer.h>
#include <tapegrad/autograd/kernels/family.h>
#include <tapegrad/autograd/kernels/kernel.h>
#include <tapegrad/autograd/kernels/product/blas_blis.h>
#include <tapegrad/autograd/kernels/product/engines.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/ops/convolution/detail/convolution_depth.h>
#include <tapegrad/autograd/ops/convolution/detail/convolution_shape.h>
#include <tapegrad/autograd/ops/detail/by_example.h>

#include <algorithm>
#include <array>
#include <span>

namespace tapegrad {
namespace {

const Op kConv1d{"conv1d"};
const Op kConv2d{"conv2d"};
const Op kConvTranspose1d{"conv_transpose1d"};
const Op kConvTranspose2d{"conv_transpose2d"};
const Op kConvWeight{"conv_weight"};  // the gradient for the weight, which only backward records

// A convolution of tensors; ConvShape does not know whether they have rows and a batch.
struct Convolution {
  ConvShape shape;
  ConvAxis depth;        // of volumes
  bool images = false;   // [.., H, W], not [.., L]
  bool batched = false;  // [N, ..]

  const Op& forward() const { return images ? kConv2d : kConv1d; }
  const Op& transpose() const { return images ? kConvTranspose2d : kConvTranspose1d; }

  Shape shape_of(int64_t channels, int64_t rows, int64_t cols) const {
    Shape result;
    if (batched) result.push_back(shape.n);
    result.push_back(channels);
    if (images) result.push_back(rows);
    result.push_back(cols);
    return result;
  }
  Shape x_shape() const { return shape_of(shape.groups * shape.c, shape.rows.size, shape.cols.size); }
  Shape y_shape() const { return shape_of(shape.groups * shape.o, shape.rows.out, shape.cols.out); }
  Shape weight_shape() const {
    Shape result{shape.groups * shape.o, shape.c};
    if (images) result.push_back(shape.rows.kernel);
    result.push_back(shape.cols.kernel);
    return result;
  }
};

// The sum over all axes of x except the channels; planes first, because their elements are contiguous.
Tensor sum_of_channels(const Convolution& conv, const Tensor& x) {
  const Tensor sums = sum(x, conv.images ? Axes{-2, -1} : Axes{-1});
  return conv.batched ? sum(sums, 0) : sums;
}

// The same for each example, [examples, channels].
Tensor sum_of_channels(const Convolution& conv, const Tensor& x, int64_t examples) {
  const Tensor sums = sum(x, conv.images ? Axes{-2, -1} : Axes{-1});
  return sum_of_rows(sums.reshape({examples, sums.size(0) / examples, sums.size(1)}));
}

// Multiplications of each of the products, those with padding included.
int64_t multiplications_of(const ConvShape& shape) {
  return shape.n * shape.groups * shape.o * shape.c * shape.taps() * shape.out_image();
}

void count_convolution(const ConvShape& shape, DType dtype) {
  Engine engine = Engine::convolution;
  if (products() == Products::blis && !shape.depthwise()) {
    engine = dtype == DType::float64 ? blas::packing_engine<double>() : blas::packing_engine<float>();
  }
  count_product(engine, multiplications_of(shape));
}

Tensor weight_gradient(const Convolution& conv, const Tensor& x, const Tensor& y);

// One gradient for each of `examples` examples, [examples, weight's shape].
Tensor weight_gradients(Convolution conv, const Tensor& x, const Tensor& y, int64_t examples) {
  const OpTimer timer(kConvWeight, {x, y});
  count_convolution(conv.shape, x.dtype());
  conv.shape.n /= examples;
  Shape shape = conv.weight_shape();
  const int64_t size = shape.numel();
  shape.insert(0, examples);
  const Tensor weights = Tensor::empty(shape, x.dtype()), from = packed(x), to = packed(y);
  with_floating_type(x.dtype(), [&](auto t) {
    using T = decltype(t);
    for (int64_t i = 0; i < examples; ++i) {
      convolve_weight<T>(conv.shape, from.data<T>() + x.numel() / examples * i, to.data<T>() + y.numel() / examples * i,
                         weights.mutable_data<T>() + size * i);
    }
  });
  return weights;
}

// The convolution or its transpose, with a bias or an empty handle: each is the gradient of the other.
Tensor convolved(const Convolution& conv, bool transposed, const Tensor& x, const Tensor& weight, const Tensor& bias) {
  const Op& op = transposed ? conv.transpose() : conv.forward();
  const OpTimer timer(op, {x, weight, bias});
  const Tensor y = Tensor::empty(transposed ? conv.x_shape() : conv.y_shape(), x.dtype());
  if (conv.shape.depthwise() || !conv.shape.pointwise()) count_convolution(conv.shape, x.dtype());  // else gemm does
  const Tensor from = packed(x), w = packed(weight), b = packed(bias);
  with_floating_type(x.dtype(), [&](auto t) {
    using T = decltype(t);
    const auto run = !transposed     ? convolve<T>
                     : all_finite(w) ? convolve_transposed<T>
                                     : convolve_transposed_exactly<T>;
    run(conv.shape, from.data<T>(), w.data<T>(), static_cast<const T*>(data_or_null(b)), y.mutable_data<T>());
  });
  const bool wants_x = needs_grad(x), wants_weight = needs_grad(weight);
  const bool wants_bias = bias.defined() && needs_grad(bias);
  if (!wants_x && !wants_weight && !wants_bias) return y;
  return record(op, y, {x, weight, bias},
                [conv, transposed, x = kept_if(wants_weight, x), weight = kept_if(wants_x, weight), wants_bias](
                    const Tensor& dy, const BackwardPass& pass) -> Grads {
                  Tensor dx, dweight, dbias;
                  if (weight.defined() && pass.wants(0)) dx = convolved(conv, !transposed, dy, weight, {});
                  const Tensor &to = transposed ? x : dy, &from = transposed ? dy : x;
                  const int64_t examples = pass.examples;
                  if (examples > 0 && conv.batched && conv.shape.n % examples == 0) {
                    if (x.defined() && pass.wants(1)) dweight = weight_gradients(conv, from, to, examples);
                    if (wants_bias) dbias = sum_of_channels(conv, dy, examples);
                    return {dx, dweight, dbias};
                  }
                  if (x.defined() && pass.wants(1)) dweight = weight_gradient(conv, from, to);
                  if (wants_bias) dbias = sum_of_channels(conv, dy);
                  return {dx, dweight, dbias};
                });
}

Tensor weight_gradient(const Convolution& conv, const Tensor& x, const Tensor& y) {
  const OpTimer timer(kConvWeight, {x, y});
  const Tensor weight = Tensor::empty(conv.weight_shape(), x.dtype());
  count_convolution(conv.shape, x.dtype());
  const Tensor from = packed(x), to = packed(y);
  with_floating_type(x.dtype(), [&](auto t) {
    using T = decltype(t);
    convolve_weight<T>(conv.shape, from.data<T>(), to.data<T>(), weight.mutable_data<T>());
  });
  const bool wants_x = needs_grad(x), wants_y = needs_grad(y);
  if (!wants_x && !wants_y) return weight;
  return record(kConvWeight, weight, {x, y},
                [conv, x = kept_if(wants_y, x), y = kept_if(wants_x, y)](const Tensor& dweight) -> Grads {
                  Tensor dx, dy;
                  if (y.defined()) dx = convolved(conv, true, y, dweight, {});
                  if (x.defined()) dy = convolved(conv, false, x, dweight, {});
                  return {dx, dy};
                });
}

// --- checks ---

// The settings that all four operations have in common.
struct Settings {
  const PerAxis<int64_t>&stride, &padding, &dilation;
  int64_t groups;
};

// A single window has no next one: the kernels need not step over a large distance to it.
void shorten_stride(ConvAxis& axis) {
  if (axis.out == 1) axis.stride = std::min(axis.stride, axis.reach() + 1);
}

// An axis without its input and output sizes.
ConvAxis axis_of(const Settings& settings, int axis, int64_t kernel) {
  return {.kernel = kernel,
          .stride = settings.stride[axis],
          .padding = settings.padding[axis],
          .dilation = settings.dilation[axis]};
}

struct ConvName {  // of an operation
  std::string_view name;
  int axes;
  bool transposed;

  [[noreturn]] void fail(const std::string& message) const { tapegrad::fail(name, message); }
  std::string x() const { return axes == 1 ? "L" : axes == 2 ? "H, W" : "D, H, W"; }
  std::string weight() const {
    return fmt::format("[{}, {}]", transposed ? "C, O / groups" : "O, C / groups",
                       axes == 1   ? "K"
                       : axes == 2 ? "KH, KW"
                                   : "KD, KH, KW");
  }
};

// Everything but the sizes along the axes. Transposed: the channels of x are the weight's first axis.
Convolution require_operands(const ConvName& op, const Tensor& x, const Tensor& weight, const Tensor& bias,
                             const Settings& settings) {
  require_floating(op.name, {&x, &weight, &bias});
  Convolution conv;
  const int axes = op.axes;
  const bool transposed = op.transposed;
  conv.images = axes > 1;
  conv.batched = x.dim() == axes + 2;
  if (x.dim() != axes + 1 && x.dim() != axes + 2) {
    op.fail(fmt::format("expected x [N, C, {0}] or [C, {0}], got {1}", op.x(), str(x.shape())));
  }
  if (weight.dim() != axes + 2) {
    op.fail(fmt::format("expected a weight {}, got {}", op.weight(), str(weight.shape())));
  }
  settings.stride.require_axes(op.name, "stride", axes);
  settings.padding.require_axes(op.name, "padding", axes);
  settings.dilation.require_axes(op.name, "dilation", axes);
  for (int i = 0; i < axes; ++i) {
    const auto at_least = [&](std::string_view what, int64_t value, int64_t least) {
      if (value < least) op.fail(fmt::format("expected a {} of at least {}, got {}", what, least, value));
      // Positions, products and sums of these, must fit into 64 bits.
      if (value > INT32_MAX) op.fail(fmt::format("expected a {} of at most {}, got {}", what, INT32_MAX, value));
    };
    at_least("stride", settings.stride[i], 1);
    at_least("padding", settings.padding[i], 0);
    at_least("dilation", settings.dilation[i], 1);
    at_least("kernel size", weight.size(2 + i), 1);
  }
  if (settings.groups < 1) op.fail(fmt::format("expected 1 group or more, got {}", settings.groups));
  const int64_t channels = x.size(conv.batched ? 1 : 0), first = weight.size(0);
  if (first % settings.groups != 0) {
    op.fail(fmt::format("expected {} channels divisible by {} groups, got {} (weight {})",
                        transposed ? "input" : "output", settings.groups, first, str(weight.shape())));
  }
  const int64_t expected = transposed ? first : weight.size(1) * settings.groups;
  if (channels != expected) {
    op.fail(fmt::format("expected x with {} channels for weight {} and groups = {}, got {} (x {})", expected,
                        str(weight.shape()), settings.groups, channels, str(x.shape())));
  }
  const int64_t results = transposed ? weight.size(1) * settings.groups : first;
  if (bias.defined() && !(bias.shape() == Shape{results})) {
    op.fail(fmt::format("expected a bias [{}], got {}", results, str(bias.shape())));
  }
  ConvShape& shape = conv.shape;
  shape.n = conv.batched ? x.size(0) : 1;
  shape.groups = settings.groups;
  shape.o = first / settings.groups;
  shape.c = weight.size(1);
  if (axes == 3) conv.depth = axis_of(settings, 0, weight.size(2));
  if (conv.images) shape.rows = axis_of(settings, axes - 2, weight.size(-2));
  shape.cols = axis_of(settings, axes - 1, weight.size(-1));
  return conv;
}

// The options of the planes of a volume.
ConvOptions of_planes(const ConvOptions& options) {
  const auto last_two = [](const PerAxis<int64_t>& all) { return PerAxis<int64_t>{all[1], all[2]}; };
  return {.stride = last_two(options.stride),
          .padding = options.padding.same() ? ConvPadding(Padding::same) : ConvPadding(last_two(options.padding)),
          .dilation = last_two(options.dilation),
          .groups = options.groups};
}
ConvTransposeOptions of_planes(const ConvTransposeOptions& options) {
  const auto last_two = [](const PerAxis<int64_t>& all) { return PerAxis<int64_t>{all[1], all[2]}; };
  return {.stride = last_two(options.stride),
          .padding = last_two(options.padding),
          .output_padding = last_two(options.output_padding),
          .dilation = last_two(options.dilation),
          .groups = options.groups};
}

// Element k of the windows of an axis, as windows of one element.
ConvAxis one_tap(const ConvAxis& axis, int64_t k) {
  ConvAxis tap = axis;
  tap.kernel = 1;
  tap.padding -= k * axis.dilation;
  return tap;
}

// x [N, C, D, H, W] as images of the windows of depths, [N * OD, C * KD, H, W], in which conv2d sees the channels.
// Depthwise, there is one convolution for each depth of the kernel: each plane is convolved by itself.
Tensor volume_convolution(const Convolution& conv, const Tensor& x, const Tensor& weight, const Tensor& bias,
                          const ConvOptions& options) {
  const Tensor volumes = conv.batched ? x : x.unsqueeze(0);
  Tensor y;
  if (conv.shape.depthwise()) {
    for (int64_t k = 0; k < conv.depth.kernel; ++k) {
      const Tensor term = conv2d(depth_windows(volumes, one_tap(conv.depth, k)), weight.select(2, k),
                                 k == 0 ? bias : Tensor(), of_planes(options));
      y = k == 0 ? term : y + term;
    }
  } else {
    y = conv2d(depth_windows(volumes, conv.depth), weight.flatten(1, 2), bias, of_planes(options));
  }
  const Tensor by_channel =
      depths_swapped(y.reshape({volumes.size(0), conv.depth.out, y.size(1), y.size(2), y.size(3)}));
  return conv.batched ? by_channel : by_channel.squeeze(0);
}

Tensor convolution(const ConvName& op, const Tensor& x, const Tensor& weight, const Tensor& bias,
                   const ConvOptions& options) {
  Convolution conv =
      require_operands(op, x, weight, bias, {options.stride, options.padding, options.dilation, options.groups});
  const bool same = options.padding.same();
  const auto fit = [&](ConvAxis& axis, int64_t size) {
    if (same && axis.stride != 1) {
      op.fail(fmt::format("expected a stride of 1 with Padding::same, got {}", axis.stride));
    }
    if (same) axis.padding = axis.reach() / 2;
    axis.size = size;
    const int64_t padded = size + (same ? axis.reach() : 2 * axis.padding), room = padded - axis.reach() - 1;
    if (room < 0) {
      op.fail(fmt::format("expected a window of at most {} elements along a padded axis, got {} (x {}, weight {})",
                          padded, axis.reach() + 1, str(x.shape()), str(weight.shape())));
    }
    axis.out = room / axis.stride + 1;
    shorten_stride(axis);
  };
  if (op.axes == 3) fit(conv.depth, x.size(-3));
  if (conv.images) fit(conv.shape.rows, x.size(-2));
  fit(conv.shape.cols, x.size(-1));
  if (options.padding_mode == PadMode::constant) {
    return op.axes == 3 ? volume_convolution(conv, x, weight, bias, options) : convolved(conv, false, x, weight, bias);
  }

  const auto after = [&](const ConvAxis& axis) { return same ? axis.reach() - axis.padding : axis.padding; };
  const auto &rows = conv.shape.rows, &cols = conv.shape.cols, &depth = conv.depth;
  const std::array<int64_t, 6> all = {cols.padding, after(cols),   rows.padding,
                                      after(rows),  depth.padding, after(depth)};
  const std::span<const int64_t> widths(all.data(), 2 * static_cast<std::size_t>(op.axes));
  return convolution(op, pad(x, widths, options.padding_mode), weight, bias,
                     {.stride = options.stride, .dilation = options.dilation, .groups = options.groups});
}

// The transpose of volume_convolution, step by step.
Tensor transposed_volume_convolution(const Convolution& conv, const Tensor& x, const Tensor& weight, const Tensor& bias,
                                     const ConvTransposeOptions& options) {
  const Tensor images = depths_swapped(conv.batched ? x : x.unsqueeze(0)).flatten(0, 1);
  Tensor y;
  if (conv.shape.depthwise()) {
    for (int64_t k = 0; k < conv.depth.kernel; ++k) {
      const Tensor planes = conv_transpose2d(images, weight.select(2, k), {}, of_planes(options));
      const Tensor term = depths_added(planes, one_tap(conv.depth, k));
      y = k == 0 ? term : y + term;
    }
  } else {
    y = depths_added(conv_transpose2d(images, weight.flatten(1, 2), {}, of_planes(options)), conv.depth);
  }
  if (bias.defined()) y = y + bias.reshape({-1, 1, 1, 1});
  return conv.batched ? y : y.squeeze(0);
}

Tensor transposed_convolution(const ConvName& op, const Tensor& x, const Tensor& weight, const Tensor& bias,
                              const ConvTransposeOptions& options) {
  Convolution conv =
      require_operands(op, x, weight, bias, {options.stride, options.padding, options.dilation, options.groups});
  const int axes = op.axes;
  options.output_padding.require_axes(op.name, "output_padding", axes);
  const auto grow = [&](ConvAxis& axis, int64_t out, int64_t extra) {
    if (extra < 0 || (extra >= axis.stride && extra >= axis.dilation)) {
      op.fail(fmt::format("expected an output_padding smaller than stride {} or dilation {}, got {}", axis.stride,
                          axis.dilation, extra));
    }
    if (out > (int64_t{1} << 60) / axis.stride) {
      op.fail(fmt::format("expected an axis of at most 2^60 elements, got {} with a stride of {}", out, axis.stride));
    }
    axis.out = out;
    axis.size = (out - 1) * axis.stride - 2 * axis.padding + axis.reach() + extra + 1;
    if (out < 1 || axis.size < 1) {
      op.fail(fmt::format("expected a result with elements, got {} along an axis (x {}, weight {})",
                          out < 1 ? 0 : axis.size, str(x.shape()), str(weight.shape())));
    }
    shorten_stride(axis);
  };
  if (axes == 3) grow(conv.depth, x.size(-3), options.output_padding[0]);
  if (conv.images) grow(conv.shape.rows, x.size(-2), options.output_padding[axes - 2]);
  grow(conv.shape.cols, x.size(-1), options.output_padding[axes - 1]);
  if (axes == 3) return transposed_volume_convolution(conv, x, weight, bias, options);
  return convolved(conv, true, x, weight, bias);
}

}  // namespace

Tensor conv1d(const Tensor& x, const Tensor& weight, const Tensor& bias, const ConvOptions& options) {
  return convolution({kConv1d.name, 1, false}, x, weight, bias, options);
}
Tensor conv2d(const Tensor& x, const Tensor& weight, const Tensor& bias, const ConvOptions& options) {
  return convolution({kConv2d.name, 2, false}, x, weight, bias, options);
}
Tensor conv3d(const Tensor& x, const Tensor& weight, const Tensor& bias, const ConvOptions& options) {
  return convolution({"conv3d", 3, false}, x, weight, bias, options);
}
Tensor conv_transpose1d(const Tensor& x, const Tensor& weight, const Tensor& bias,
                        const ConvTransposeOptions& options) {
  return transposed_convolution({kConvTranspose1d.name, 1, true}, x, weight, bias, options);
}
Tensor conv_transpose2d(const Tensor& x, const Tensor& weight, const Tensor& bias,
                        const ConvTransposeOptions& options) {
  return transposed_convolution({kConvTranspose2d.name, 2, true}, x, weight, bias, options);
}
Tensor conv_transpose3d(const Tensor& x, const Tensor& weight, const Tensor& bias,
                        const ConvTransposeOptions& options) {
  return transposed_convolution({"conv_transpose3d", 3, true}, x, weight, bias, options);
}

}  // namespace tapegrad
