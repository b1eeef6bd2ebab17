// Throws an Error, with its place in a model while a tape records.
#include <tapegrad/autograd/leaf_names.h>
#include <tapegrad/autograd/tape.h>

namespace tapegrad {

void fail(std::string_view where, std::string_view message) {
  const std::string place = Tape::current() ? detail::place_of(detail::last_leaf) : "";
  throw Error(error_text(where, std::string(message) + place));
}

}  // namespace tapegrad
