// Gamma, beta and Dirichlet distributions.
#include <tapegrad/autograd/dist.h>
#include <tapegrad/autograd/distributions/detail/gamma_terms.h>
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

// A number of a standard gamma distribution, and the logarithm of one that is too small for a double, otherwise 0.
struct GammaNumber {
  GammaNumber(double d, double v, double scale, double log_scale) : value(scale * d * v) {
    if (value < 0x1p-960) log = log_scale + fixed::log(d * v);
  }
  double value, log = 0;
};

// T is the type of the shape: Marsaglia and Tsang 2000. PyTorch has some constants in float, and computes with the
// shape in its own type.
template <class T>
GammaNumber gamma_number(T shape, detail::HeldGenerator& from) {
  double scale = 1, log_scale = 0;
  if (shape < 1) {  // of shape + 1, times u^(1 / shape)
    const double u = 1 - from.uniform(), power = static_cast<double>(1 / shape);
    scale = fixed::pow(u, power);
    if (scale < 0x1p-900) log_scale = power * fixed::log(u);
    shape += 1;
  }
  const double d = shape - T{1.0F / 3}, c = 1 / std::sqrt(9 * d);
  for (;;) {
    double x = 0;
    do x = from.normal();
    while (1 + c * x <= 0);
    const double y = 1 + c * x, v = y * y * y, u = 1 - from.uniform(), xx = x * x;
    if (u < 1 - double{0.0331F} * xx * xx) return {d, v, scale, log_scale};
    const auto excess = [&](auto log) { return log(u) - (0.5 * xx + d * (1 - v + log(v))); };
    if (fixed::with_sign_of(excess, 0x1p-34 * (d + 1)) < 0) return {d, v, scale, log_scale};
  }
}

// The smallest normal number.
double smallest(DType dtype) {
  return dtype == kFloat32 ? double{std::numeric_limits<float>::min()} : std::numeric_limits<double>::min();
}

// Gamma numbers, and their logarithms where they are too small.
Tensor gamma_numbers(const Tensor& concentration, Generator* generator, std::vector<double>* logs = nullptr) {
  const Tensor y = Tensor::empty(concentration.shape(), concentration.dtype());
  with_floating_type(y.dtype(), [&]<class T>(T) {
    const std::vector<T> shapes = concentration.detach().to_vector<T>();
    T* const out = y.mutable_data<T>();
    detail::HeldGenerator from(generator ? *generator : default_generator());
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      const GammaNumber number = gamma_number(shapes[i], from);
      out[i] = std::max(std::numeric_limits<T>::min(), static_cast<T>(number.value));
      if (logs) logs->push_back(number.log);
    }
  });
  return y;
}

// Draws of a Dirichlet distribution: gamma numbers in double over their sum; from their logarithms, where all of a row
// are too small. P(a, g) is nearly g^a / gamma(a + 1) there, whose implicit derivative is that of log(g).
Tensor dirichlet(const Tensor& concentration, Generator* generator) {
  std::vector<double> small;
  const Tensor g = implicit_gamma(concentration, gamma_numbers(concentration.to(kFloat64), generator, &small));
  const DType dtype = concentration.dtype();
  const double below_one = dtype == kFloat32 ? double{std::nextafter(1.0F, 0.0F)} : std::nextafter(1.0, 0.0);
  Tensor y = (g / sum(g, -1, true)).to(dtype);
  const Tensor logs = tensor(small, concentration.shape()), rows = all(lt(logs, 0), -1, true);
  if (any(rows)) {
    const Tensor a = wide(concentration), at = a.detach();
    const Tensor slope = where(rows, (digamma(at + 1) - logs) / at, 0.);
    y = where(rows, softmax(where(rows, logs, 0.) + (a - at) * slope, -1).to(dtype), y);
  }
  return clamp(y, smallest(dtype), below_one);
}

// Of concentrations [..., n]; a beta distribution is one with n = 2.
Tensor dirichlet_entropy(const Tensor& concentration) {
  const Tensor a = wide(concentration), total = sum(a, -1);
  const double n = static_cast<double>(a.size(-1));
  const Tensor of_total = (0.5 - n) * log(total) + 0.5 * n / total - lgamma_rest(total);
  return (sum(gamma_entropy(a), -1) + of_total + (total - n) * digamma_rest(total) - kHalfLogTwoPi - 0.5)
      .to(concentration.dtype());
}

Tensor dirichlet_divergence(const Tensor& from, const Tensor& to) {
  const Tensor a = wide(from), b = wide(to), total = sum(a, -1, true), others = sum(b, -1, true);
  const auto rests = [](const Tensor& x, const Tensor& y) { return 0.5 * excess(y, x) + rest_divergence(x, y); };
  const Tensor terms = b * excess(a * others, b * total) + rests(a, b);
  return (sum(terms, -1) - rests(total, others).squeeze(-1)).to(promoted_type(from.dtype(), to.dtype()));
}

}  // namespace

Tensor standard_gamma(const Tensor& concentration, Generator* generator) {
  return gamma_numbers(concentration, generator);
}

// --- gamma ---

