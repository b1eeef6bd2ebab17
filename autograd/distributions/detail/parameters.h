// What the distributions share: checks of parameters and values, and functions with the limits that densities need.
#pragma once

#include <tapegrad/autograd/dist.h>
#include <tapegrad/autograd/ops.h>

#include <initializer_list>
#include <optional>
#include <string_view>
#include <utility>

namespace tapegrad::dist {

inline constexpr double kHalfLogTwoPi = 0.91893853320467274;  // log(2 pi) / 2

/// Sets each tensor to its parameter, all in one floating type and shape.
void broadcast_together(std::string_view where, std::initializer_list<std::pair<Tensor*, const Parameter*>> parameters);

/// Error "[where] expected <rule>, got <the first wrong element>" unless `holds` is true everywhere. `rule` is like
/// "scale > 0".
void require(std::string_view where, std::string_view rule, const Tensor& x, const Tensor& holds);
/// Error unless every element is finite; `what` names the tensor ("loc").
void require_finite(std::string_view where, std::string_view what, const Tensor& x);
/// Error unless every element is above 0.
void require_positive(std::string_view where, std::string_view what, const Tensor& x);
/// Error unless every element is in [0, 1].
void require_probabilities(std::string_view where, std::string_view what, const Tensor& x);
/// Error unless every element is a whole number of 0 or more.
void require_counts(std::string_view where, std::string_view what, const Tensor& x);

/// The value, converted to the distribution's type.
Tensor in_type(const Tensor& value, DType dtype);

/// a log(x); 0, with a gradient of 0, where a and x are both 0.
Tensor weighted_log(const Tensor& a, const Tensor& x);
/// log(1 + e^x).
Tensor soft(const Tensor& x);
/// log(p / (1 - p)), with p clamped to [eps, 1 - eps], eps of its type.
Tensor log_odds(const Tensor& p);
/// log(p), with p clamped in the same way.
Tensor log_of_probs(const Tensor& p);
/// The probability p of an event, q = 1 - p and the log odds, from either probabilities or log odds.
struct Chances {
  Tensor p, q, logits;
  /// The logarithm of p, or of q; 0, without a gradient, where `certain` is true.
  Tensor log(bool of_p, const Tensor& certain) const;
};
Chances chances_of(const Tensor& probs, const Tensor& logits);
/// kl_divergence of Bernoulli distributions with these probabilities.
Tensor divergence_of_chances(const Chances& from, const Chances& to);
/// The axes of a, then those of b.
Shape joined(const Shape& a, const Shape& b);
/// The first `count` axes, and the others.
Shape first_axes(const Shape& shape, int count);
Shape last_axes(const Shape& shape, int count);

/// kl_divergence(p, q) of two kinds of distribution, if it has a formula; infinite where only q's density is 0.
std::optional<Tensor> divergence_between_families(const Distribution& p, const Distribution& q);

/// Samples of a standard gamma distribution, in the concentration's shape, with PyTorch's random numbers; a constant.
Tensor standard_gamma(const Tensor& concentration, Generator* generator);

}  // namespace tapegrad::dist
