// Numbers of a page, and tensors in the form in which they are compared.
#pragma once

#include <tapegrad/autograd/tensor.h>
#include <tapegrad/tutorials/page.h>

#include <string>
#include <string_view>

namespace tapegrad::tasks::tutorial {

/// Our digits must be those of the tutorial.
Number same(std::string_view label, std::string ours);
/// They differ for the reason in the file.
Number different(std::string_view label, std::string ours);
/// The tutorial drew its numbers without a seed; the file says what can be compared, as the shape.
Number drawn(std::string_view label, std::string ours);
/// Numbers that support what the section says without numbers; the file names them.
Number own(std::string ours);

/// Rows of numbers with `digits` after the point, separated by single spaces, as "0.90 0.70\n0.60 0.80", and in powers
/// of ten, as "9.0e-01".
std::string rows_of(const Tensor& x, int digits);
std::string exponent_rows_of(const Tensor& x, int digits);
/// The same with up to eight digits and without trailing zeros, as NumPy prints: "0.2 0.8 0.3".
std::string numpy_rows(const Tensor& x);
/// Printed numbers without brackets and with single spaces between them: "[[0.2  0.8]\n [0.7 1. ]]" is "0.2
/// 0.8\n0.7 1.".
std::string plain(std::string_view printed);
/// "[2, 3]" in the same form: "2, 3".
std::string plain_shape(const Tensor& x);

}  // namespace tapegrad::tasks::tutorial
