// The one kind of error that tapegrad throws, and the one way to throw it.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace tapegrad {

// what() is one line: "[where] what was given, what is needed (a hint where there is one)".
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Throws Error("[where] message"). An operation calls Op::fail, which puts its own name in front.
[[noreturn]] void fail(std::string_view where, std::string_view message);

}  // namespace tapegrad
