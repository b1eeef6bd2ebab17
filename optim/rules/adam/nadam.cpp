// NAdam and RAdam.
// build: -O3
#define HWY_TARGET_INCLUDE "tapegrad/optim/rules/adam/nadam.cpp"
#include <tapegrad/autograd/internal/fixed_math.h>
#include <tapegrad/optim/kernels/update-inl.h>
#include <tapegrad/optim/nadam.h>

HWY_BEFORE_NAMESPACE();
namespace tapegrad::HWY_NAMESPACE {

void nadam(const optim::Elements& x, const optim::NAdamOptions& options, double l2, double shrink, double g_rate,
           double m_rate, double bias2) {
  const double beta1 = options.beta1, beta2 = options.beta2, eps = options.eps;
  update<2>(x, [=](auto p, auto g, auto& m, auto& v) {
    g = fma(p, l2, g);
    m = fma(g, 1 - beta1, m * beta1);
    v = v * beta2 + (1 - beta2) * g * g;
    return p * shrink - (g_rate * g + m_rate * m) / (sqrt(v / bias2) + eps);
  });
}

// Not adaptive: without the division by the root of v.
void radam(const optim::Elements& x, const optim::RAdamOptions& options, double l2, double shrink, double rate,
           bool adaptive) {
  const double beta1 = options.beta1, beta2 = options.beta2, eps = options.eps;
  update<2>(x, [=](auto p, auto g, auto& m, auto& v) {
    g = fma(p, l2, g);
    m = fma(g, 1 - beta1, m * beta1);
    v = v * beta2 + (1 - beta2) * g * g;
    const auto direction = rate * m;
    return p * shrink - (adaptive ? direction / (sqrt(v) + eps) : direction);
  });
}

}  // namespace tapegrad::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <tapegrad/optim/detail/check.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace tapegrad::optim {

HWY_EXPORT(nadam);
HWY_EXPORT(radam);

namespace {

// The first product of at least so many steps.
auto first_from(auto& products, int64_t steps) {
  return std::lower_bound(products.begin(), products.end(), steps,
                          [](const auto& product, int64_t t) { return product.steps < t; });
}

}  // namespace

NAdam::NAdam(ParameterGroups parameters, NAdamOptions options)
    : Optimizer(std::move(parameters), options.lr, options.weight_decay, {"m", "v"}), options_(options) {
  check_moments("nadam", options);
  require_in("nadam", "momentum_decay", options.momentum_decay, kNotNegative);
}

double NAdam::mu(int64_t step) const {
  return options_.beta1 * (1 - 0.5 * fixed::pow(0.96, static_cast<double>(step) * options_.momentum_decay));
}

void NAdam::begin_step(int64_t /*steps*/) {
  std::swap(products_, previous_);
  products_.clear();
}

// From the product of the previous step, or from the beginning if a parameter took no part in that (or was loaded).
NAdam::Product NAdam::product_of(int64_t steps) const {
  const auto later = std::upper_bound(previous_.begin(), previous_.end(), steps,
                                      [](int64_t t, const Product& product) { return t < product.steps; });
  Product product = later == previous_.begin() ? Product{0, 1} : *(later - 1);
  while (product.steps < steps) {
    const double next = product.value * mu(product.steps + 1);
    if (next == product.value) break;  // subnormal or 0: it stays as it is, because mu does not decrease
    product = {product.steps + 1, next};
  }
  return {steps, product.value};
}

void NAdam::update_all(const PoolVector<Slot*>& slots) {
  for (const Slot* slot : slots) {
    const auto at = first_from(products_, slot->steps);
    if (at == products_.end() || at->steps != slot->steps) products_.insert(at, product_of(slot->steps));
  }
  Optimizer::update_all(slots);
}

void NAdam::update(const Slot& slot, int64_t begin, int64_t end) {
  const double lr = group_lr(slot.group), decay = weight_decay_of(slot), now = mu(slot.steps),
               next = mu(slot.steps + 1);
  const double product = first_from(products_, slot.steps)->value;
  const double g_rate = lr * (1 - now) / (1 - product), m_rate = lr * next / (1 - product * next);
  const double bias2 = 1 - fixed::pow(options_.beta2, static_cast<double>(slot.steps));
  const bool decoupled = options_.decoupled_weight_decay;
  kernel_of(HWY_DISPATCH_TABLE(nadam))(elements_of(slot, begin, end), options_, decoupled ? 0 : decay,
                                       decoupled ? 1 - lr * decay : 1, g_rate, m_rate, bias2);
}

RAdam::RAdam(ParameterGroups parameters, RAdamOptions options)
    : Optimizer(std::move(parameters), options.lr, options.weight_decay, {"m", "v"}), options_(options) {
  check_moments("radam", options);
}

void RAdam::update(const Slot& slot, int64_t begin, int64_t end) {
  const double lr = group_lr(slot.group), decay = weight_decay_of(slot), t = static_cast<double>(slot.steps);
  const double bias1 = 1 - fixed::pow(options_.beta1, t), power = fixed::pow(options_.beta2, t), bias2 = 1 - power;
  const double longest = 2 / (1 - options_.beta2) - 1;    // length of the average in the limit
  const double length = longest - 2 * t * power / bias2;  // at step t
  const bool adaptive = length > 5;
  double rate = lr / bias1;
  if (adaptive)
    rate *= std::sqrt(bias2 * (length - 4) * (length - 2) * longest / ((longest - 4) * (longest - 2) * length));
  const bool decoupled = options_.decoupled_weight_decay;
  kernel_of(HWY_DISPATCH_TABLE(radam))(elements_of(slot, begin, end), options_, decoupled ? 0 : decay,
                                       decoupled ? 1 - lr * decay : 1, rate, adaptive);
}

}  // namespace tapegrad::optim
#endif  // HWY_ONCE
