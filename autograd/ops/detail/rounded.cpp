// Autocast, and tensors rounded to bfloat16 for products.
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/kernels/kernel.h>
#include <tapegrad/autograd/kernels/simd/bfloat16.h>
#include <tapegrad/autograd/ops/detail/rounded.h>
#include <tapegrad/autograd/tape.h>

namespace tapegrad {
namespace {

[[gnu::tls_model("initial-exec")]] constinit thread_local Autocast* innermost_autocast = nullptr;

// Whether x's elements fill one range of memory, in any order of the axes; those of stride 0 repeat it.
bool is_dense(const Tensor& x) {
  int order[kMaxRank];
  int axes = 0;
  for (int i = 0; i < x.dim(); ++i) {
    if (x.shape()[i] == 1 || x.strides()[i] == 0) continue;
    int at = axes++;
    for (; at > 0 && x.strides()[order[at - 1]] > x.strides()[i]; --at) order[at] = order[at - 1];
    order[at] = i;
  }
  int64_t step = 1;
  for (int i = 0; i < axes; ++i) {
    if (x.strides()[order[i]] != step) return false;
    step *= x.shape()[order[i]];
  }
  return true;
}

// Not recorded.
Tensor round_values(const Tensor& x) {
  if (x.numel() == 0 || !is_dense(x)) return x.detach().to(kBFloat16);
  int64_t count = 1;
  for (int i = 0; i < x.dim(); ++i) {
    if (x.strides()[i] != 0) count *= x.shape()[i];
  }
  const Tensor y = Tensor::empty({count}, kBFloat16);
  round_to_bfloat16(x.data<float>(), count, static_cast<uint16_t*>(y.mutable_raw_data()));
  return y.view(x.shape(), x.strides());
}

}  // namespace

Autocast::Autocast(DType dtype, bool enabled) : outer_(innermost_autocast), dtype_(enabled ? dtype : kFloat32) {
  require(dtype == kBFloat16 || dtype == kFloat32, "autocast", "expected bfloat16 or float32, got {}", dtype);
  innermost_autocast = this;
}

Autocast::~Autocast() { innermost_autocast = outer_; }

DType Autocast::dtype() { return innermost_autocast ? innermost_autocast->dtype_ : kFloat32; }

Tensor rounded(const Tensor& x) {
  if (x.dtype() == kBFloat16 || x.is_leaf()) return x;
  if (!needs_grad(x)) return round_values(x);
  const Tape* const tape = Tape::current();
  Autocast* const autocast = innermost_autocast;
  if (!autocast) return record_as_to(x, round_values(x));
  for (const Autocast::Rounded& known : autocast->rounded_) {
    if (known.tape == tape && known.of == x.tape_index()) return known.values;
  }
  const Tensor y = record_as_to(x, round_values(x));
  if (y.tape_index().tape == x.tape_index().tape) {  // not of an enclosing tape
    autocast->rounded_[autocast->next_] = {tape, x.tape_index(), y};
    autocast->next_ = (autocast->next_ + 1) % Autocast::kRounded;
  }
  return y;
}

}  // namespace tapegrad
