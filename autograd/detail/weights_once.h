// Linear layers in generation, where a few rows meet weights that are read from memory.
#pragma once

#include <tapegrad/autograd/int8.h>

#include <span>

namespace tapegrad::detail {

/// While one is alive on this thread, linear() with float32 weights reads them once for up to 16 rows of x, and the
/// bits of a row do not depend on the other rows, as it always is with bfloat16 and int8. (Elsewhere products of few
/// rows have the bits of training.) Nothing may be recorded.
class WeightsOnce {
 public:
  WeightsOnce() : before_(on_) { on_ = true; }
  ~WeightsOnce() { on_ = before_; }
  WeightsOnce(const WeightsOnce&) = delete;
  WeightsOnce& operator=(const WeightsOnce&) = delete;
  static bool on() { return on_; }

 private:
  [[gnu::tls_model("initial-exec")]] static inline constinit thread_local bool on_ = false;
  bool before_;
};

/// The arguments of linear() apart from x: a weight as a tensor, or else in int8.
struct LinearWeight {
  const Tensor& weight;
  Int8Matrix int8;
  const Tensor& bias;
};

/// linear(x, ...) with each weight, to `results`. Weights that are read once are read in one loop.
void linear_each(const Tensor& x, std::span<const LinearWeight> weights, std::span<Tensor> results);

/// For linear(): are there few rows of x, and no gradients, while a WeightsOnce is alive?
bool streams_few(const Tensor& x, const Tensor& weight, const Tensor& bias);
/// The product itself, unchecked: at most kMostStreams weights in float32 (few rows only), bfloat16 or int8.
inline constexpr std::size_t kMostStreams = 4;
void stream(const Tensor& x, std::span<const LinearWeight> weights, std::span<Tensor> results);

}  // namespace tapegrad::detail
