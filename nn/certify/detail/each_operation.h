// The backward of every operation of a forward pass by itself, against differences of the values that it computed.
#pragma once

#include <tapegrad/nn/certificate.h>
#include <tapegrad/nn/certify/detail/objective.h>

#include <vector>

namespace tapegrad::nn::detail {

/// Adds a section: for each kind of operation, how many of the pass are right; wrong ones by their place in the model.
/// `v`: the direction in which variables move.
///
/// Passes at x + t v give the values of each operation y = f(x1, x2, ...) near x: y' and x1', x2' are their derivatives
/// by t. For a random u, its backward must give <u, y'> = <backward(u)_1, x1'> + ... What could not be checked is added
/// to `unchecked`.
CertificateSection each_operation(Objective& objective, const Point& x, const Point& v, int64_t most_elements,
                                  std::vector<std::string>& unchecked);

}  // namespace tapegrad::nn::detail
