// The only type of exception that tapegrad throws.
#pragma once

#include <tapegrad/autograd/compiler.h>

#include <stdexcept>
#include <string>
#include <string_view>

namespace tapegrad {

/// The only exception type of the library. what() is one line: "[where] expected ..., got ... (a hint)".
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The text with control characters, with which a file or a name could control a terminal, escaped as \n, \t, \r or
/// \x1b. Those in `kept` stay.
std::string printable(std::string_view text, std::string_view kept = "");

/// "[where] message" as one line: both are made printable.
std::string error_text(std::string_view where, std::string_view message);

/// Throws Error(error_text(where, message)). Operations call Op::fail, which supplies their name. While a tape records,
/// the text of an operation's error ends with the place in the model, if its parameters have names: " (near ups.0.norm,
/// a GroupNorm)", the module whose parameter was used last.
[[noreturn]] void fail(std::string_view where, std::string_view message);

}  // namespace tapegrad