Gamma::Gamma(const Parameter& concentration, const Parameter& rate) : Distribution("Gamma") {
  take({{&concentration_, &concentration}, {&rate_, &rate}});
  require_positive(name_, "concentration", concentration_);
  require_positive(name_, "rate", rate_);
}

Tensor Gamma::draw(const Shape& shape, Generator* generator) const {
  const Tensor a = concentration_.expand(shape);
  return clamp(implicit_gamma(a, standard_gamma(a, generator)) / rate_, smallest(dtype_), {});
}

Tensor Gamma::log_prob(const Tensor& value) const {
  const Tensor x = wide(value), a = wide(concentration_), rate = wide(rate_), apart = rate * x - a;
  require(name_, "value >= 0", x, ge(x, 0));
  return (power_term(x, rate, a, apart) - apart + gamma_scale(a)).to(dtype_);
}

Tensor Gamma::entropy() const { return (gamma_entropy(wide(concentration_)) - log(wide(rate_))).to(dtype_); }
Tensor Gamma::mean() const { return concentration_ / rate_; }
Tensor Gamma::variance() const { return concentration_ / square(rate_); }

Tensor Gamma::divergence(const Distribution& q) const {
  const auto* other = dynamic_cast<const Gamma*>(&q);
  if (!other) return Distribution::divergence(q);
  const Tensor a = wide(concentration_), b = wide(other->concentration_);
  const Tensor scaled = b * excess(a * wide(other->rate_), b * wide(rate_));
  return (scaled + 0.5 * excess(b, a) + rest_divergence(a, b)).to(promoted_type(dtype_, q.dtype()));
}

// --- beta ---

Beta::Beta(const Parameter& concentration1, const Parameter& concentration0) : Distribution("Beta") {
  take({{&a_, &concentration1}, {&b_, &concentration0}});
  require_positive(name_, "concentration1", a_);
  require_positive(name_, "concentration0", b_);
}

Tensor Beta::draw(const Shape& shape, Generator* generator) const {
  return dirichlet(stack({a_.expand(shape), b_.expand(shape)}, -1), generator).select(-1, 0);
}

Tensor Beta::log_prob(const Tensor& value) const {
  const Tensor x = wide(value), y = 1 - x, a = wide(a_), b = wide(b_), total = a + b, apart = x * b - y * a;
  require(name_, "0 <= value <= 1", x, logical_and(ge(x, 0), le(x, 1)));
  const Tensor scale = gamma_scale(a) + gamma_scale(b) - gamma_scale(total);
  return (power_term(x, total, a, apart) + power_term(y, total, b, -apart) + scale).to(dtype_);
}

Tensor Beta::entropy() const { return dirichlet_entropy(stack({a_, b_}, -1)); }
Tensor Beta::mean() const { return a_ / (a_ + b_); }
Tensor Beta::variance() const {
  const Tensor total = a_ + b_;
  return a_ * b_ / (square(total) * (total + 1));
}

Tensor Beta::divergence(const Distribution& q) const {
  const auto* other = dynamic_cast<const Beta*>(&q);
  if (!other) return Distribution::divergence(q);
  return dirichlet_divergence(stack({a_, b_}, -1), stack({other->a_, other->b_}, -1));
}

// --- Dirichlet ---

Dirichlet::Dirichlet(const Tensor& concentration) : Distribution("Dirichlet") {
  const Parameter parameter(concentration);
  take({{&concentration_, &parameter}});
  if (concentration_.dim() == 0) fail("expected a concentration of one axis or more, got a number");
  require_positive(name_, "concentration", concentration_);
  batch_ = first_axes(concentration_.shape(), concentration_.dim() - 1), event_ = last_axes(concentration_.shape(), 1);
}

Tensor Dirichlet::draw(const Shape& shape, Generator* generator) const {
  return dirichlet(concentration_.expand(shape), generator);
}

Tensor Dirichlet::log_prob(const Tensor& value) const {
  const Tensor x = in_type(value, dtype_);
  require(name_, "a value of numbers >= 0 with sum 1", x, logical_and(ge(x, 0), lt(abs(sum(x, -1, true) - 1), 1e-6)));
  const Tensor a = wide(concentration_), y = wide(x), total = sum(a, -1, true);
  const Tensor terms = power_term(y, total, a, y * total - a) + gamma_scale(a);
  return (sum(terms, -1) - gamma_scale(total.squeeze(-1))).to(dtype_);
}

Tensor Dirichlet::entropy() const { return dirichlet_entropy(concentration_); }
Tensor Dirichlet::mean() const { return concentration_ / sum(concentration_, -1, true); }
Tensor Dirichlet::variance() const {
  const Tensor total = sum(concentration_, -1, true);
  return concentration_ * (total - concentration_) / (square(total) * (total + 1));
}

Tensor Dirichlet::divergence(const Distribution& q) const {
  const auto* other = dynamic_cast<const Dirichlet*>(&q);
  if (!other) return Distribution::divergence(q);
  return dirichlet_divergence(concentration_, other->concentration_);
}

}  // namespace tapegrad::dist
