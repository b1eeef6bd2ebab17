// The multivariate normal distribution.
#include <tapegrad/autograd/dist.h>
#include <tapegrad/autograd/distributions/detail/gamma_terms.h>
#include <tapegrad/autograd/distributions/detail/parameters.h>
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/linalg.h>
#include <tapegrad/autograd/random.h>

namespace tapegrad::dist {
namespace {

constexpr double kLogTwoPi = 1.8378770664093453;

// |L^-1 x|^2, x [..., n].
Tensor squared_length(const Tensor& tril, const Tensor& x) {
  const Tensor y = triangular_solve(tril, x.unsqueeze(-1), {});
  return sum(square(y.squeeze(-1)), -1);
}

// log(det(L)).
Tensor log_det(const Tensor& tril) { return sum(log(diagonal(tril, 0, -2, -1)), -1); }

}  // namespace

MultivariateNormal::MultivariateNormal(const Tensor& loc, const Tensor& covariance) : MultivariateNormal() {
  if (covariance.dim() < 2 || covariance.size(-1) != covariance.size(-2)) {
    fail(fmt::format("expected a covariance of shape [..., n, n], got {}", str(covariance.shape())));
  }
  require_types(loc, covariance, "covariance");
  const Tensor mirrored = covariance.t();
  require(name_, "a symmetric covariance", covariance, isclose(covariance, mirrored, 1e-5, 1e-6));
  Tensor tril;
  try {
    tril = cholesky(covariance);
  } catch (const Error& error) {
    fail(fmt::format("expected a positive definite covariance: {}", error.what()));
  }
  set(loc, tril, "covariance");
}

MultivariateNormal MultivariateNormal::from_scale_tril(const Tensor& loc, const Tensor& scale_tril) {
  MultivariateNormal m;
  if (scale_tril.dim() < 2 || scale_tril.size(-1) != scale_tril.size(-2)) {
    m.fail(fmt::format("expected a scale_tril of shape [..., n, n], got {}", str(scale_tril.shape())));
  }
  m.require_types(loc, scale_tril, "scale_tril");
  require(m.name_, "a lower triangular scale_tril", scale_tril, eq(tril(scale_tril), scale_tril));
  require_positive(m.name_, "the diagonal of scale_tril", diagonal(scale_tril, 0, -2, -1));
  m.set(loc, scale_tril, "scale_tril");
  return m;
}

void MultivariateNormal::require_types(const Tensor& loc, const Tensor& of, std::string_view what) const {
  if (!is_floating(loc.dtype()) || loc.dtype() != of.dtype()) {
    fail(fmt::format("expected loc and {} of one type, float32 or float64, got {} and {}", what,
                     tapegrad::name(loc.dtype()), tapegrad::name(of.dtype())));
  }
}

void MultivariateNormal::set(const Tensor& loc, const Tensor& tril, std::string_view what) {
  if (loc.dim() == 0 || loc.size(-1) != tril.size(-1)) {
    fail(fmt::format("expected loc [..., n] and {} [..., n, n] with the same n, got {} and {}", what, str(loc.shape()),
                     str(tril.shape())));
  }
  require_finite(name_, "loc", loc);
  const int64_t n = loc.size(-1);
  dtype_ = loc.dtype(), event_ = {n};
  batch_ = broadcast(name_, first_axes(loc.shape(), loc.dim() - 1), first_axes(tril.shape(), tril.dim() - 2));
  loc_ = loc.expand(joined(batch_, {n}));
  tril_ = tril.expand(joined(batch_, {n, n}));
}

Tensor MultivariateNormal::draw(const Shape& shape, Generator* generator) const {
  const Tensor x = randn(shape, dtype_, generator);
  return loc_ + matmul(tril_, x.unsqueeze(-1)).squeeze(-1);
}

Tensor MultivariateNormal::covariance() const { return matmul(tril_, tril_.t()); }
Tensor MultivariateNormal::variance() const { return sum(square(tril_), -1); }

Tensor MultivariateNormal::log_prob(const Tensor& value) const {
  const Tensor x = in_type(value, dtype_);
  require(name_, "a value that is a number", x, eq(x, x));
  const auto n = static_cast<double>(event_[0]);
  return -0.5 * (n * kLogTwoPi + squared_length(tril_, x - loc_)) - log_det(tril_);
}

Tensor MultivariateNormal::entropy() const {
  return 0.5 * static_cast<double>(event_[0]) * (1 + kLogTwoPi) + log_det(tril_);
}

Tensor MultivariateNormal::divergence(const Distribution& q) const {
  const auto* other = dynamic_cast<const MultivariateNormal*>(&q);
  if (!other) return Distribution::divergence(q);
  if (event_ != other->event_) {
    tapegrad::fail("kl_divergence", "expected vectors of one length, got {} and {}", event_, other->event_);
  }
  const Tensor tril = wide(other->tril_), ratio = triangular_solve(tril, wide(tril_), {});
  const Tensor scales = diagonal(ratio, 0, -2, -1), distance = squared_length(tril, wide(loc_) - wide(other->loc_));
  const Tensor squares = sum(square(scales - 1), -1) + sum(square(tapegrad::tril(ratio, -1)), {-2, -1}) + distance;
  return (sum(excess(scales, ones_like(scales)), -1) + 0.5 * squares).to(promoted_type(dtype_, q.dtype()));
}

}  // namespace tapegrad::dist
