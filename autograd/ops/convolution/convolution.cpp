// conv1d, conv2d, conv3d, and their transposes: checks, and what is recorded. Convolutions of volumes are those of
// images whose channels include the depths of a window (ConvShape).
// build: -Os
#include <tapegrad/autograd/convolution.h>
#include <tapegrad/autograd/detail/op_timer.h>
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/internal/tape_watch.h>
#include <tapegrad/autograd/kernels/family.h>
#include <tapegrad/autograd/kernels/kernel.h>
#include <tapegrad/autograd/kernels/product/blas_blis.h>
#include <tapegrad/autograd/kernels/product/engines.h>
#include <tapegrad/autograd/ops/convolution/detail/convolution_call.h>
#include <tapegrad/autograd/ops/convolution/detail/convolution_shape.h>
#include <tapegrad/autograd/ops/detail/by_example.h>

#include <algorithm>
#include <array>
#include <span>
#include <utility>
#include <vector>

namespace tapegrad {
namespace {

const Op kConv1d{"conv1d", {.rows = RowRule::of_batch}};
const Op kConv2d{"conv2d", {.rows = RowRule::of_batch}};
const Op kConv3d{"conv3d"};
const Op kConvTranspose1d{"conv_transpose1d", {.rows = RowRule::of_batch}};
const Op kConvTranspose2d{"conv_transpose2d", {.rows = RowRule::of_batch}};
const Op kConvTranspose3d{"conv_transpose3d"};
const Op kConvWeight{"conv_weight"};  // the gradient for the weight, which only backward records

// The operation, and its transpose.
const Op& forward_of(const Convolution& conv) {
  return conv.axes == 1 ? kConv1d : conv.volumes() || conv.of_volume ? kConv3d : kConv2d;
}
const Op& transpose_of(const Convolution& conv) {
  return conv.axes == 1 ? kConvTranspose1d : conv.volumes() || conv.of_volume ? kConvTranspose3d : kConvTranspose2d;
}

// The sums of the planes of x, [images, channels]; planes first, because their elements are contiguous.
Tensor sums_of_planes(const Convolution& conv, const Tensor& x) {
  const Tensor sums = sum(x, conv.axes > 1 ? Axes{-2, -1} : Axes{-1});
  if (!conv.volumes()) return conv.batched ? sums : sums.unsqueeze(0);
  return sums.transpose(-2, -1).reshape({conv.shape.n, sums.size(-2)});
}

// The sum over all axes of x except the channels.
Tensor sum_of_channels(const Convolution& conv, const Tensor& x) {
  const Tensor sums = sums_of_planes(conv, x);
  return conv.batched || conv.volumes() ? sum(sums, 0) : sums.squeeze(0);
}

// The same for each example, [examples, channels].
Tensor sum_of_channels(const Convolution& conv, const Tensor& x, int64_t examples) {
  const Tensor sums = sums_of_planes(conv, x);
  return sum_of_rows(sums.reshape({examples, sums.size(0) / examples, sums.size(1)}));
}

// Multiplications of each of the products, those with padding included.
int64_t multiplications_of(const ConvShape& shape) {
  return shape.n * shape.groups * shape.o * shape.c * shape.taps() * shape.out_image();
}

void count_convolution(const ConvShape& shape, DType dtype) {
  const bool on_blis = dtype == DType::float64 ? blas::always_on_blis<double>() : blas::always_on_blis<float>();
  count_product(on_blis && !shape.depthwise() ? Engine::blis : Engine::convolution, multiplications_of(shape));
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
  with_floating_type(x.dtype(), [&]<class T>(T) {
    for (int64_t i = 0; i < examples; ++i) {
      convolve_weight<T>(conv.shape, from.data<T>() + x.numel() / examples * i, to.data<T>() + y.numel() / examples * i,
                         weights.mutable_data<T>() + size * i);
    }
  });
  return weights;
}

// y = the convolution or its transpose, of images or signals, or of volumes that need no copy; the transpose of
// volumes: their images.
void convolve_into(const ConvShape& shape, bool transposed, const Tensor& x, const Tensor& weight, const Tensor& bias,
                   const Tensor& y) {
  const Tensor from = packed(x), w = packed(weight), b = packed(bias);
  with_floating_type(x.dtype(), [&]<class T>(T) {
    const bool finite = (transposed || shape.padded()) && all_finite(w);
    const T *const in = from.data<T>(), *const by = w.data<T>(), *const plus = static_cast<const T*>(data_or_null(b));
    if (!transposed) return convolve<T>(shape, in, by, plus, y.mutable_data<T>(), finite);
    (finite ? convolve_transposed<T> : convolve_transposed_exactly<T>)(shape, in, by, plus, y.mutable_data<T>());
  });
}

// The same for volumes: not recorded, [N, C, D, H, W].
Tensor convolve_volumes_of(const Convolution& conv, bool transposed, const Tensor& x, const Tensor& weight,
                           const Tensor& bias) {
  ConvShape shape = conv.shape;
  const ConvAxis &depth = conv.shape.depth, plain{};
  const Tensor volumes = conv.batched ? x.detach() : x.detach().unsqueeze(0);
  if (shape.pointwise() && depth.plain()) {  // products of whole volumes
    shape.n = conv.batch();
    shape.rows.size = shape.rows.out = depth.size * shape.rows.size;
    shape.depth = plain;
    const Tensor y = Tensor::empty(transposed ? conv.x_shape() : conv.y_shape(), x.dtype());
    convolve_into(shape, transposed, volumes, weight, bias, y);
    return y;
  }
  if (depth.whole()) {  // the depths are channels of an image
    shape.depth = plain;
    const Tensor y = Tensor::empty(transposed ? conv.x_shape() : conv.y_shape(), x.dtype());
    convolve_into(shape, transposed, volumes, weight, bias, y);
    return y;
  }
  const Tensor images =
      Tensor::empty({shape.n, shape.groups * (transposed ? shape.c : shape.o),
                     transposed ? shape.rows.size : shape.rows.out, transposed ? shape.cols.size : shape.cols.out},
                    x.dtype());
  if (!shape.pointwise()) {
    const Tensor y = transposed ? images : Tensor::empty(conv.y_shape(), x.dtype());
    convolve_into(shape, transposed, volumes, weight, bias, y);
    return transposed ? depths_added(images, depth) : y;
  }
  shape.depth = plain;  // products of whole images
  const Tensor from = transposed ? depths_swapped(volumes) : depth_windows(volumes, depth);
  convolve_into(shape, transposed, from, weight, bias, images);
  if (transposed) return depths_added(images, depth);
  return depths_swapped(images.reshape({conv.batch(), depth.out, images.size(1), images.size(2), images.size(3)}));
}

// The convolution or its transpose, with a bias or an empty handle (a transpose of volumes has none): each is the
// gradient of the other.
Tensor convolved(const Convolution& conv, bool transposed, const Tensor& x, const Tensor& weight, const Tensor& bias) {
  const Op& op = transposed ? transpose_of(conv) : forward_of(conv);
  const OpTimer timer(op, {x, weight, bias});
  const bool multiplied = conv.shape.pointwise() || (transposed && conv.shape.patches());
  if (conv.shape.depthwise() || !multiplied) count_convolution(conv.shape, x.dtype());  // else gemm does
  Tensor y;
  if (conv.volumes()) {
    y = convolve_volumes_of(conv, transposed, x, weight, bias).reshape(transposed ? conv.x_shape() : conv.y_shape());
  } else {
    y = Tensor::empty(transposed ? conv.x_shape() : conv.y_shape(), x.dtype());
    convolve_into(conv.shape, transposed, x, weight, bias, y);
  }
  const bool wants_x = needs_grad(x), wants_weight = needs_grad(weight);
  const bool wants_bias = bias.defined() && needs_grad(bias);
  if (!wants_x && !wants_weight && !wants_bias) return y;
  auto backward = [conv, transposed, x = kept_if(wants_weight, x), weight = kept_if(wants_x, weight), wants_bias](
                      const Tensor& dy, const BackwardPass& pass) -> Grads {
    Tensor dx, dweight, dbias;
    if (weight.defined() && pass.wants(0)) dx = convolved(conv, !transposed, dy, weight, {});
    const Tensor &to = transposed ? x : dy, &from = transposed ? dy : x;
    const int64_t examples = pass.examples;
    if (examples > 0 && conv.batched && conv.batch() % examples == 0) {
      if (x.defined() && pass.wants(1)) dweight = weight_gradients(conv, from, to, examples);
      if (wants_bias) dbias = sum_of_channels(conv, dy, examples);
      return {dx, dweight, dbias};
    }
    if (x.defined() && pass.wants(1)) dweight = weight_gradient(conv, from, to);
    if (wants_bias) dbias = sum_of_channels(conv, dy);
    return {dx, dweight, dbias};
  };
  const ConvAxis &rows = conv.shape.rows, &cols = conv.shape.cols;
  return with_settings(record(op, y, {x, weight, bias}, std::move(backward)), "stride", Dims{rows.stride, cols.stride},
                       "padding", Dims{rows.padding, cols.padding}, "dilation", Dims{rows.dilation, cols.dilation});
}

Tensor weight_gradient(const Convolution& conv, const Tensor& x, const Tensor& y) {
  const OpTimer timer(kConvWeight, {x, y});
  const Tensor weight = Tensor::empty(conv.weight_shape(), x.dtype());
  count_convolution(conv.shape, x.dtype());
  const Tensor from = packed(x), to = packed(y);
  with_floating_type(x.dtype(), [&]<class T>(T) {
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

// --- the axes ---

// A single window has no next one: the kernels need not step over a large distance to it.
void shorten_stride(ConvAxis& axis) {
  if (axis.out == 1) axis.stride = std::min(axis.stride, axis.reach() + 1);
}

// Element k of the windows of an axis, as windows of one element.
ConvAxis one_tap(const ConvAxis& axis, int64_t k) {
  ConvAxis tap = axis;
  tap.kernel = 1;
  tap.padding -= k * axis.dilation;
  return tap;
}

// Depthwise, there is one convolution for each depth of the kernel: each plane is convolved by itself. Their sum is
// computed at once. The gradients are computed one by one, in the order in which the terms' would be.
Tensor depthwise_volumes(const Convolution& conv, const Tensor& x, const Tensor& weight, const Tensor& bias) {
  const OpTimer timer(kConv3d, {x, weight, bias});
  count_convolution(conv.shape, x.dtype());
  const Tensor y = Tensor::empty(conv.y_shape(), x.dtype());
  convolve_into(conv.shape, false, x, weight, bias, y);
  const bool wants_weight = needs_grad(weight), wants_bias = bias.defined() && needs_grad(bias);
  return record(kConv3d, y, {x, weight, bias},
                [conv, x = kept_if(wants_weight, x), weight = kept_if(needs_grad(x), weight), wants_bias](
                    const Tensor& dy, const BackwardPass& pass) -> Grads {
                  const ConvAxis& depth = conv.shape.depth;
                  const Convolution planes = conv.planes_of_channels();
                  const Tensor images = depths_swapped(conv.batched ? dy : dy.unsqueeze(0)).flatten(0, 1);
                  const int64_t examples =
                      conv.batched && conv.batch() % std::max<int64_t>(1, pass.examples) == 0 ? pass.examples : 0;
                  Tensor dx, dweight, dbias;
                  for (int64_t k = depth.kernel - 1; k >= 0 && weight.defined() && pass.wants(0); --k) {
                    const Tensor term =
                        depths_added(convolved(planes, true, images, weight.select(2, k), {}), one_tap(depth, k))
                            .reshape(conv.x_shape());
                    dx = dx.defined() ? dx + term : term;
                  }
                  std::vector<Tensor> by_depth;
                  for (int64_t k = 0; k < depth.kernel && x.defined() && pass.wants(1); ++k) {
                    const Tensor from = depth_windows(conv.batched ? x : x.unsqueeze(0), one_tap(depth, k));
                    by_depth.push_back(examples > 0 ? weight_gradients(planes, from, images, examples)
                                                    : weight_gradient(planes, from, images));
                  }
                  if (!by_depth.empty()) dweight = stack(by_depth, -3);
                  if (wants_bias) {
                    dbias = examples > 0 ? sum_of_channels(planes, images, examples) : sum_of_channels(planes, images);
                  }
                  return {dx, dweight, dbias};
                });
}

Tensor convolution(const ConvName& op, const Tensor& x, const Tensor& weight, const Tensor& bias,
                   const ConvOptions& options) {
  Convolution conv =
      require_operands(op, x, weight, bias, {options.stride, options.padding, options.dilation, options.groups});
  const bool same = options.padding.same();
  const auto fit = [&](ConvAxis& axis, int64_t size) {
    require(!same || axis.stride == 1, op, "expected a stride of 1 with Padding::same, got {}", axis.stride);
    if (same) axis.padding = axis.reach() / 2;
    axis.size = size;
    const int64_t padded = size + (same ? axis.reach() : 2 * axis.padding), room = padded - axis.reach() - 1;
    if (room < 0) {
      fail(op, "expected a window of at most {} elements along a padded axis, got {} (x {}, weight {})", padded,
           axis.reach() + 1, x.shape(), weight.shape());
    }
    axis.out = room / axis.stride + 1;
    shorten_stride(axis);
  };
  if (op.axes == 3) fit(conv.shape.depth, x.size(-3));
  if (op.axes > 1) fit(conv.shape.rows, x.size(-2));
  fit(conv.shape.cols, x.size(-1));
  if (options.padding_mode == PadMode::constant) {
    conv.count_images();
    const bool by_depth = conv.volumes() && conv.shape.depthwise();
    return by_depth ? depthwise_volumes(conv, x, weight, bias) : convolved(conv, false, x, weight, bias);
  }

  const auto after = [&](const ConvAxis& axis) { return same ? axis.reach() - axis.padding : axis.padding; };
  const auto &rows = conv.shape.rows, &cols = conv.shape.cols, &depth = conv.shape.depth;
  const std::array<int64_t, 6> all = {cols.padding, after(cols),   rows.padding,
                                      after(rows),  depth.padding, after(depth)};
  const std::span<const int64_t> widths(all.data(), 2 * static_cast<std::size_t>(op.axes));
  return convolution(op, pad(x, widths, options.padding_mode), weight, bias,
                     {.stride = options.stride, .dilation = options.dilation, .groups = options.groups});
}

// The bias is added last. Depthwise, the transposes of the terms of depthwise_volumes are added.
Tensor transposed_volumes(const Convolution& conv, const Tensor& x, const Tensor& weight, const Tensor& bias) {
  Tensor y;
  if (conv.shape.depthwise()) {
    const Convolution planes = conv.planes_of_channels();
    const Tensor images = depths_swapped(conv.batched ? x : x.unsqueeze(0)).flatten(0, 1);
    for (int64_t k = 0; k < conv.shape.depth.kernel; ++k) {
      const Tensor term =
          depths_added(convolved(planes, true, images, weight.select(2, k), {}), one_tap(conv.shape.depth, k));
      y = k == 0 ? term : y + term;
    }
    y = y.reshape(conv.x_shape());
  } else {
    y = convolved(conv, true, x, weight, {});
  }
  return bias.defined() ? y + bias.reshape({-1, 1, 1, 1}) : y;
}

Tensor transposed_convolution(const ConvName& op, const Tensor& x, const Tensor& weight, const Tensor& bias,
                              const ConvTransposeOptions& options) {
  Convolution conv =
      require_operands(op, x, weight, bias, {options.stride, options.padding, options.dilation, options.groups});
  const int axes = op.axes;
  options.output_padding.require_axes(op.name, "output_padding", axes);
  const auto grow = [&](ConvAxis& axis, int64_t out, int64_t extra) {
    if (extra < 0 || (extra >= axis.stride && extra >= axis.dilation)) {
      fail(op, "expected an output_padding smaller than stride {} or dilation {}, got {}", axis.stride, axis.dilation,
           extra);
    }
    require(out <= (int64_t{1} << 60) / axis.stride, op,
            "expected an axis of at most 2^60 elements, got {} with a stride of {}", out, axis.stride);
    axis.out = out;
    axis.size = (out - 1) * axis.stride - 2 * axis.padding + axis.reach() + extra + 1;
    require(out >= 1 && axis.size >= 1, op, "expected a result with elements, got {} along an axis (x {}, weight {})",
            out < 1 ? 0 : axis.size, x.shape(), weight.shape());
    shorten_stride(axis);
  };
  if (axes == 3) grow(conv.shape.depth, x.size(-3), options.output_padding[0]);
  if (axes > 1) grow(conv.shape.rows, x.size(-2), options.output_padding[axes - 2]);
  grow(conv.shape.cols, x.size(-1), options.output_padding[axes - 1]);
  conv.count_images();
  return axes == 3 ? transposed_volumes(conv, x, weight, bias) : convolved(conv, true, x, weight, bias);
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
