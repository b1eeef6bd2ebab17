// Composes the text of an Error.
#include <fmt/format.h>
#include <tapegrad/autograd/error.h>

namespace tapegrad {

std::string error_text(std::string_view where, std::string_view message) {
  std::string text;
  text.reserve(where.size() + message.size() + 3);
  text.append("[").append(where).append("] ");
  for (const char c : message) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= ' ' && byte != 0x7f) {
      text += c;
    } else if (c == '\n' || c == '\t' || c == '\r') {
      text.append(c == '\n' ? "\\n" : c == '\t' ? "\\t" : "\\r");
    } else {
      text += fmt::format("\\x{:02x}", byte);
    }
  }
  return text;
}

void fail(std::string_view where, std::string_view message) { throw Error(error_text(where, message)); }

}  // namespace tapegrad
