// Checks of the operands of convolutions, and the taps of an axis.
// build: -Os
#include <tapegrad/autograd/check.h>
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/ops/convolution/detail/convolution_call.h>

#include <algorithm>
#include <cstdint>

namespace tapegrad {
namespace {

// An axis without its input and output sizes.
ConvAxis axis_of(const ConvSettings& settings, int axis, int64_t kernel) {
  return {.kernel = kernel,
          .stride = settings.stride[axis],
          .padding = settings.padding[axis],
          .dilation = settings.dilation[axis]};
}

}  // namespace

std::string ConvName::weight() const {
  return fmt::format("[{}, {}]", transposed ? "C, O / groups" : "O, C / groups",
                     axes == 1   ? "K"
                     : axes == 2 ? "KH, KW"
                                 : "KD, KH, KW");
}

Convolution require_operands(const ConvName& op, const Tensor& x, const Tensor& weight, const Tensor& bias,
                             const ConvSettings& settings) {
  require_floating(op.name, {&x, &weight, &bias});
  Convolution conv;
  const int axes = op.axes;
  const bool transposed = op.transposed;
  conv.axes = axes;
  conv.batched = x.dim() == axes + 2;
  if (x.dim() != axes + 1 && x.dim() != axes + 2)
    fail(op, "expected x [N, C, {0}] or [C, {0}], got {1}", op.x(), x.shape());
  if (weight.dim() != axes + 2) fail(op, "expected a weight {}, got {}", op.weight(), weight.shape());
  settings.stride.require_axes(op.name, "stride", axes);
  settings.padding.require_axes(op.name, "padding", axes);
  settings.dilation.require_axes(op.name, "dilation", axes);
  for (int i = 0; i < axes; ++i) {
    const auto at_least = [&](std::string_view what, int64_t value, int64_t least) {
      if (value < least) fail(op, "expected a {} of at least {}, got {}", what, least, value);
      // Positions, products and sums of these, must fit into 64 bits.
      if (value > INT32_MAX) fail(op, "expected a {} of at most {}, got {}", what, INT32_MAX, value);
    };
    at_least("stride", settings.stride[i], 1);
    at_least("padding", settings.padding[i], 0);
    at_least("dilation", settings.dilation[i], 1);
    at_least("kernel size", weight.size(2 + i), 1);
  }
  if (settings.groups < 1) fail(op, "expected 1 group or more, got {}", settings.groups);
  const int64_t channels = x.size(conv.batched ? 1 : 0), first = weight.size(0);
  require(first % settings.groups == 0, op, "expected {} channels divisible by {} groups, got {} (weight {})",
          transposed ? "input" : "output", settings.groups, first, weight.shape());
  const int64_t expected = transposed ? first : weight.size(1) * settings.groups;
  require(channels == expected, op, "expected x with {} channels for weight {} and groups = {}, got {} (x {})",
          expected, weight.shape(), settings.groups, channels, x.shape());
  const int64_t results = transposed ? weight.size(1) * settings.groups : first;
  if (bias.defined() && !(bias.shape() == Shape{results})) {
    fail(op, "expected a bias [{}], got {}", results, bias.shape());
  }
  ConvShape& shape = conv.shape;
  shape.n = conv.batched ? x.size(0) : 1;
  shape.groups = settings.groups;
  shape.o = first / settings.groups;
  shape.c = weight.size(1);
  if (axes == 3) shape.depth = axis_of(settings, 0, weight.size(2));
  if (axes > 1) shape.rows = axis_of(settings, axes - 2, weight.size(-2));
  shape.cols = axis_of(settings, axes - 1, weight.size(-1));
  return conv;
}

ConvTaps::ConvTaps(const ConvPass& pass) : pass_(pass), taps_(pass.axis.kernel), classes_(pass.axis.kernel) {
  for (int64_t tap = 0; tap < pass.axis.kernel; ++tap) taps_.get()[tap] = {pass.class_of(tap), tap};
  std::sort(taps_.get(), taps_.get() + pass.axis.kernel,
            [](const Tap& a, const Tap& b) { return a.residue != b.residue ? a.residue < b.residue : a.tap < b.tap; });
  for (int64_t i = 0; i < pass.axis.kernel; ++i) {
    const int64_t residue = taps_.get()[i].residue;
    if (i == 0 || residue != taps_.get()[i - 1].residue) classes_.get()[count_++] = {residue, i, 0};
    ++classes_.get()[count_ - 1].count;
  }
}

}  // namespace tapegrad
