// Errors about parameters and gradients that do not belong together.
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/leaf_names.h>
#include <tapegrad/optim/detail/mismatch.h>

#include <algorithm>

namespace tapegrad::optim {

std::string quoted(std::string_view name, const Tensor& parameter) {
  return name.empty() ? fmt::format("the parameter of shape {}", str(parameter.shape())) : fmt::format("\"{}\"", name);
}

void Mismatch::missing(std::string_view name, const Tensor& parameter, bool gone) {
  missing_.push_back({std::string(name), &parameter, gone});
}

void Mismatch::unknown(const TapeIndex& leaf, const Tensor& like) {
  unknown_.push_back({tapegrad::detail::leaf_name(leaf), like.shape(), like.dtype()});
}

// Of parameters that are missing while others are unknown.
std::string Mismatch::cause() const {
  const auto same_name = [this](const Parameter& p) {
    return std::find_if(unknown_.begin(), unknown_.end(), [&p](const Leaf& leaf) { return leaf.name == p.name; });
  };
  const auto gone = std::find_if(missing_.begin(), missing_.end(), [](const Parameter& p) { return p.gone; });
  if (gone != missing_.end()) {
    const auto now = same_name(*gone);
    if (now != unknown_.end() && now->shape == gone->tensor->shape() && now->dtype != gone->tensor->dtype())
      return fmt::format("nn::to has converted it to {} since this optimiser was made: call nn::to first",
                         name(now->dtype));
    return "its layer or model was replaced after this optimiser was made: make it again, of nn::parameters(model)";
  }
  const bool alike =
      std::all_of(missing_.begin(), missing_.end(), [&](const Parameter& p) { return same_name(p) != unknown_.end(); });
  return alike ? "this optimiser was made for another model of the same names: is the loss of a clone?"
               : "this optimiser was made for another model, or a visit leaves out a member";
}

void Mismatch::require_none(std::string_view where) const {
  std::string list;
  for (const Leaf& leaf : unknown_)
    list += fmt::format("{}{}{}", list.empty() ? "" : ", ", leaf.name.empty() ? "" : fmt::format("\"{}\" ", leaf.name),
                        str(leaf.shape));
  if (!missing_.empty()) {
    const Parameter& first = missing_.front();
    const std::string who = quoted(first.name, *first.tensor);
    if (!unknown_.empty())
      fail(where, "{} has no gradient, but {} of the gradients belong to no parameter of this optimiser: {} ({})", who,
           unknown_.size(), list, cause());
    if (first.gone)
      fail(where,
           "{} has no gradient: no module has it any more (was its layer replaced, or tied to another, after this "
           "optimiser was made?)",
           who);
    fail(where,
         "{} has no gradient: it took no part in the loss (allow_missing(true) leaves such parameters as they are; "
         "call nn::to before the optimiser is made)",
         who);
  }
  if (!unknown_.empty())
    fail(where,
         "{} of the gradients belong to no parameter of this optimiser: {} (does a visit leave out a member? "
         "ignore(nn::parameters(other)) is for the parameters of another model)",
         unknown_.size(), list);
}

}  // namespace tapegrad::optim
