// Checks of options that several optimisers share.
#pragma once

#include <tapegrad/autograd/limits.h>

#include <string_view>

namespace tapegrad::optim {

/// beta1, beta2 and eps of Adam and its relatives.
template <class Options>
void check_moments(std::string_view where, const Options& options) {
  require_in(where, "beta1", options.beta1, kBelowOne);
  require_in(where, "beta2", options.beta2, kBelowOne);
  require_in(where, "eps", options.eps, kNotNegative);
}

}  // namespace tapegrad::optim
