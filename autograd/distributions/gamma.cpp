// Gamma, beta and Dirichlet distributions.
// build: -Os
#include <fmt/format.h>
#include <tapegrad/autograd/dist.h>
#include <tapegrad/autograd/distributions/detail/parameters.h>
#include <tapegrad/autograd/internal/fixed_math.h>
#include <tapegrad/autograd/internal/rough_log.h>
#include <tapegrad/autograd/random.h>
#include <tapegrad/autograd/special.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace tapegrad::dist {
namespace {

// A number of a standard gamma distribution, T the type of its shape: Marsaglia and Tsang 2000. PyTorch has some
// constants in float, and computes with the shape in its own type.
template <class T>
double gamma_number(T shape, detail::HeldGenerator& from) {
  double scale = 1;
  if (shape < 1) {  // of shape + 1, times u^(1 / shape)
    scale = fixed::pow(1 - from.uniform(), static_cast<double>(1 / shape));
    shape += 1;
  }
  const double d = shape - T{1.0F / 3}, c = 1 / std::sqrt(9 * d);
  for (;;) {
    double x = 0;
    do x = from.normal();
    while (1 + c * x <= 0);
    const double y = 1 + c * x, v = y * y * y, u = 1 - from.uniform(), xx = x * x;
    if (u < 1 - double{0.0331F} * xx * xx) return scale * d * v;
    const auto excess = [&](auto log) { return log(u) - (0.5 * xx + d * (1 - v + log(v))); };
    if (fixed::with_sign_of(excess, 0x1p-34 * (d + 1)) < 0) return scale * d * v;
  }
}

// The smallest normal number.
double smallest(DType dtype) {
  return dtype == kFloat32 ? double{std::numeric_limits<float>::min()} : std::numeric_limits<double>::min();
}

// Draws of a Dirichlet distribution: gamma numbers in double over their sum.
Tensor dirichlet(const Tensor& concentration, Generator* generator) {
  const Tensor g = implicit_gamma(concentration, standard_gamma(concentration.to(kFloat64), generator));
  const DType dtype = concentration.dtype();
  const double below_one = dtype == kFloat32 ? double{std::nextafter(1.0F, 0.0F)} : std::nextafter(1.0, 0.0);
  return clamp((g / sum(g, -1, true)).to(dtype), smallest(dtype), below_one);
}

}  // namespace

Tensor standard_gamma(const Tensor& concentration, Generator* generator) {
  const Tensor y = Tensor::empty(concentration.shape(), concentration.dtype());
  with_floating_type(y.dtype(), [&](auto t) {
    using T = decltype(t);
    const std::vector<T> shapes = concentration.detach().to_vector<T>();
    T* const out = y.mutable_data<T>();
    detail::HeldGenerator from(generator ? *generator : default_generator());
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      out[i] = std::max(std::numeric_limits<T>::min(), static_cast<T>(gamma_number(shapes[i], from)));
    }
  });
  return y;
}

// --- gamma ---

Gamma::Gamma(const Parameter& concentration, const Parameter& rate) : Distribution("Gamma") {
  const std::vector<Tensor> both = broadcast_together(name_, {&concentration, &rate});
  concentration_ = both[0], rate_ = both[1];
  require_positive(name_, "concentration", concentration_);
  require_positive(name_, "rate", rate_);
  dtype_ = rate_.dtype(), batch_ = rate_.shape();
}

Tensor Gamma::draw(const Shape& shape, Generator* generator) const {
  const Tensor a = concentration_.expand(shape);
  return clamp(implicit_gamma(a, standard_gamma(a, generator)) / rate_, smallest(dtype_), {});
}

Tensor Gamma::log_prob(const Tensor& value) const {
  const Tensor x = in_type(value, dtype_);
  require(name_, "value >= 0", x, ge(x, 0));
  return concentration_ * log(rate_) + weighted_log(concentration_ - 1, x) - rate_ * x - lgamma(concentration_);
}

Tensor Gamma::entropy() const {
  return concentration_ - log(rate_) + lgamma(concentration_) + (1 - concentration_) * digamma(concentration_);
}
Tensor Gamma::mean() const { return concentration_ / rate_; }
Tensor Gamma::variance() const { return concentration_ / square(rate_); }

Tensor Gamma::divergence(const Distribution& q) const {
  const auto* other = dynamic_cast<const Gamma*>(&q);
  if (!other) return Distribution::divergence(q);
  const Tensor &a = concentration_, &b = other->concentration_;
  return b * log(rate_ / other->rate_) + lgamma(b) - lgamma(a) + (a - b) * digamma(a) +
         (other->rate_ - rate_) * (a / rate_);
}

