// One programming exercise: what the reader writes, on which numbers it is checked, and what must come out.
#pragma once

#include <tapegrad/autograd/named_tensor.h>
#include <tapegrad/tasks/language/language.h>

#include <span>
#include <string_view>

namespace tapegrad::tasks::exercises {

/// What the functions are called with, and what must come out, in the order of the check, computed by the library.
struct Numbers {
  NamedTensors given = {}, expected = {};
};

/// What is computed for an exercise: a function and a line of answers.cpp.
struct Answers {
  std::string_view id = {};
  Numbers (*numbers)() = nullptr;
  /// Answers may differ by this much, and by a ten-thousandth of the number: half of the tutorials' last digit.
  double tolerance = 5e-5;
};
/// In the order of the tutorials.
std::span<const Answers> all_answers();

/// The answers, and the texts of set/<id>.txt.
struct Exercise : Answers {  // id: tutorial and place, with a word if needed: "004-31", "003-8.4.3-beams"
  Text title = {};
  Text task = {};                  ///< what to write, and why it matters
  Text hint = {};                  ///< how to begin, and what to mind
  std::string_view skeleton = {};  ///< a file that compiles and has the functions to complete, with their shapes
  /// Lines of C++ that call the reader's functions: `given("scores")` is a tensor of `given`, and
  /// `answer("weights", y)` notes what came out.
  std::string_view check = {};
  std::string_view solution = {}, wrong = {};  ///< a file that is right, and one with a typical mistake
  std::string_view mistake = {};               ///< what the command says about the wrong file
};

}  // namespace tapegrad::tasks::exercises
