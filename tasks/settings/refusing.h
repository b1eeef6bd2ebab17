// An Error that the request is to blame for.
#pragma once

#include <tapegrad/tasks/settings/bad_request.h>

#include <string_view>

namespace tapegrad::tasks {

// What `act` returns; an Error that it throws becomes a BadRequest about `where`.
template <class F>
decltype(auto) refusing(std::string_view where, const F& act) {
  try {
    return act();
  } catch (const Error& e) {
    const std::string_view told = e.what();  // "[place] message"
    refuse(where, told.substr(told.find("] ") + 2));
  }
}

}  // namespace tapegrad::tasks
