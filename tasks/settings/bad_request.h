// Wrong requests: errors that the command answers with exit code 2.
#pragma once

#include <tapegrad/autograd/error.h>

#include <string_view>

namespace tapegrad::tasks {

/// The request was wrong, not the run: exit code 2.
class BadRequest : public Error {
 public:
  using Error::Error;
};

/// Throws a BadRequest "[where] message"; `where` is an option ("--lr") or a verb ("test copy").
[[noreturn]] inline void bad_request(std::string_view where, std::string_view message) {
  throw BadRequest(error_text(where, message));
}

/// BadRequest about `where` unless `good`.
inline void require(bool good, std::string_view where, std::string_view message) {
  if (!good) bad_request(where, message);
}

/// Returns act(). Turns an Error that it throws into a BadRequest about `where`.
template <class F>
decltype(auto) as_bad_request(std::string_view where, const F& act) {
  try {
    return act();
  } catch (const Error& e) {
    const std::string_view text = e.what();  // "[place] message"
    bad_request(where, text.substr(text.find("] ") + 2));
  }
}

}  // namespace tapegrad::tasks
