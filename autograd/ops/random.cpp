// Tensors of random numbers: shapes and types around the fills of a Generator.
#include <fmt/format.h>
#include <tapegrad/autograd/ops/kernel.h>
#include <tapegrad/autograd/random.h>

namespace tapegrad {
namespace {

Generator& given(Generator* generator) { return generator ? *generator : default_generator(); }

// A fresh tensor whose n values `fill(values, n)` writes.
template <class F>
Tensor filled(std::string_view where, const Shape& shape, DType dtype, const F& fill) {
  require_floating(where, dtype);
  const Tensor y = Tensor::empty(shape, dtype);
  with_floating_type(dtype, [&](auto t) { fill(y.mutable_data<decltype(t)>(), y.numel()); });
  return y;
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

Tensor randint(int64_t low, int64_t high, const Shape& shape, Generator* generator) {
  const Tensor y = Tensor::empty(shape, kInt64);
  given(generator).randint(y.mutable_data<int64_t>(), y.numel(), low, high);
  return y;
}

Tensor randperm(int64_t n, Generator* generator) {
  if (n < 0) fail("randperm", fmt::format("expected a length of 0 or more, got {}", n));
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
  if (weights.dim() != 1 && weights.dim() != 2) {
    fail("multinomial", fmt::format("expected weights [n] or [rows, n], got {}", str(weights.shape())));
  }
  if (samples < 1) fail("multinomial", fmt::format("expected 1 sample or more, got {}", samples));
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
