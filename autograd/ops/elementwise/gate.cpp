// Activations with a second input: prelu, whose slope is a parameter, and the gated linear units glu and swiglu.
#define HWY_TARGET_INCLUDE "tapegrad/autograd/ops/elementwise/gate.cpp"
#include <tapegrad/autograd/kernels/simd/simd_targets.h>

#include <tapegrad/autograd/kernels/kernel.h>
#include <tapegrad/autograd/kernels/simd/rows-inl.h>
#include <tapegrad/autograd/ops/detail/formula_simd.h>

#ifndef TAPEGRAD_GATE_ARGS
#define TAPEGRAD_GATE_ARGS
namespace tapegrad {

/// x is rows of [a, b], each of `half` elements; element i of y belongs to row i / half.
struct GateArgs {
  DType dtype;
  int64_t half;
  const void* x;   // [rows, 2 half]
  const void* dy;  // [rows, half], in backward
  void* y;         // [rows, half]; in backward dx [rows, 2 half]
};

/// The functions of one gated unit: forward and backward for elements [begin, end) in one pass each, and recorded
/// backward.
struct GateKernels {
  void (*forward)(const GateArgs& args, int64_t begin, int64_t end);
  void (*backward)(const GateArgs& args, int64_t begin, int64_t end);
  std::pair<Tensor, Tensor> (*recorded)(const Tensor& dy, const Tensor& a, const Tensor& b);
};

struct GateFormulas {
  Formula prelu, prelu_grad_x, prelu_grad_weight;
  GateKernels glu, swiglu;
};

}  // namespace tapegrad
#endif

HWY_BEFORE_NAMESPACE();
namespace tapegrad::HWY_NAMESPACE {

// The gradients of a and b.
template <class V>
struct Halves {
  V a, b;
};

// Calls piece(a, b, dy, y, n) for every piece of a row in the elements [begin, end); y points to a's place in dx where
// `kBackward`.
template <class T, bool kBackward, class F>
HWY_INLINE void gate_pieces(const GateArgs& args, int64_t begin, int64_t end, F piece) {
  const int64_t half = args.half;
  for (int64_t i = begin; i < end;) {
    const int64_t row = i / half, column = i % half, n = std::min(end - i, half - column);
    const int64_t at = row * 2 * half + column;
    const T* const a = static_cast<const T*>(args.x) + at;
    const T* const dy = kBackward ? static_cast<const T*>(args.dy) + i : nullptr;
    piece(a, a + half, dy, static_cast<T*>(args.y) + (kBackward ? at : i), n);
    i += n;
  }
}

template <class Value>
void gate_forward(const GateArgs& args, int64_t begin, int64_t end) {
  with_floating_type(args.dtype, [&]<class T>(T) {
    gate_pieces<T, false>(args, begin, end,
                          [](const T* a, const T* b, const T*, T* y, int64_t n) { map_row(n, y, Value(), a, b); });
  });
}

template <class Gradient>
void gate_backward(const GateArgs& args, int64_t begin, int64_t end) {
  with_floating_type(args.dtype, [&]<class T>(T) {
    const int64_t half = args.half;
    gate_pieces<T, true>(args, begin, end, [half](const T* a, const T* b, const T* dy, T* dx, int64_t n) {
      each_span<T>(n, [=](auto s) {
        const Halves<Vec<T>> d = Gradient()(s.load(dy), s.load(a), s.load(b));
        s.store(d.a, dx);
        s.store(d.b, dx + half);
      });
    });
  });
}

// y = value(a, b), and gradient(dy, a, b) as Halves; the gradient is written once for vectors and tensors.
template <class Value, class Gradient>
constexpr GateKernels gate(Value, Gradient) {
  return {&gate_forward<Value>, &gate_backward<Gradient>, [](const Tensor& dy, const Tensor& a, const Tensor& b) {
            const Halves<Tensor> d = Gradient()(dy, a, b);
            return std::pair(d.a, d.b);
          }};
}

const GateFormulas& gate_formulas() {
  static constexpr GateFormulas formulas = {
      .prelu = value_of<2>([](auto x, auto w) { return where(x > 0, x, w * x); }),
      .prelu_grad_x = derivative_of<3>([](auto dy, auto x, auto w) { return where(x > 0, dy, dy * w); }),
      .prelu_grad_weight = derivative_of<2>([](auto dy, auto x) { return where(x > 0, 0, dy * x); }),

      .glu = gate([](auto a, auto b) { return a * sigmoid(b); },
                  [](auto dy, auto a, auto b) {
                    const auto s = sigmoid(b), da = dy * s;
                    return Halves<std::decay_t<decltype(da)>>{da, da * (a * (1 - s))};
                  }),
      .swiglu = gate([](auto a, auto b) { return silu(a) * b; },
                     [](auto dy, auto a, auto b) {
                       // from |a| = 800 on, s is 0 or 1, and a (1 - s) does not count: with b, it may overflow
                       const auto s = sigmoid(a), db = dy * (a * s), c = minimum(maximum(a, -800), 800);
                       return Halves<std::decay_t<decltype(db)>>{dy * b * (s * (1 + c * (1 - s))), db};
                     }),
  };
  return formulas;
}

}  // namespace tapegrad::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/ops/detail/shapes.h>

