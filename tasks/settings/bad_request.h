// BadRequest: an Error of the request rather than of the run.
#pragma once

#include <tapegrad/autograd/error.h>

#include <string_view>

namespace tapegrad::tasks {

// Thrown for a request that cannot be carried out as it is: the command exits with 2.
class BadRequest : public Error {
 public:
  using Error::Error;
};
// Throws BadRequest "[where] message".
[[noreturn]] void refuse(std::string_view where, std::string_view message);

}  // namespace tapegrad::tasks
