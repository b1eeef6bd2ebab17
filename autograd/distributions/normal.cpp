// Normal and log-normal distributions.
#include <tapegrad/autograd/dist.h>
#include <tapegrad/autograd/distributions/detail/gamma_terms.h>
#include <tapegrad/autograd/distributions/detail/parameters.h>
#include <tapegrad/autograd/random.h>
#include <tapegrad/autograd/special.h>

#include <limits>
#include <numbers>

namespace tapegrad::dist {

Normal::Normal(const Parameter& loc, const Parameter& scale) : Distribution("Normal") {
  take({{&loc_, &loc}, {&scale_, &scale}});
  require_finite(name_, "loc", loc_);
  require_positive(name_, "scale", scale_);
}

Tensor Normal::draw(const Shape& shape, Generator* generator) const {
  return loc_ + randn(shape, dtype_, generator) * scale_;
}

Tensor Normal::log_prob(const Tensor& value) const {
  const Tensor x = in_type(value, dtype_);
  require(name_, "a value that is a number", x, eq(x, x));
  return -(square(x - loc_) / (2 * square(scale_))) - log(scale_) - kHalfLogTwoPi;
}

Tensor Normal::entropy() const { return 0.5 + kHalfLogTwoPi + log(scale_); }
Tensor Normal::variance() const { return square(scale_); }

Tensor Normal::cdf(const Tensor& value) const {
  return 0.5 * erfc((loc_ - in_type(value, dtype_)) / (scale_ * std::numbers::sqrt2));
}

Tensor Normal::icdf(const Tensor& p) const {
  const Tensor x = in_type(p, dtype_);
  require_probabilities(name_, "p", x);
  return loc_ + scale_ * (std::numbers::sqrt2 * erfinv(2 * x - 1));
}

Tensor Normal::divergence(const Distribution& q) const {
  if (const auto* normal = dynamic_cast<const Normal*>(&q)) {
    const Tensor scale = wide(scale_), other = wide(normal->scale_), from = wide(loc_) - wide(normal->loc_);
    const Tensor squares = square((scale - other) / other) + square(from / other);
    return (excess(scale, other) + 0.5 * squares).to(promoted_type(dtype_, q.dtype()));
  }
  if (const auto* laplace = dynamic_cast<const Laplace*>(&q)) {
    // E|x - m| of a normal number is scale sqrt(2 / pi) e^(-d^2 / 2) + (loc - m) erf(d / sqrt(2)), d = (loc - m) /
    // scale
    const Tensor from = loc_ - laplace->loc(), d = from / scale_;
    const Tensor mean = scale_ * (std::numbers::sqrt2 * std::numbers::inv_sqrtpi) * exp(-0.5 * square(d)) +
                        from * erf(d / std::numbers::sqrt2);
    return mean / laplace->scale() + log(2 * laplace->scale()) - entropy();
  }
  return Distribution::divergence(q);
}

// --- log-normal ---

LogNormal::LogNormal(const Parameter& loc, const Parameter& scale) try : Distribution("LogNormal"), base_(loc, scale) {
  dtype_ = base_.dtype(), batch_ = base_.batch_shape();
} catch (const Error& error) {
  // the same text with this name
  const std::string_view text = error.what();
  tapegrad::fail("LogNormal", text.substr(text.find("] ") + 2));
}

Tensor LogNormal::draw(const Shape& shape, Generator* generator) const {
  return exp(loc() + randn(shape, dtype_, generator) * scale());
}

Tensor LogNormal::log_prob(const Tensor& value) const {
  const Tensor x = in_type(value, dtype_);
  require_positive(name_, "value", x);
  const Tensor y = log(x);
  return base_.log_prob(y) - y;
}

Tensor LogNormal::entropy() const { return base_.entropy() + loc(); }
Tensor LogNormal::mean() const { return exp(loc() + square(scale()) / 2); }
Tensor LogNormal::variance() const { return expm1(square(scale())) * exp(2 * loc() + square(scale())); }

Tensor LogNormal::divergence(const Distribution& q) const {
  if (const auto* other = dynamic_cast<const LogNormal*>(&q)) return kl_divergence(base_, other->base_);
  return Distribution::divergence(q);
}

// --- Student's t ---

StudentT::StudentT(const Parameter& df, const Parameter& loc, const Parameter& scale) : Distribution("StudentT") {
  take({{&df_, &df}, {&loc_, &loc}, {&scale_, &scale}});
  require_positive(name_, "df", df_);
  require_finite(name_, "loc", loc_);
  require_positive(name_, "scale", scale_);
}

Tensor StudentT::draw(const Shape& shape, Generator* generator) const {
  const Tensor x = randn(shape, dtype_, generator);
  // chi^2 of df degrees of freedom is twice a gamma number of df / 2
  const Tensor half = (0.5 * df_).expand(shape);
  const Tensor z = implicit_gamma(half, standard_gamma(half, generator)) / 0.5;
  return loc_ + scale_ * (x * rsqrt(z / df_));
}

Tensor StudentT::log_prob(const Tensor& value) const {
  const Tensor half = 0.5 * wide(df_), scale = wide(scale_), y = (wide(value) - wide(loc_)) / scale;
  require(name_, "a value that is a number", y, eq(y, y));
  const Tensor z = log(scale) + kHalfLogTwoPi - half_step(half);
  return (-(half + 0.5) * log1p(0.5 * square(y) / half) - z).to(dtype_);
}

Tensor StudentT::entropy() const {
  const Tensor half = 0.5 * wide(df_);
  return (log(wide(scale_)) + (half + 0.5) * half_step_slope(half) + kHalfLogTwoPi - half_step(half)).to(dtype_);
}

Tensor StudentT::mean() const { return where(gt(df_, 1), loc_, std::numeric_limits<double>::quiet_NaN()); }

Tensor StudentT::variance() const {
  const Tensor finite = gt(df_, 2);
  const Tensor safe = where(finite, df_, 3.);
  const Tensor y = square(scale_) * (safe / (safe - 2));
  const Tensor wide = where(finite, y, std::numeric_limits<double>::infinity());
  return where(gt(df_, 1), wide, std::numeric_limits<double>::quiet_NaN());
}

}  // namespace tapegrad::dist