namespace tapegrad {
namespace {

HWY_EXPORT(gate_formulas);

const GateFormulas& gates() { return chosen<HWY_DISPATCH_TABLE(gate_formulas)>(); }

const ElementwiseOp kPrelu{"prelu"};
const Op kGlu{"glu"};
const Op kSwiglu{"swiglu"};

constexpr int64_t kGrain = 16384;  // elements for one thread to take at a time

Tensor gated(const Op& op, const GateKernels& kernels, const Tensor& x, int64_t axis) {
  require_floating(op.name, {&x});
  const int i = normal_axis(op.name, axis, x.shape());
  require(x.shape()[i] % 2 == 0, op, "expected an even size along axis {}, got shape {}", axis, x.shape());
  const OuterAxisInner whole(x.shape(), i);
  const int64_t half = whole.size / 2 * whole.inner;
  Tensor y = Tensor::empty(with_size(x.shape(), i, x.shape()[i] / 2), x.dtype());
  const Tensor in = packed(x);
  const GateArgs args{.dtype = x.dtype(), .half = half, .x = in.raw_data(), .dy = nullptr, .y = y.mutable_raw_data()};
  parallel_for(y.numel(), kGrain, [&](int64_t begin, int64_t end) { kernels.forward(args, begin, end); });
  if (!needs_grad(x)) return y;
  return record(op, y, {x}, [&kernels, x, i, half](const Tensor& dy) -> Grads {
    if (Tape::current()) {
      const int64_t size = x.shape()[i] / 2;
      const auto [da, db] = kernels.recorded(dy, narrow(x, i, 0, size), narrow(x, i, size, size));
      return cat({da, db}, i);
    }
    Tensor dx = Tensor::empty(x.shape(), x.dtype());
    const Tensor in = packed(x), out = packed(dy);
    const GateArgs args{
        .dtype = x.dtype(), .half = half, .x = in.raw_data(), .dy = out.raw_data(), .y = dx.mutable_raw_data()};
    parallel_for(out.numel(), kGrain, [&](int64_t begin, int64_t end) { kernels.backward(args, begin, end); });
    return dx;
  });
}

}  // namespace

Tensor glu(const Tensor& x, int64_t axis) { return gated(kGlu, gates().glu, x, axis); }
Tensor swiglu(const Tensor& x, int64_t axis) { return gated(kSwiglu, gates().swiglu, x, axis); }

Tensor prelu(const Tensor& x, const Tensor& weight) {
  require_floating(kPrelu.name, {&x, &weight});
  const bool per_channel = x.dim() >= 2 && weight.dim() == 1 && weight.size(0) == x.size(1);
  require(weight.numel() == 1 || per_channel, kPrelu,
          "expected a weight of one element, or one per channel (axis 1 of x), got weight {} for {}", weight.shape(),
          x.shape());
  Shape shape;  // [C, 1, 1, ...], which broadcasts to x
  if (weight.numel() != 1) {
    shape.push_back(weight.size(0));
    for (int i = 2; i < x.dim(); ++i) shape.push_back(1);
  }
  const Tensor w = weight.reshape(shape);
  Tensor y = compute(gates().prelu, x.shape(), {&x, &w});
  const bool wants_x = needs_grad(x), wants_w = needs_grad(w);
  if (!wants_x && !wants_w) return y;
  return record(kPrelu, y, {x, w}, [wants_w, x, w = kept_if(wants_x, w)](const Tensor& dy) -> Grads {
    return {w.defined() ? derive(gates().prelu_grad_x, {&dy, &x, &w}) : Tensor(),
            wants_w ? derive(gates().prelu_grad_weight, {&dy, &x}) : Tensor()};
  });
}

}  // namespace tapegrad
#endif  // HWY_ONCE
