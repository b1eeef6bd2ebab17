// Terms of densities that have gamma functions.
#include <tapegrad/autograd/distributions/detail/gamma_terms.h>
#include <tapegrad/autograd/distributions/detail/parameters.h>
#include <tapegrad/autograd/fuse.h>
#include <tapegrad/autograd/special.h>

namespace tapegrad::dist {
namespace {

constexpr double kFar = 10;  // from here on, the series below have all digits

// series(x) where x is large, direct(x) elsewhere.
Tensor by_size(const Tensor& x, auto series, auto direct) {
  const Tensor large = ge(x, kFar);
  return where(large, fuse(series, where(large, x, kFar)), direct(where(large, kFar, x)));
}

Tensor near_each_other(const Tensor& apart, const Tensor& y) { return lt(abs(apart.detach()), 0.5 * y.detach()); }

}  // namespace

Tensor lgamma_rest(const Tensor& x) {
  const auto series = [](auto v) {
    const auto z = 1 / (v * v);
    const auto high = z * (1. / 1188 - z * (691. / 360360 - z * (1. / 156 - z * (3617. / 122400))));
    return (1. / 12 - z * (1. / 360 - z * (1. / 1260 - z * (1. / 1680 - high)))) / v;
  };
  return by_size(x, series, [](const Tensor& v) {
    return lgamma(v) - fuse([](auto u) { return (u - 0.5) * log(u) - u + kHalfLogTwoPi; }, v);
  });
}

Tensor digamma_rest(const Tensor& x) {
  const auto series = [](auto v) {
    const auto z = 1 / (v * v);
    const auto high = z * (1. / 132 - z * (691. / 32760 - z * (1. / 12 - z * (3617. / 8160))));
    return -z * (1. / 12 - z * (1. / 120 - z * (1. / 252 - z * (1. / 240 - high))));
  };
  return by_size(x, series,
                 [](const Tensor& v) { return digamma(v) - fuse([](auto u) { return log(u) - 0.5 / u; }, v); });
}

Tensor rest_divergence(const Tensor& a, const Tensor& b) {
  return lgamma_rest(b) - lgamma_rest(a) - (b - a) * digamma_rest(a);
}

Tensor gamma_scale(const Tensor& a) { return 0.5 * log(a) - kHalfLogTwoPi - lgamma_rest(a); }

Tensor half_step(const Tensor& a) { return a * log1p(0.5 / a) - 0.5 + lgamma_rest(a + 0.5) - lgamma_rest(a); }

Tensor half_step_slope(const Tensor& a) {
  return log1p(0.5 / a) - 0.5 / (a + 0.5) + 0.5 / a + digamma_rest(a + 0.5) - digamma_rest(a);
}

Tensor gamma_entropy(const Tensor& a) {
  return 0.5 + kHalfLogTwoPi + 0.5 * log(a) - 0.5 / a + lgamma_rest(a) - (a - 1) * digamma_rest(a);
}

Tensor log_ratio(const Tensor& apart, const Tensor& y, const Tensor& far) {
  const Tensor near = near_each_other(apart, y);
  return where(near, log1p(where(near, apart, 0.) / y), far);
}

Tensor excess(const Tensor& x, const Tensor& y) {
  const Tensor apart = x - y, near = near_each_other(apart, y), part = where(near, apart, 0.) / y;
  return where(near, part - log1p(part), apart / y - log(x / y));
}

Tensor relative_entropy(const Tensor& x, const Tensor& y, const Tensor& log_x, const Tensor& log_y) {
  const Tensor none = eq(x, 0), apart = y - x, near = near_each_other(apart, x);
  const Tensor part = where(near, apart, 0.) / where(near, x, 1.);
  const Tensor far = x * (where(none, 0., log_x) - where(none, 0., log_y)) + apart;
  return where(near, x * (part - log1p(part)), far);
}

Tensor power_term(const Tensor& x, const Tensor& t, const Tensor& a, const Tensor& apart) {
  const Tensor none = eq(x, 0), some = where(none, 1., x);
  const Tensor inside = a * log_ratio(where(none, 0., apart), a, log(some * t / a)) - log(some);
  return any(none) ? where(none, weighted_log(a - 1, x) + a * log(t / a), inside) : inside;
}

}  // namespace tapegrad::dist
