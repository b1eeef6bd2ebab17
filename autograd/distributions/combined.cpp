// Distributions made of others: independent axes, transformed numbers, mixtures.
#include <fmt/format.h>
#include <tapegrad/autograd/dist.h>
#include <tapegrad/autograd/distributions/detail/parameters.h>
#include <tapegrad/autograd/op.h>

#include <numbers>

namespace tapegrad::dist {
namespace {

// The sum along the last `count` axes.
Tensor sum_last(const Tensor& x, int64_t count) {
  if (count == 0) return x;
  Dims axes;
  for (int64_t i = 1; i <= count; ++i) axes.push_back(-i);
  return sum(x, Axes(axes));
}

}  // namespace

// --- independent ---

Independent::Independent(std::shared_ptr<const Distribution> base, int64_t axes)
    : Distribution("Independent"), base_(std::move(base)), axes_(axes) {
  const Shape& batch = base_->batch_shape();
  if (axes < 0 || axes > batch.rank()) {
    fail(fmt::format("expected 0 <= axes <= {}, got {} ({} has the batch shape {})", batch.rank(), axes, base_->name(),
                     str(batch)));
  }
  const auto kept = batch.rank() - static_cast<int>(axes);
  dtype_ = base_->dtype(), batch_ = first_axes(batch, kept);
  event_ = joined(last_axes(batch, static_cast<int>(axes)), base_->event_shape());
}

Tensor Independent::summed(const Tensor& x) const { return sum_last(x, axes_); }
Tensor Independent::log_prob(const Tensor& value) const { return summed(base_->log_prob(value)); }
Tensor Independent::entropy() const { return summed(base_->entropy().expand(base_->batch_shape())); }
Tensor Independent::draw(const Shape& shape, Generator* generator) const { return base_->draw(shape, generator); }

Tensor Independent::divergence(const Distribution& q) const {
  const auto* other = dynamic_cast<const Independent*>(&q);
  if (!other || other->axes_ != axes_) return Distribution::divergence(q);
  return summed(kl_divergence(*base_, *other->base_));
}

// --- transformed ---

Transform exp_transform() {
  return {[](const Tensor& x) { return exp(x); }, [](const Tensor& y) { return log(y); },
          [](const Tensor& x, const Tensor&) { return x; }};
}

Transform sigmoid_transform() {
  return {[](const Tensor& x) { return sigmoid(x); }, [](const Tensor& y) { return log(y) - log1p(-y); },
          [](const Tensor& x, const Tensor&) { return log_sigmoid(x) + log_sigmoid(-x); }};
}

Transform tanh_transform() {
  return {[](const Tensor& x) { return tanh(x); }, [](const Tensor& y) { return atanh(y); },
          // log(1 - tanh(x)^2), without cancellation for large |x|
          [](const Tensor& x, const Tensor&) { return 2 * (std::numbers::ln2 - x - soft(-2 * x)); }};
}

Transform affine_transform(const Parameter& loc, const Parameter& scale) {
  Tensor m, s;
  broadcast_together("affine_transform", {{&m, &loc}, {&s, &scale}});
  require("affine_transform", "scale != 0", s, ne(s, 0));
  const auto typed = [](const Tensor& p, const Tensor& x) { return p.to(x.dtype()); };
  return {[=](const Tensor& x) { return typed(m, x) + typed(s, x) * x; },
          [=](const Tensor& y) { return (y - typed(m, y)) / typed(s, y); },
          [=](const Tensor& x, const Tensor&) { return log(abs(typed(s, x))) + zeros_like(x); }};
}

Transformed::Transformed(std::shared_ptr<const Distribution> base, std::vector<Transform> transforms)
    : Distribution("Transformed"), base_(std::move(base)), transforms_(std::move(transforms)) {
  for (const Transform& t : transforms_) {
    if (!t.forward || !t.inverse || !t.log_slope) fail("expected transforms with forward, inverse and log_slope");
  }
  dtype_ = base_->dtype(), batch_ = base_->batch_shape(), event_ = base_->event_shape();
}

Tensor Transformed::draw(const Shape& shape, Generator* generator) const {
  std::vector<Tensor> steps{base_->draw(shape, generator)};
  for (const Transform& t : transforms_) steps.push_back(t.forward(steps.back()));
  const std::lock_guard lock(last_->mutex);
  last_->steps = steps;
  last_->value = steps.back().detach().clone();
  return steps.back();
}

std::vector<Tensor> Transformed::steps_to(const Tensor& value) const {
  const std::lock_guard lock(last_->mutex);
  if (last_->steps.empty()) return {};
  const bool is_last =
      value.dtype() == last_->value.dtype() && value.shape() == last_->value.shape() && equal(value, last_->value);
  return is_last ? last_->steps : std::vector<Tensor>();
}

namespace {

// x, of which y was drawn, with the gradient of t.inverse(y) where that is finite.
Tensor remembered(const Transform& t, const Tensor& x, const Tensor& y) {
  const Tensor saturated = logical_not(isfinite(t.inverse(y.detach())));
  const Tensor inverse = t.inverse(where(saturated, t.forward(zeros_like(x)).detach(), y));
  return needs_grad(inverse) ? x + where(saturated, 0, inverse - inverse.detach()) : x;
}

}  // namespace

Tensor Transformed::log_prob(const Tensor& value) const {
  const std::vector<Tensor> steps = steps_to(value);
  const bool recorded = !steps.empty() && needs_grad(value) && value.tape_index() == steps.back().tape_index();
  Tensor y = in_type(value, dtype_), slopes;
  for (std::size_t i = transforms_.size(); i-- > 0;) {
    const Transform& t = transforms_[i];
    const Tensor x = steps.empty() ? t.inverse(y) : recorded ? steps[i] : remembered(t, steps[i].detach(), y);
    const Tensor slope = t.log_slope(x, y);
    slopes = slopes.defined() ? slopes + slope : slope;
    y = x;
  }
  const Tensor log = base_->log_prob(y);
  return slopes.defined() ? log - sum_last(slopes, event_.rank()) : log;
}

// --- mixture ---

MixtureSameFamily::MixtureSameFamily(const Categorical& mixture, std::shared_ptr<const Distribution> components)
    : Distribution("MixtureSameFamily"), mixture_(mixture), components_(std::move(components)) {
  const Shape expected = joined(mixture_.batch_shape(), {mixture_.probs().size(-1)});
  if (components_->batch_shape() != expected) {
    fail(fmt::format("expected components of batch shape {}, got {}", str(expected), str(components_->batch_shape())));
  }
  if (components_->dtype() != mixture_.dtype()) {
    fail(fmt::format("expected a mixture and components of one type, got {} and {}", tapegrad::name(mixture_.dtype()),
                     tapegrad::name(components_->dtype())));
  }
  dtype_ = components_->dtype(), batch_ = mixture_.batch_shape(), event_ = components_->event_shape();
}

Tensor MixtureSameFamily::draw(const Shape& shape, Generator* generator) const {
  const Shape count = first_axes(shape, shape.rank() - batch_.rank() - event_.rank());
  Tensor chosen = mixture_.sample(count, generator);
  const Tensor all = components_->sample(count, generator);
  Shape each = joined(joined(count, batch_), {1});
  for (int i = 0; i < event_.rank(); ++i) each.push_back(1);
  const int64_t axis = -1 - event_.rank();
  chosen = chosen.reshape(each).expand(joined(joined(joined(count, batch_), {1}), event_));
  return gather(all, axis, chosen).squeeze(axis);
}

Tensor MixtureSameFamily::log_prob(const Tensor& value) const {
  const Tensor x = in_type(value, dtype_).unsqueeze(-1 - event_.rank());
  return logsumexp(components_->log_prob(x) + mixture_.logits(), -1);
}

Tensor MixtureSameFamily::mean() const {
  Tensor p = mixture_.probs();
  for (int i = 0; i < event_.rank(); ++i) p = p.unsqueeze(-1);
  return sum(p * components_->mean(), -1 - event_.rank());
}

Tensor MixtureSameFamily::variance() const {
  Tensor p = mixture_.probs();
  for (int i = 0; i < event_.rank(); ++i) p = p.unsqueeze(-1);
  const int64_t axis = -1 - event_.rank();
  const Tensor means = components_->mean(), from = means - sum(p * means, axis, true);
  return sum(p * components_->variance(), axis) + sum(p * square(from), axis);
}

}  // namespace tapegrad::dist