// --- beta ---

Beta::Beta(const Parameter& concentration1, const Parameter& concentration0) : Distribution("Beta") {
  const std::vector<Tensor> both = broadcast_together(name_, {&concentration1, &concentration0});
  a_ = both[0], b_ = both[1];
  require_positive(name_, "concentration1", a_);
  require_positive(name_, "concentration0", b_);
  dtype_ = a_.dtype(), batch_ = a_.shape();
}

Tensor Beta::draw(const Shape& shape, Generator* generator) const {
  return dirichlet(stack({a_.expand(shape), b_.expand(shape)}, -1), generator).select(-1, 0);
}

Tensor Beta::log_prob(const Tensor& value) const {
  const Tensor x = in_type(value, dtype_);
  require(name_, "0 <= value <= 1", x, logical_and(ge(x, 0), le(x, 1)));
  return weighted_log(a_ - 1, x) + weighted_log(b_ - 1, 1 - x) + lgamma(a_ + b_) - (lgamma(a_) + lgamma(b_));
}

Tensor Beta::entropy() const {
  const Tensor total = a_ + b_;
  return lgamma(a_) + lgamma(b_) - lgamma(total) - (2 - total) * digamma(total) - (a_ - 1) * digamma(a_) -
         (b_ - 1) * digamma(b_);
}
Tensor Beta::mean() const { return a_ / (a_ + b_); }
Tensor Beta::variance() const {
  const Tensor total = a_ + b_;
  return a_ * b_ / (square(total) * (total + 1));
}

Tensor Beta::divergence(const Distribution& q) const {
  const auto* other = dynamic_cast<const Beta*>(&q);
  if (!other) return Distribution::divergence(q);
  const Tensor total = a_ + b_, others = other->a_ + other->b_;
  return lgamma(total) - lgamma(others) + lgamma(other->a_) - lgamma(a_) + lgamma(other->b_) - lgamma(b_) +
         (a_ - other->a_) * digamma(a_) + (b_ - other->b_) * digamma(b_) - (total - others) * digamma(total);
}

// --- Dirichlet ---

Dirichlet::Dirichlet(const Tensor& concentration) : Distribution("Dirichlet") {
  const Parameter parameter(concentration);
  concentration_ = broadcast_together(name_, {&parameter})[0];
  if (concentration_.dim() == 0) fail("expected a concentration of one axis or more, got a number");
  require_positive(name_, "concentration", concentration_);
  dtype_ = concentration_.dtype();
  batch_ = first_axes(concentration_.shape(), concentration_.dim() - 1), event_ = last_axes(concentration_.shape(), 1);
}

Tensor Dirichlet::draw(const Shape& shape, Generator* generator) const {
  return dirichlet(concentration_.expand(shape), generator);
}

Tensor Dirichlet::log_prob(const Tensor& value) const {
  const Tensor x = in_type(value, dtype_);
  require(name_, "a value of numbers >= 0 with sum 1", x, logical_and(ge(x, 0), lt(abs(sum(x, -1, true) - 1), 1e-6)));
  return sum(weighted_log(concentration_ - 1, x), -1) + lgamma(sum(concentration_, -1)) -
         sum(lgamma(concentration_), -1);
}

Tensor Dirichlet::entropy() const {
  const Tensor total = sum(concentration_, -1);
  return sum(lgamma(concentration_), -1) - lgamma(total) - (static_cast<double>(event_[0]) - total) * digamma(total) -
         sum((concentration_ - 1) * digamma(concentration_), -1);
}
Tensor Dirichlet::mean() const { return concentration_ / sum(concentration_, -1, true); }
Tensor Dirichlet::variance() const {
  const Tensor total = sum(concentration_, -1, true);
  return concentration_ * (total - concentration_) / (square(total) * (total + 1));
}

Tensor Dirichlet::divergence(const Distribution& q) const {
  const auto* other = dynamic_cast<const Dirichlet*>(&q);
  if (!other) return Distribution::divergence(q);
  const Tensor &a = concentration_, &b = other->concentration_, total = sum(a, -1, true);
  return lgamma(total.squeeze(-1)) - lgamma(sum(b, -1)) - sum(lgamma(a) - lgamma(b), -1) +
         sum((a - b) * (digamma(a) - digamma(total)), -1);
}

}  // namespace tapegrad::dist
