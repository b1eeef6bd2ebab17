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

/// Throws Error("[where] message"). Operations call Op::fail, which supplies their name.
[[noreturn]] void fail(std::string_view where, std::string_view message);

}  // namespace tapegrad
