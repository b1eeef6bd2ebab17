// Tensors of random numbers: shapes and types for the fills of a Generator, and distributions derived from them.
// build: -O2
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/internal/fixed_math.h>
#include <tapegrad/autograd/kernels/kernel.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/random.h>

#include <algorithm>
#include <numbers>

namespace tapegrad {
namespace {

Generator& given(Generator* generator) { return generator ? *generator : default_generator(); }

// A fresh tensor whose n values `fill(values, n)` writes.
Tensor filled(std::string_view where, const Shape& shape, DType dtype, const auto& fill) {
  require_floating(where, dtype);
  const Tensor y = Tensor::empty(shape, dtype);
  with_floating_type(dtype, [&](auto t) { fill(y.mutable_data<decltype(t)>(), y.numel()); });
  return y;
}

// P(X <= x), X standard normal.
double normal_cdf(double x) { return (1 + fixed::erf(x / std::numbers::sqrt2)) / 2; }

// Normal numbers; as long as one is outside [low, high], all are drawn again, to replace those outside.
template <class T>
void draw_until_inside(Generator& generator, T* out, int64_t n, double mean, double std, T low, T high) {
  const auto outside = [&](T x) { return x < low || x > high; };
  generator.normal(out, n, mean, std);
  if (std::none_of(out, out + n, outside)) return;
  const Tensor again = Tensor::empty({n}, dtype_of<T>());
  T* const fresh = again.mutable_data<T>();
  do {
    generator.normal(fresh, n, mean, std);
    for (int64_t i = 0; i < n; ++i) out[i] = outside(out[i]) ? fresh[i] : out[i];
  } while (std::any_of(out, out + n, outside));
}

}  // namespace

Tensor rand(const Shape& shape, DType dtype, Generator* generator) {
  return filled("rand", shape, dtype, [&](auto* out, int64_t n) { given(generator).uniform(out, n); });
}

Tensor randn(const Shape& shape, DType dtype, Generator* generator) {
  return filled("randn", shape, dtype, [&](auto* out, int64_t n) { given(generator).normal(out, n); });
}

Tensor uniform(const Shape& shape, double from, double to, DType dtype, Generator* generator) {
  return filled("uniform", shape, dtype, [&](auto* out, int64_t n) { given(generator).uniform(out, n, from, to); });
}

Tensor normal(const Shape& shape, double mean, double std, DType dtype, Generator* generator) {
  return filled("normal", shape, dtype, [&](auto* out, int64_t n) { given(generator).normal(out, n, mean, std); });
}

Tensor rand_like(const Tensor& x, Generator* generator) {
  require_floating("rand_like", x.dtype());
  return rand(x.shape(), x.dtype(), generator);
}

Tensor randn_like(const Tensor& x, Generator* generator) {
  require_floating("randn_like", x.dtype());
  return randn(x.shape(), x.dtype(), generator);
}

Tensor exponential(const Shape& shape, double rate, DType dtype, Generator* generator) {
  return filled("exponential", shape, dtype, [&](auto* out, int64_t n) { given(generator).exponential(out, n, rate); });
}

Tensor gumbel(const Shape& shape, DType dtype, Generator* generator) {
  require_floating("gumbel", dtype);
  return -log(exponential(shape, 1, dtype, generator));
}

Tensor truncated_normal(const Shape& shape, double mean, double std, double low, double high, DType dtype,
                        Generator* generator) {
  constexpr std::string_view kWhere = "truncated_normal";
  if (!(std > 0)) fail(kWhere, "expected a positive standard deviation, got {}", std);
  if (!(low < high)) fail(kWhere, "expected low < high, got {} and {}", low, high);
  const double below_low = normal_cdf((low - mean) / std), below_high = normal_cdf((high - mean) / std);
  return filled(kWhere, shape, dtype, [&](auto* out, int64_t n) {
    using T = std::remove_pointer_t<decltype(out)>;
    if (below_high - below_low > 0.3) {
      draw_until_inside(given(generator), out, n, mean, std, static_cast<T>(low), static_cast<T>(high));
      return;
    }
    given(generator).uniform(out, n, 2 * below_low - 1, 2 * below_high - 1);
    const T scale = static_cast<T>(std * std::numbers::sqrt2), shift = static_cast<T>(mean);
    parallel_for(n, 1024, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const T x = static_cast<T>(fixed::erfinv(out[i])) * scale + shift;
        out[i] = std::clamp(x, static_cast<T>(low), static_cast<T>(high));
      }
    });
  });
}

Tensor gumbel_softmax(const Tensor& logits, double tau, bool hard, int64_t axis, Generator* generator) {
  constexpr std::string_view kWhere = "gumbel_softmax";
  require_floating(kWhere, {&logits});
  if (!(tau > 0)) fail(kWhere, "expected a positive temperature, got {}", tau);
  const Tensor y = softmax((logits + gumbel(logits.shape(), logits.dtype(), generator)) / tau, axis);
  if (!hard) return y;
  const Tensor soft = y.detach();
  const int i = normal_axis(kWhere, axis, y.shape());
  Shape along;  // [n, 1, 1, ...]
  along.push_back(y.shape()[i]);
  for (int j = i + 1; j < y.dim(); ++j) along.push_back(1);
  const Tensor corner = eq(arange(y.shape()[i]).reshape(along), argmax(soft, i, true)).to(y.dtype());
  return corner - soft + y;
}

Tensor randint(int64_t low, int64_t high, const Shape& shape, Generator* generator) {
  const Tensor y = Tensor::empty(shape, kInt64);
  given(generator).randint(y.mutable_data<int64_t>(), y.numel(), low, high);
  return y;
}

Tensor randperm(int64_t n, Generator* generator) {
  if (n < 0) fail("randperm", "expected a length of 0 or more, got {}", n);
  const Tensor y = Tensor::empty({n}, kInt64);
  given(generator).randperm(y.mutable_data<int64_t>(), n);
  return y;
}

Tensor bernoulli(const Tensor& p, Generator* generator) {
  require_floating("bernoulli", p.dtype());
  const Tensor from = packed(p);
  const Tensor drawn = Tensor::empty(p.shape(), kBool);
  with_floating_type(p.dtype(), [&](auto t) {
    given(generator).bernoulli(reinterpret_cast<uint8_t*>(drawn.mutable_data<bool>()), from.data<decltype(t)>(),
                               p.numel());
  });
  return drawn.to(p.dtype());
}

Tensor multinomial(const Tensor& weights, int64_t samples, bool replacement, Generator* generator) {
  require_floating("multinomial", weights.dtype());
  require(weights.dim() == 1 || weights.dim() == 2, "multinomial", "expected weights [n] or [rows, n], got {}",
          weights.shape());
  if (samples < 1) fail("multinomial", "expected 1 sample or more, got {}", samples);
  const Tensor from = packed(weights);
  const int64_t n = weights.size(-1), rows = weights.dim() == 1 ? 1 : weights.size(0);
  const Tensor y = Tensor::empty(weights.dim() == 1 ? Shape{samples} : Shape{rows, samples}, kInt64);
  int64_t* out = y.mutable_data<int64_t>();
  with_floating_type(weights.dtype(), [&](auto t) {
    const auto* w = from.data<decltype(t)>();
    for (int64_t r = 0; r < rows; ++r)
      given(generator).multinomial(out + r * samples, samples, w + r * n, n, replacement);
  });
  return y;
}

}  // namespace tapegrad
