// Composes the text of an Error.
// build: -Os
#include <fmt/format.h>
#include <tapegrad/autograd/error.h>

namespace tapegrad {
namespace {

// The code of a character that embeds, overrides or isolates a direction of text, U+202A to U+202E and U+2066 to
// U+2069, of three bytes in UTF-8; 0 for other text.
int bidirectional_code(std::string_view text) {
  if (text.size() < 3 || text[0] != '\xe2') return 0;
  const int last = static_cast<unsigned char>(text[2]);
  if (text[1] == '\x80' && last >= 0xaa && last <= 0xae) return 0x2000 + last - 0x80;
  return text[1] == '\x81' && last >= 0xa6 && last <= 0xa9 ? 0x2040 + last - 0x80 : 0;
}

}  // namespace

std::string printable(std::string_view text, std::string_view kept) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const auto byte = static_cast<unsigned char>(c);
    const bool high = byte >= 0x80 && byte < 0xa0 && i > 0 && text[i - 1] == '\xc2';  // U+0080 to U+009F
    if (const int code = bidirectional_code(text.substr(i))) {
      out += fmt::format("\\u{:04x}", code);
      i += 2;
    } else if ((byte >= ' ' && byte != 0x7f && !high) || kept.find(c) != std::string_view::npos) {
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
