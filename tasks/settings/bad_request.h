// Wrong requests: errors that the command answers with exit code 2.
#pragma once

#include <fmt/format.h>
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

/// The same, with the message formatted with the values.
template <class... T>
requires(sizeof...(T) > 0)
    [[noreturn]] void bad_request(std::string_view where, fmt::format_string<T...> message, const T&... values) {
  bad_request(where, fmt::vformat(message, fmt::make_format_args(values...)));
}

/// BadRequest about `where` unless `good`.
inline void require(bool good, std::string_view where, std::string_view message) {
  if (!good) bad_request(where, message);
}
template <class... T>
requires(sizeof...(T) > 0) void require(bool good, std::string_view where, fmt::format_string<T...> message,
                                        const T&... values) {
  if (!good) bad_request(where, message, values...);
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
