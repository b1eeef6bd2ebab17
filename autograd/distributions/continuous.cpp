// Exponential, Laplace and uniform distributions.
#include <tapegrad/autograd/dist.h>
#include <tapegrad/autograd/distributions/detail/gamma_terms.h>
#include <tapegrad/autograd/distributions/detail/parameters.h>
#include <tapegrad/autograd/random.h>

#include <limits>

namespace tapegrad::dist {

// --- exponential ---

Exponential::Exponential(const Parameter& rate) : Distribution("Exponential") {
  take({{&rate_, &rate}});
  require_positive(name_, "rate", rate_);
}

Tensor Exponential::draw(const Shape& shape, Generator* generator) const {
  return exponential(shape, 1, dtype_, generator) / rate_;
}

Tensor Exponential::log_prob(const Tensor& value) const {
  const Tensor x = in_type(value, dtype_);
  require(name_, "value >= 0", x, ge(x, 0));
  return log(rate_) - rate_ * x;
}

Tensor Exponential::entropy() const { return 1 - log(rate_); }
Tensor Exponential::mean() const { return reciprocal(rate_); }
Tensor Exponential::variance() const { return reciprocal(square(rate_)); }

Tensor Exponential::divergence(const Distribution& q) const {
  const auto* other = dynamic_cast<const Exponential*>(&q);
  if (!other) return Distribution::divergence(q);
  return excess(wide(other->rate_), wide(rate_)).to(promoted_type(dtype_, q.dtype()));
}

// --- Laplace ---

Laplace::Laplace(const Parameter& loc, const Parameter& scale) : Distribution("Laplace") {
  take({{&loc_, &loc}, {&scale_, &scale}});
  require_finite(name_, "loc", loc_);
  require_positive(name_, "scale", scale_);
}

Tensor Laplace::draw(const Shape& shape, Generator* generator) const {
  const double eps =
      dtype_ == kFloat32 ? double{std::numeric_limits<float>::epsilon()} : std::numeric_limits<double>::epsilon();
  const Tensor u = uniform(shape, eps - 1, 1, dtype_, generator);
  return loc_ - scale_ * sign(u) * log1p(-abs(u));
}

Tensor Laplace::log_prob(const Tensor& value) const {
  const Tensor x = in_type(value, dtype_);
  require(name_, "a value that is a number", x, eq(x, x));
  return -log(2 * scale_) - abs(x - loc_) / scale_;
}

Tensor Laplace::entropy() const { return 1 + log(2 * scale_); }
Tensor Laplace::variance() const { return 2 * square(scale_); }

Tensor Laplace::divergence(const Distribution& q) const {
  const auto* other = dynamic_cast<const Laplace*>(&q);
  if (!other) return Distribution::divergence(q);
  const Tensor scale = wide(scale_), far = wide(other->scale_), apart = abs(wide(loc_) - wide(other->loc_)) / scale;
  return (excess(scale, far) + scale / far * (apart + expm1(-apart))).to(promoted_type(dtype_, q.dtype()));
}

// --- uniform ---

Uniform::Uniform(const Parameter& low, const Parameter& high) : Distribution("Uniform") {
  take({{&low_, &low}, {&high_, &high}});
  require_finite(name_, "low", low_);
  require_finite(name_, "high", high_);
  require(name_, "low < high", low_, lt(low_, high_));
}

Tensor Uniform::draw(const Shape& shape, Generator* generator) const {
  return low_ + rand(shape, dtype_, generator) * (high_ - low_);
}

Tensor Uniform::log_prob(const Tensor& value) const {
  const Tensor x = in_type(value, dtype_);
  require(name_, "low <= value <= high", x, logical_and(ge(x, low_), le(x, high_)));
  return where(lt(x, high_), -log(high_ - low_), -std::numeric_limits<double>::infinity());
}

Tensor Uniform::entropy() const { return log(high_ - low_); }
Tensor Uniform::mean() const { return (high_ + low_) / 2; }
Tensor Uniform::variance() const { return square(high_ - low_) / 12; }

Tensor Uniform::divergence(const Distribution& q) const {
  const auto* other = dynamic_cast<const Uniform*>(&q);
  if (!other) return Distribution::divergence(q);
  const Tensor inside = logical_and(le(other->low_, low_), ge(other->high_, high_));
  // halves: the width of all numbers overflows
  const Tensor ratio = (other->high_ / 2 - other->low_ / 2) / (high_ / 2 - low_ / 2);
  return where(inside, log(ratio), std::numeric_limits<double>::infinity());
}

}  // namespace tapegrad::dist
