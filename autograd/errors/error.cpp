// Composes the text of an Error.
#include <fmt/format.h>
#include <tapegrad/autograd/error.h>

namespace tapegrad {

std::string printable(std::string_view text, std::string_view kept) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const auto byte = static_cast<unsigned char>(c);
    const bool high = byte >= 0x80 && byte < 0xa0 && i > 0 && text[i - 1] == '\xc2';  // U+0080 to U+009F
    if ((byte >= ' ' && byte != 0x7f && !high) || kept.find(c) != std::string_view::npos) {
      out += c;
    } else if (c == '\n' || c == '\t' || c == '\r') {
      out.append(c == '\n' ? "\\n" : c == '\t' ? "\\t" : "\\r");
    } else {
      if (high) out.pop_back();
      out += fmt::format("\\x{:02x}", byte);
    }
  }
  return out;
}

std::string error_text(std::string_view where, std::string_view message) {
  return fmt::format("[{}] {}", printable(where), printable(message));
}

}  // namespace tapegrad
