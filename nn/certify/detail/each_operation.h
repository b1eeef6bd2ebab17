// The backward of every operation of a pass by itself, against differences of the values that it had.
#pragma once

#include <tapegrad/nn/certificate.h>
#include <tapegrad/nn/certify/detail/objective.h>

#include <vector>

namespace tapegrad::nn::detail {

/// Adds a section: for each kind of operation, how many of the pass are right; wrong ones by their place in the model.
/// `v`: the direction in which variables move.
///
/// Each operation y = f(x1, x2, ...) has values near x, of passes at x + t v: y' and x1', x2' are their derivatives by
/// t. For a random u, its backward must give <u, y'> = <backward(u)_1, x1'> + ... Also returns what could not be
/// checked.
CertificateSection each_operation(Objective& objective, const Point& x, const Point& v, int64_t most_elements,
                                  std::vector<std::string>& unchecked);

}  // namespace tapegrad::nn::detail
