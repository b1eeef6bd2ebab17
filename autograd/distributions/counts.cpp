// Poisson and binomial distributions.
// build: -O2
#include <fmt/format.h>
#include <tapegrad/autograd/dist.h>
#include <tapegrad/autograd/distributions/detail/gamma_terms.h>
#include <tapegrad/autograd/distributions/detail/parameters.h>
#include <tapegrad/autograd/internal/fixed_math.h>
#include <tapegrad/autograd/internal/rough_log.h>
#include <tapegrad/autograd/random.h>
#include <tapegrad/autograd/special.h>
#include <tapegrad/autograd/tape.h>

#include <cmath>

namespace tapegrad::dist {
namespace {

// Of the tests of acceptance with rough logarithms, per unit of the factors of the logarithms: these are within 2^-37,
// the sums are rounded to fewer than 2^-39.
constexpr double kError = 0x1p-34;

// log(k!) minus Stirling's formula, by a table or a series.
double stirling_tail(double k) {
  static constexpr double kTails[] = {0.0810614667953272,  0.0413406959554092, 0.0276779256849983, 0.02079067210376509,
                                      0.0166446911898211,  0.0138761288230707, 0.0118967099458917, 0.0104112652619720,
                                      0.00925546218271273, 0.00833056343336287};
  if (k < 10) return kTails[static_cast<int>(k)];
  const double square = (k + 1) * (k + 1);
  return (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / (k + 1);
}

// log(k!) of the first whole numbers.
constexpr int64_t kFactorials = 256;
const std::vector<double>& log_factorials() {
  static const std::vector<double> table = [] {
    const PauseRecording pause;
    return lgamma(arange(kFactorials).to(kFloat64) + 1).to_vector<double>();
  }();
  return table;
}
// From there on, the rest of Stirling's series is below 1e-19.
double log_factorial(double k, const std::vector<double>& table, auto log) {
  if (k < kFactorials) return table[static_cast<std::size_t>(k)];
  return (k + 0.5) * log(k + 1) - (k + 1) + 0.91893853320467274 + stirling_tail(k);  // log(2 pi) / 2
}

// A Poisson number: for small rates as the count of uniform factors whose product stays above e^-rate, else by
// transformed rejection (Hoermann 1993, PTRS). `about` is e^-rate within 2^-50 of it.
double poisson_number(double rate, double about, detail::HeldGenerator& from, const std::vector<double>& factorials) {
  if (rate == 0) return 0;
  if (rate < 10) {
    const double open = about * 0x1p-49;
    const auto above_limit = [&](double product) {
      return std::abs(product - about) > open ? product > about : product > fixed::exp(-rate);
    };
    double count = 0;
    for (double product = from.uniform(); above_limit(product); product *= from.uniform()) ++count;
    return count;
  }
  const double b = 0.931 + 2.53 * std::sqrt(rate), a = -0.059 + 0.02483 * b;
  const double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4), at_once = 0.9277 - 3.6224 / (b - 2);
  for (;;) {
    const double u = from.uniform() - 0.5, v = from.uniform(), s = 0.5 - std::abs(u);
    const double k = std::floor((2 * a / s + b) * u + rate + 0.43);
    if (s >= 0.07 && v <= at_once) return k;
    if (k < 0 || (s < 0.013 && v > s)) continue;
    const auto excess = [&](auto log) {
      return log(v * inverse_alpha / (a / (s * s) + b)) - (-rate + k * log(rate) - log_factorial(k, factorials, log));
    };
    if (fixed::with_sign_of(excess, kError * (rate + k + 1)) <= 0) return k;
  }
}

// A binomial number for p <= 1/2: for a mean below 10 by the gaps between successes, which are geometric numbers, else
// by transformed rejection (Hoermann 1993, BTRS).
double binomial_number(double count, double p, detail::HeldGenerator& from) {
  if (count * p < 10) {
    // log(1 - p), also for p that 1 - p does not show
    const double failure = 1 - p, log_failure = failure == 1 ? -p : fixed::log(failure) * (p / (1 - failure));
    double successes = 0;
    for (double trials = 0;; ++successes) {
      trials += fixed::ceil_of_quotient(from.uniform(), log_failure);
      if (!(trials <= count)) return successes;
    }
  }
  const double deviation = std::sqrt(count * p * (1 - p)), b = 1.15 + 2.53 * deviation,
               a = -0.0873 + 0.0248 * b + 0.01 * p;
  const double centre = count * p + 0.5, at_once = 0.92 - 4.2 / b, odds = p / (1 - p);
  const double alpha = (2.83 + 5.1 / b) * deviation, mode = std::floor((count + 1) * p);
  for (;;) {
    const double u = from.uniform() - 0.5, v = from.uniform(), s = 0.5 - std::abs(u);
    const double k = std::floor((2 * a / s + b) * u + centre);
    if (s >= 0.07 && v <= at_once) return k;
    if (k < 0 || k > count) continue;
    const auto excess = [&](auto log) {
      const double bound = (mode + 0.5) * log((mode + 1) / (odds * (count - mode + 1))) +
                           (count + 1) * log((count - mode + 1) / (count - k + 1)) +
                           (k + 0.5) * log(odds * (count - k + 1) / (k + 1)) + stirling_tail(mode) +
                           stirling_tail(count - mode) - stirling_tail(k) - stirling_tail(count - k);
      return log(v * alpha / (a / (s * s) + b)) - bound;
    };
    if (fixed::with_sign_of(excess, kError * (count + 1)) <= 0) return k;
  }
}

double any_binomial_number(double count, double p, detail::HeldGenerator& from) {
  if (count <= 0 || p <= 0) return 0;
  if (p >= 1) return count;
  return p <= 0.5 ? binomial_number(count, p, from) : count - binomial_number(count, 1 - p, from);
}

// y[i] = number(a[i], b[i]) for draws from one generator.
Tensor numbers(const Tensor& a, const Tensor& b, Generator* generator, auto number) {
  const std::vector<double> x = a.detach().to(kFloat64).to_vector<double>();
  const std::vector<double> z = b.detach().to(kFloat64).to_vector<double>();
  const Tensor y = Tensor::empty(a.shape(), a.dtype());
  with_floating_type(y.dtype(), [&]<class T>(T) {
    T* const out = y.mutable_data<T>();
    detail::HeldGenerator from(generator ? *generator : default_generator());
    for (std::size_t i = 0; i < x.size(); ++i) out[i] = static_cast<T>(number(x[i], z[i], from));
  });
  return y;
}

}  // namespace

// --- Poisson ---

Poisson::Poisson(const Parameter& rate) : Distribution("Poisson") {
  take({{&rate_, &rate}});
  require(name_, "rate >= 0 and finite", rate_, logical_and(ge(rate_, 0), isfinite(rate_)));
}

Tensor Poisson::draw(const Shape& shape, Generator* generator) const {
  const Tensor rate = rate_.expand(shape);
  const std::vector<double>& factorials = log_factorials();
  const Tensor about = exp(-rate_.detach().to(kFloat64)).expand(shape);
  return numbers(rate, about, generator, [&factorials](double one, double limit, detail::HeldGenerator& from) {
    return poisson_number(one, limit, from, factorials);
  });
}

Tensor Poisson::log_prob(const Tensor& value) const {
  const Tensor k = wide(value), rate = wide(rate_), next = k + 1, apart = rate - next;
  require_counts(name_, "value", k);
  const Tensor certain = logical_and(eq(k, 0), eq(rate, 0));
  const Tensor ratio = log_ratio(apart, next, log(where(certain, 1., rate) / next));
  return (k * ratio - apart - log(next) + gamma_scale(next)).to(dtype_);
}

Tensor Poisson::divergence(const Distribution& q) const {
  const auto* other = dynamic_cast<const Poisson*>(&q);
  if (!other) return Distribution::divergence(q);
  const Tensor a = wide(rate_), b = wide(other->rate_), none = eq(a, 0);
  return relative_entropy(a, b, log(where(none, 1., a)), log(where(none, 1., b))).to(promoted_type(dtype_, q.dtype()));
}

// --- binomial ---

Binomial::Binomial(const Parameter& total_count, const Parameter& probs) : Binomial() {
  take({{&count_, &total_count}, {&probs_, &probs}});
  require_counts(name_, "total_count", count_);
  require_probabilities(name_, "probs", probs_);
}

Binomial Binomial::from_logits(const Parameter& total_count, const Parameter& logits) {
  Binomial b;
  b.take({{&b.count_, &total_count}, {&b.logits_, &logits}});
  require_counts(b.name_, "total_count", b.count_);
  require(b.name_, "logits that are numbers", b.logits_, eq(b.logits_, b.logits_));
  return b;
}

Tensor Binomial::probs() const { return probs_.defined() ? probs_ : sigmoid(logits_); }
Tensor Binomial::logits() const { return logits_.defined() ? logits_ : log_odds(probs_); }

Tensor Binomial::draw(const Shape& shape, Generator* generator) const {
  return numbers(count_.expand(shape), probs().expand(shape), generator, any_binomial_number);
}

Tensor Binomial::log_prob(const Tensor& value) const {
  const Tensor k = wide(value), n = wide(count_), fails = n - k;
  require_counts(name_, "value", k);
  require(name_, "value <= total_count", k, le(k, n));
  // n! / (k! (n - k)!) p^k (1 - p)^(n - k)
  const Chances chances = chances_of(wide(probs_), wide(logits_));
  const Tensor all = n + 1, apart = chances.p * all - k;
  const auto part = [&](const Tensor& count, const Tensor& distance, bool success) {
    const Tensor next = count + 1, certain = logical_and(eq(count, 0), eq(success ? chances.p : chances.q, 0));
    const Tensor ratio = log_ratio(distance, next, chances.log(success, certain) + log(all / next));
    return count * ratio - log(next) + gamma_scale(next);
  };
  return (part(k, apart - 1, true) + part(fails, -apart, false) + 1 + log(all) - gamma_scale(all)).to(dtype_);
}

Tensor Binomial::entropy() const {
  const double n = count_.numel() == 0 ? 0 : amax(count_).item();
  require(name_, fmt::format("equal counts of {} for the entropy", n), count_, eq(count_, n));
  Shape along{static_cast<int64_t>(n) + 1};
  for (int i = 0; i < batch_.rank(); ++i) along.push_back(1);
  const Tensor k = arange(static_cast<int64_t>(n) + 1).reshape(along);
  const Tensor log = log_prob(k.expand(joined({along[0]}, batch_)));
  return -sum(exp(log) * where(eq(log, -HUGE_VAL), 0., log), 0);
}

Tensor Binomial::mean() const { return count_ * probs(); }
Tensor Binomial::variance() const {
  const Tensor p = probs();
  return count_ * p * (1 - p);
}

Tensor Binomial::divergence(const Distribution& q) const {
  const auto* other = dynamic_cast<const Binomial*>(&q);
  if (!other) return Distribution::divergence(q);
  require("kl_divergence", "Binomials with equal counts", count_, eq(count_, other->count_));
  const Tensor one = divergence_of_chances(chances_of(wide(probs_), wide(logits_)),
                                           chances_of(wide(other->probs_), wide(other->logits_)));
  // no trials differ by nothing, also from what is impossible
  return where(eq(count_, 0), 0., wide(count_) * one).to(promoted_type(dtype_, q.dtype()));
}

}  // namespace tapegrad::dist
