// Tensors of random numbers: shapes and types around the fills of a Generator.
#include <fmt/format.h>
#include <tapegrad/autograd/random.h>

namespace tapegrad {
namespace {

Generator& given(Generator* generator) { return generator ? *generator : default_generator(); }

void need_floating(std::string_view where, DType dtype) {
  if (!is_floating(dtype)) fail(where, fmt::format("dtype {}, need float32 or float64", name(dtype)));
}

// A fresh tensor whose n values `fill(values, n)` writes.
template <class F>
Tensor filled(std::string_view where, const Shape& shape, DType dtype, const F& fill) {
  need_floating(where, dtype);
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
  if (n < 0) fail("randperm", fmt::format("length {}, need one that is not negative", n));
  const Tensor y = Tensor::empty({n}, kInt64);
  given(generator).randperm(y.mutable_data<int64_t>(), n);
  return y;
}

Tensor bernoulli(const Tensor& p, Generator* generator) {
  need_floating("bernoulli", p.dtype());
  const Tensor packed = p.detach().contiguous();
  const Tensor drawn = Tensor::empty(p.shape(), kBool);
  with_floating_type(p.dtype(), [&](auto t) {
    given(generator).bernoulli(reinterpret_cast<uint8_t*>(drawn.mutable_data<bool>()), packed.data<decltype(t)>(),
                               p.numel());
  });
  return drawn.to(p.dtype());
}

Tensor multinomial(const Tensor& weights, int64_t samples, bool replacement, Generator* generator) {
  need_floating("multinomial", weights.dtype());
  if (weights.dim() != 1 && weights.dim() != 2) {
    fail("multinomial", fmt::format("weights of shape {}, need [n] or [rows, n]", str(weights.shape())));
  }
  if (samples < 1) fail("multinomial", fmt::format("{} samples, need at least one", samples));
  const Tensor packed = weights.detach().contiguous();
  const int64_t n = weights.size(-1), rows = weights.dim() == 1 ? 1 : weights.size(0);
  const Tensor y = Tensor::empty(weights.dim() == 1 ? Shape{samples} : Shape{rows, samples}, kInt64);
  int64_t* out = y.mutable_data<int64_t>();
  with_floating_type(weights.dtype(), [&](auto t) {
    const auto* w = packed.data<decltype(t)>();
    for (int64_t r = 0; r < rows; ++r)
      given(generator).multinomial(out + r * samples, samples, w + r * n, n, replacement);
  });
  return y;
}

}  // namespace tapegrad
