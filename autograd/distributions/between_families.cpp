// Divergences between two families: -entropy of p - the mean of log q(x) over x from p.
// build: -Os
#include <tapegrad/autograd/distributions/detail/parameters.h>
#include <tapegrad/autograd/special.h>

#include <limits>
#include <numbers>
#include <optional>

namespace tapegrad::dist {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();

template <class... Families>
bool is_one_of(const Distribution& d) {
  return ((dynamic_cast<const Families*>(&d) != nullptr) || ...);
}

// Where all values of p are in [low, high], which q's density is 0 outside of.
Tensor within(const Distribution& p, const Tensor& low, const Tensor& high) {
  if (const auto* uniform = dynamic_cast<const Uniform*>(&p)) {
    return logical_and(le(low, uniform->low()), le(uniform->high(), high));
  }
  const double least = is_one_of<Normal, Laplace>(p) ? -kInfinite : 0, most = is_one_of<Beta>(p) ? 1 : kInfinite;
  return logical_and(le(low, least), ge(high, most)).expand(broadcast("kl_divergence", low.shape(), p.batch_shape()));
}

// The mean of log(x) between low and high; any number where low < 0. Bounds of 0 have the gradient 0 instead of an
// infinite one.
Tensor mean_log_between(const Tensor& low, const Tensor& high) {
  const Tensor fits = ge(low, 0), from = where(fits, low, 0.), to = where(fits, high, 1.);
  const Tensor narrow = ge(from, to);  // but for rounding
  const Tensor mean = (weighted_log(to, to) - weighted_log(from, from)) / where(narrow, 1., to - from) - 1;
  return where(narrow, log(where(narrow, to, 1.)), mean);
}

// The mean of log(x) for x from p, all of whose values are positive; any number for others.
Tensor mean_log(const Distribution& p) {
  if (const auto* exponential = dynamic_cast<const Exponential*>(&p)) {
    return -std::numbers::egamma - log(exponential->rate());
  }
  if (const auto* gamma = dynamic_cast<const Gamma*>(&p)) return digamma(gamma->concentration()) - log(gamma->rate());
  if (const auto* beta = dynamic_cast<const Beta*>(&p)) {
    return digamma(beta->concentration1()) - digamma(beta->concentration1() + beta->concentration0());
  }
  if (const auto* uniform = dynamic_cast<const Uniform*>(&p)) return mean_log_between(uniform->low(), uniform->high());
  return zeros(p.batch_shape(), p.dtype());
}

// The mean of log q(x) over x from p, where that is finite.
Tensor mean_log_prob(const Distribution& p, const Normal& q) {
  return -(p.variance() + square(p.mean() - q.loc())) / (2 * square(q.scale())) - log(q.scale()) - kHalfLogTwoPi;
}
Tensor mean_log_prob(const Distribution& p, const Exponential& q) { return log(q.rate()) - q.rate() * p.mean(); }
Tensor mean_log_prob(const Distribution& p, const Gamma& q) {
  const Tensor& a = q.concentration();
  return a * log(q.rate()) - lgamma(a) + (a - 1) * mean_log(p) - q.rate() * p.mean();
}
Tensor mean_log_prob(const Distribution& p, const Beta& q) {
  const Tensor &a = q.concentration1(), &b = q.concentration0();
  Tensor result = lgamma(a + b) - lgamma(a) - lgamma(b) + (a - 1) * mean_log(p);
  if (const auto* uniform = dynamic_cast<const Uniform*>(&p)) {  // 1 - x is uniform, too
    result = result + (b - 1) * mean_log_between(1 - uniform->high(), 1 - uniform->low());
  }
  return result;
}
Tensor mean_log_prob(const Distribution& p, const Uniform& q) {
  return (-log(q.high() - q.low())).expand(broadcast("kl_divergence", p.batch_shape(), q.batch_shape()));
}

// The support of q.
std::pair<double, double> bounds_of(const Distribution& q) {
  if (is_one_of<Exponential, Gamma>(q)) return {0, kInfinite};
  if (is_one_of<Beta>(q)) return {0, 1};
  return {-kInfinite, kInfinite};
}

template <class Q>
std::optional<Tensor> divergence_from(const Distribution& p, const Distribution& q) {
  const auto* family = dynamic_cast<const Q*>(&q);
  if (!family) return std::nullopt;
  Tensor low, high;
  if constexpr (std::is_same_v<Q, Uniform>) {
    low = family->low(), high = family->high();
  } else {
    const auto [from, to] = bounds_of(q);
    low = scalar(from, q.dtype()), high = scalar(to, q.dtype());
  }
  return where(within(p, low, high), -p.entropy() - mean_log_prob(p, *family), kInfinite);
}

}  // namespace

std::optional<Tensor> divergence_between_families(const Distribution& p, const Distribution& q) {
  if (!is_one_of<Normal, Laplace, Uniform, Exponential, Gamma, Beta>(p)) return std::nullopt;
  if (auto found = divergence_from<Normal>(p, q)) return found;
  if (auto found = divergence_from<Exponential>(p, q)) return found;
  if (auto found = divergence_from<Gamma>(p, q)) return found;
  if (auto found = divergence_from<Beta>(p, q)) return found;
  return divergence_from<Uniform>(p, q);
}

}  // namespace tapegrad::dist
