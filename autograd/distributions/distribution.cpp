// What all distributions have.
#include <tapegrad/autograd/dist.h>
#include <tapegrad/autograd/distributions/detail/parameters.h>
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/tape.h>

#include <algorithm>
#include <limits>

namespace tapegrad::dist {

// --- parameters ---

void broadcast_together(std::string_view where,
                        std::initializer_list<std::pair<Tensor*, const Parameter*>> parameters) {
  DType dtype = kBool;
  Shape shape;
  for (const auto& [to, p] : parameters) {
    if (!p->tensor().defined()) continue;
    if (!is_floating(p->tensor().dtype()) && p->tensor().dtype() != kInt64) {
      fail(where, "expected float32 or float64, got {} of shape {} (convert with to(kFloat32))", p->tensor().dtype(),
           p->tensor().shape());
    }
    dtype = std::max(dtype, p->tensor().dtype());
    shape = broadcast(where, shape, p->tensor().shape());
  }
  if (!is_floating(dtype)) dtype = kFloat32;
  for (const auto& [to, p] : parameters)
    *to = p->tensor().defined() ? p->tensor().to(dtype).expand(shape) : full(shape, p->number(), dtype);
}

void require(std::string_view where, std::string_view rule, const Tensor& x, const Tensor& holds) {
  if (all(holds)) return;
  const Tensor values = x.detach().expand(holds.shape());
  const std::vector<bool> fits = holds.to_vector<bool>();
  const auto at = static_cast<int64_t>(std::find(fits.begin(), fits.end(), false) - fits.begin());
  const double wrong = values.contiguous().reshape({-1})[at].item();
  fail(where, "expected {}, got {}{}", rule, wrong,
       values.dim() == 0 ? "" : fmt::format(" at element {} of {}", at, str(values.shape())));
}

void require_finite(std::string_view where, std::string_view what, const Tensor& x) {
  require(where, fmt::format("a finite {}", what), x, isfinite(x));
}

void require_positive(std::string_view where, std::string_view what, const Tensor& x) {
  require(where, fmt::format("{} > 0", what), x, gt(x, 0));
}

void require_probabilities(std::string_view where, std::string_view what, const Tensor& x) {
  require(where, fmt::format("0 <= {} <= 1", what), x, logical_and(ge(x, 0), le(x, 1)));
}

void require_counts(std::string_view where, std::string_view what, const Tensor& x) {
  require(where, fmt::format("{} to be a whole number of 0 or more", what), x,
          logical_and(ge(x, 0), logical_and(eq(floor(x), x), isfinite(x))));
}

Tensor in_type(const Tensor& value, DType dtype) { return value.to(dtype); }

// --- functions ---

Tensor weighted_log(const Tensor& a, const Tensor& x) {
  // elsewhere it is written so that a has its derivative, log(x), at 0, too
  const Tensor nothing = logical_and(eq(a, 0), eq(x, 0));
  return where(nothing, 0., a * log(where(nothing, 1., x)));
}

Tensor soft(const Tensor& x) { return -log_sigmoid(-x); }

namespace {
Tensor inside(const Tensor& p) {
  const double eps =
      p.dtype() == kFloat32 ? double{std::numeric_limits<float>::epsilon()} : std::numeric_limits<double>::epsilon();
  return clamp(p, eps, 1 - eps);
}
}  // namespace

Tensor log_odds(const Tensor& p) {
  const Tensor c = inside(p);
  return log(c) - log1p(-c);
}

Tensor log_of_probs(const Tensor& p) { return log(inside(p)); }

Shape joined(const Shape& a, const Shape& b) {
  Shape shape = a;
  for (const int64_t size : b) shape.push_back(size);
  return shape;
}

Shape first_axes(const Shape& shape, int count) { return {shape.begin(), count}; }
Shape last_axes(const Shape& shape, int count) { return {shape.end() - count, count}; }

// --- the base ---

void Distribution::fail(std::string_view message) const { tapegrad::fail(name_, message); }

void Distribution::take(std::initializer_list<std::pair<Tensor*, const Parameter*>> parameters) {
  broadcast_together(name_, parameters);
  const Tensor& first = *parameters.begin()->first;
  dtype_ = first.dtype(), batch_ = first.shape();
}

Shape Distribution::drawn(const Shape& shape) const { return joined(joined(shape, batch_), event_); }

Tensor Distribution::sample(const Shape& shape, Generator* generator) const {
  const PauseRecording pause;
  return draw(drawn(shape), generator).detach();
}

Tensor Distribution::rsample(const Shape& shape, Generator* generator) const {
  if (!has_rsample()) fail("has no rsample: its samples are not a differentiable function (use sample and log_prob)");
  return draw(drawn(shape), generator);
}

Tensor Distribution::entropy() const { fail("has no formula of its entropy"); }
Tensor Distribution::mean() const { fail("has no formula of its mean"); }
Tensor Distribution::variance() const { fail("has no formula of its variance"); }
Tensor Distribution::stddev() const { return sqrt(variance()); }

Tensor Distribution::divergence(const Distribution& q) const {
  if (const std::optional<Tensor> found = divergence_between_families(*this, q)) return *found;
  tapegrad::fail("kl_divergence", "expected two distributions with a formula, got {} and {}", name_, q.name_);
}

Tensor kl_divergence(const Distribution& p, const Distribution& q) { return p.divergence(q); }

}  // namespace tapegrad::dist
