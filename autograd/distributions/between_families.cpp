// Divergences between two families: -entropy of p - the mean of log q(x) over x from p.
#include <tapegrad/autograd/distributions/detail/gamma_terms.h>
#include <tapegrad/autograd/distributions/detail/parameters.h>

#include <limits>
#include <memory>
#include <numbers>
#include <optional>
#include <utility>

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

// The mean of positive values, and by how much the mean of their logarithms is less than its logarithm.
struct Positive {
  Tensor mean, gap;
};

// For a uniform distribution, with the width apart (2 mean): the sum of apart^(2k) / (2k (2k + 1)).
Tensor gap_series(const Tensor& apart) {
  const Tensor z = square(apart);
  Tensor sum = zeros_like(z);
  for (double k = 12; k > 0; --k) sum = z * (sum + 1 / (2 * k * (2 * k + 1)));
  return sum;
}

// Of a uniform distribution between low and high; any numbers where low < 0. A bound of 0 has the gradient 0 instead of
// an infinite one.
Positive of_interval(const Tensor& low, const Tensor& high, const Tensor& width) {
  const Tensor fits = ge(low, 0), from = where(fits, low, 0.), to = where(fits, high, 1.);
  const Tensor mean = (from + to) / 2, apart = where(fits, width, 1.) / (from + to);
  const Tensor near = lt(apart, 0.25), a = where(near, 0., from / mean), b = where(near, 2., to / mean);
  const Tensor far = 1 - (weighted_log(b, b) - weighted_log(a, a)) / (2 * where(near, 1., apart));
  return {mean, where(near, gap_series(where(near, apart, 0.)), far)};
}

// Of p, all of whose values are positive; any numbers for others.
Positive of_positive(const Distribution& p) {
  if (is_one_of<Exponential>(p)) return {p.mean(), full_like(p.mean(), std::numbers::egamma)};
  if (const auto* beta = dynamic_cast<const Beta*>(&p)) {
    const Tensor &a = beta->concentration1(), total = a + beta->concentration0();
    return {p.mean(), digamma_rest(total) - digamma_rest(a) + 0.5 * beta->concentration0() / (a * total)};
  }
  if (const auto* gamma = dynamic_cast<const Gamma*>(&p))
    return {p.mean(), 0.5 / gamma->concentration() - digamma_rest(gamma->concentration())};
  if (const auto* uniform = dynamic_cast<const Uniform*>(&p))
    return of_interval(uniform->low(), uniform->high(), uniform->high() - uniform->low());
  return {ones(p.batch_shape(), p.dtype()), zeros(p.batch_shape(), p.dtype())};
}

// The mean of log q(x) over x from p, where that is finite. Powers of x are relative to their largest values, as in
// gamma_terms.h: what cancels between the functions of a density is combined by hand.
Tensor mean_log_prob(const Distribution& p, const Normal& q) {
  return -(p.variance() + square(p.mean() - q.loc())) / (2 * square(q.scale())) - log(q.scale()) - kHalfLogTwoPi;
}
Tensor mean_log_prob(const Distribution& p, const Exponential& q) { return log(q.rate()) - q.rate() * p.mean(); }
Tensor mean_log_prob(const Distribution& p, const Gamma& q) {
  const Tensor& a = q.concentration();
  const auto [mean, gap] = of_positive(p);
  return gamma_scale(a) - a * excess(q.rate() * mean, a) - log(mean) - (a - 1) * gap;
}
Tensor mean_log_prob(const Distribution& p, const Beta& q) {
  const auto* uniform = dynamic_cast<const Uniform*>(&p);
  if (!uniform) return zeros(broadcast("kl_divergence", p.batch_shape(), q.batch_shape()), q.dtype());
  const Tensor &a = q.concentration1(), &b = q.concentration0(), total = a + b;
  const Tensor &low = uniform->low(), &high = uniform->high(), width = high - low;
  const auto [x, gap] = of_interval(low, high, width);
  const auto [y, other] = of_interval(1 - high, 1 - low, width);  // 1 - x is uniform, too
  const Tensor powers = a * excess(x * total, a) + b * excess(y * total, b) + log(x) + log(y);
  return gamma_scale(a) + gamma_scale(b) - gamma_scale(total) - powers - (a - 1) * gap - (b - 1) * other;
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

// The same distribution in float64, in which sizes may cancel.
std::unique_ptr<Distribution> in_float64(const Distribution& d) {
  if (const auto* of = dynamic_cast<const Normal*>(&d))
    return std::make_unique<Normal>(wide(of->loc()), wide(of->scale()));
  if (const auto* of = dynamic_cast<const Laplace*>(&d))
    return std::make_unique<Laplace>(wide(of->loc()), wide(of->scale()));
  if (const auto* of = dynamic_cast<const Uniform*>(&d))
    return std::make_unique<Uniform>(wide(of->low()), wide(of->high()));
  if (const auto* of = dynamic_cast<const Exponential*>(&d)) return std::make_unique<Exponential>(wide(of->rate()));
  if (const auto* of = dynamic_cast<const Gamma*>(&d))
    return std::make_unique<Gamma>(wide(of->concentration()), wide(of->rate()));
  const auto& of = dynamic_cast<const Beta&>(d);
  return std::make_unique<Beta>(wide(of.concentration1()), wide(of.concentration0()));
}

std::optional<Tensor> divergence_of_wide(const Distribution& p, const Distribution& q) {
  if (auto found = divergence_from<Normal>(p, q)) return found;
  if (auto found = divergence_from<Exponential>(p, q)) return found;
  if (auto found = divergence_from<Gamma>(p, q)) return found;
  if (auto found = divergence_from<Beta>(p, q)) return found;
  return divergence_from<Uniform>(p, q);
}

}  // namespace

std::optional<Tensor> divergence_between_families(const Distribution& p, const Distribution& q) {
  if (!is_one_of<Normal, Laplace, Uniform, Exponential, Gamma, Beta>(p)) return std::nullopt;
  if (!is_one_of<Normal, Exponential, Gamma, Beta, Uniform>(q)) return std::nullopt;
  const std::optional<Tensor> found = divergence_of_wide(*in_float64(p), *in_float64(q));
  return found->to(promoted_type(p.dtype(), q.dtype()));
}

}  // namespace tapegrad::dist
