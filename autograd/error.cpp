// Composes the text of an Error.
#include <tapegrad/autograd/error.h>

namespace tapegrad {

void fail(std::string_view where, std::string_view message) {
  std::string text;
  text.reserve(where.size() + message.size() + 3);
  text.append("[").append(where).append("] ").append(message);
  throw Error(text);
}

}  // namespace tapegrad
