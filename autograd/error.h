// The only type of exception that tapegrad throws.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace tapegrad {

/// The only exception type of the library. what() is one line: "[where] expected ..., got ... (a hint)".
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// "[where] message" as one line: control characters, as a file may hold them, are written as \n, \t, \r or \x1b.
std::string error_text(std::string_view where, std::string_view message);

/// Throws Error(error_text(where, message)). Operations call Op::fail, which supplies their name.
[[noreturn]] void fail(std::string_view where, std::string_view message);

}  // namespace tapegrad
