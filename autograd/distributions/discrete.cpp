// Bernoulli and categorical distributions.
#include <tapegrad/autograd/dist.h>
#include <tapegrad/autograd/distributions/detail/gamma_terms.h>
#include <tapegrad/autograd/distributions/detail/parameters.h>
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/random.h>

#include <limits>

namespace tapegrad::dist {

// --- two outcomes ---

Tensor Chances::log(bool of_p, const Tensor& certain) const {
  if (!logits.defined()) return of_p ? tapegrad::log(where(certain, 1., p)) : log1p(-where(certain, 0., p));
  return where(certain, 0., log_sigmoid(of_p ? logits : -logits));
}

Chances chances_of(const Tensor& probs, const Tensor& logits) {
  if (probs.defined()) return {probs, 1 - probs, {}};
  return {sigmoid(logits), sigmoid(-logits), logits};
}

Tensor divergence_of_chances(const Chances& from, const Chances& to) {
  const auto part = [&](bool of_p) {
    const Tensor &x = of_p ? from.p : from.q, none = eq(x, 0);
    return relative_entropy(x, of_p ? to.p : to.q, from.log(of_p, none), to.log(of_p, none));
  };
  return part(true) + part(false);
}

// --- Bernoulli ---

Bernoulli::Bernoulli(const Parameter& probs) : Bernoulli() {
  take({{&probs_, &probs}});
  require_probabilities(name_, "probs", probs_);
}

Bernoulli Bernoulli::from_logits(const Parameter& logits) {
  Bernoulli b;
  b.take({{&b.logits_, &logits}});
  require(b.name_, "logits that are numbers", b.logits_, eq(b.logits_, b.logits_));
  return b;
}

Tensor Bernoulli::probs() const { return probs_.defined() ? probs_ : sigmoid(logits_); }
Tensor Bernoulli::logits() const { return logits_.defined() ? logits_ : log_odds(probs_); }

Tensor Bernoulli::draw(const Shape& shape, Generator* generator) const {
  return bernoulli(probs().expand(shape), generator);
}

Tensor Bernoulli::log_prob(const Tensor& value) const {
  const Tensor x = in_type(value, dtype_), l = logits();
  require(name_, "a value of 0 or 1", x, logical_or(eq(x, 0), eq(x, 1)));
  return where(eq(x, 1), log_sigmoid(l), log_sigmoid(-l));
}

Tensor Bernoulli::entropy() const {
  const Tensor l = clamp(logits(), -1e30, 1e30), p = probs();  // 0 times an infinite logit is a certain value, not NaN
  return -(p * log_sigmoid(l) + (1 - p) * log_sigmoid(-l));
}

Tensor Bernoulli::variance() const {
  const Tensor p = probs();
  return p * (1 - p);
}

Tensor Bernoulli::divergence(const Distribution& q) const {
  const auto* other = dynamic_cast<const Bernoulli*>(&q);
  if (!other) return Distribution::divergence(q);
  return divergence_of_chances(chances_of(probs_, logits_), chances_of(other->probs_, other->logits_));
}

// --- categorical ---

namespace {

// Checks what both constructors are given.
Tensor classes(std::string_view where, std::string_view what, const Tensor& given) {
  const Parameter parameter(given);
  Tensor x;
  broadcast_together(where, {{&x, &parameter}});
  require(x.dim() != 0 && x.size(-1) != 0, where, "expected {} of shape [batch, n] with n > 0, got {}", what,
          x.shape());
  return x;
}

}  // namespace

Categorical::Categorical(const Tensor& probs) : Categorical() {
  const Tensor x = classes(name_, "probs", probs);
  require(name_, "probs >= 0 and finite", x, logical_and(ge(x, 0), isfinite(x)));
  const Tensor total = sum(x, -1, true);
  require(name_, "probs with a sum > 0", total, gt(total, 0));
  probs_ = x / total;
  dtype_ = x.dtype(), batch_ = first_axes(x.shape(), x.dim() - 1);
}

Categorical Categorical::from_logits(const Tensor& logits) {
  Categorical c;
  const Tensor x = classes(c.name_, "logits", logits);
  require(c.name_, "logits that are numbers", x, eq(x, x));
  c.logits_ = x - logsumexp(x, -1, true);
  c.dtype_ = x.dtype(), c.batch_ = first_axes(x.shape(), x.dim() - 1);
  return c;
}

Tensor Categorical::probs() const { return probs_.defined() ? probs_ : softmax(logits_, -1); }
Tensor Categorical::logits() const { return logits_.defined() ? logits_ : log_of_probs(probs_); }

Tensor Categorical::draw(const Shape& shape, Generator* generator) const {
  const Tensor p = probs();
  const int64_t n = p.size(-1), rows = batch_.numel(), count = first_axes(shape, shape.rank() - batch_.rank()).numel();
  if (rows * count == 0) return zeros(shape, kInt64);
  // one number per row is drawn in another way than several, as in PyTorch
  const Tensor drawn = multinomial(p.reshape({rows, n}), count, count > 1, generator);
  return drawn.t().reshape(shape).contiguous();
}

Tensor Categorical::log_prob(const Tensor& value) const {
  const Tensor l = logits();
  const int64_t n = l.size(-1);
  const Tensor x = value.to(kInt64);
  Tensor valid = logical_and(ge(value, 0), lt(value, static_cast<double>(n)));
  if (value.dtype() != kInt64) valid = logical_and(valid, eq(x, value));
  require(name_, fmt::format("a class from 0 to {}", n - 1), value, valid);
  const Shape shape = broadcast(name_, value.shape(), batch_);
  return gather(l.expand(joined(shape, {n})), -1, x.expand(shape).unsqueeze(-1)).squeeze(-1);
}

Tensor Categorical::entropy() const {
  const double lowest =
      dtype_ == kFloat32 ? double{std::numeric_limits<float>::lowest()} : std::numeric_limits<double>::lowest();
  return -sum(clamp(logits(), lowest, {}) * probs(), -1);
}

Tensor Categorical::divergence(const Distribution& q) const {
  const auto* other = dynamic_cast<const Categorical*>(&q);
  if (!other) return Distribution::divergence(q);
  const Tensor p = probs(), none = eq(p, 0);
  const auto log_of = [&](const Categorical& c) {
    return c.logits_.defined() ? where(none, 0., c.logits_) : log(where(none, 1., c.probs_));
  };
  return sum(p * (log_of(*this) - log_of(*other)), -1);
}

}  // namespace tapegrad::dist
