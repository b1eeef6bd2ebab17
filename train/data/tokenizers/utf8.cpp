// Decodes UTF-8 by the table of well-formed byte sequences (The Unicode Standard, table 3-7).
#include <tapegrad/autograd/check.h>
#include <tapegrad/train/data/utf8.h>
#include <utf8.h>

#include <algorithm>

namespace tapegrad::data {
namespace {

constexpr uint32_t kReplacement = 0xfffd;

// What a first byte requires of the following bytes.
struct Lead {
  int more;                       // number of following bytes; -1: no character starts with it
  unsigned char lowest, highest;  // range of the second byte
};

constexpr Lead lead_of(unsigned char byte) {
  if (byte < 0x80) return {0, 0, 0};
  if (byte < 0xc2) return {-1, 0, 0};
  if (byte < 0xe0) return {1, 0x80, 0xbf};
  if (byte == 0xe0) return {2, 0xa0, 0xbf};  // shorter forms exist
  if (byte == 0xed) return {2, 0x80, 0x9f};  // surrogates
  if (byte < 0xf0) return {2, 0x80, 0xbf};
  if (byte == 0xf0) return {3, 0x90, 0xbf};
  if (byte < 0xf4) return {3, 0x80, 0xbf};
  if (byte == 0xf4) return {3, 0x80, 0x8f};  // above U+10FFFF
  return {-1, 0, 0};
}

}  // namespace

Character first_character(std::string_view text) {
  const auto byte = [&](int i) { return static_cast<unsigned char>(text[static_cast<std::size_t>(i)]); };
  const Lead lead = lead_of(byte(0));
  if (lead.more == 0) return {byte(0), 1, true, false};
  if (lead.more < 0) return {kReplacement, 1, false, false};
  uint32_t code = byte(0) & (0x3fu >> lead.more);
  for (int i = 1; i <= lead.more; ++i) {
    if (static_cast<std::size_t>(i) == text.size()) return {kReplacement, i, false, true};
    const unsigned char next = byte(i), lowest = i == 1 ? lead.lowest : 0x80, highest = i == 1 ? lead.highest : 0xbf;
    if (next < lowest || next > highest) return {kReplacement, i, false, false};
    code = code << 6 | (next & 0x3fu);
  }
  return {code, lead.more + 1, true, false};
}

std::string utf8(uint32_t code) {
  const bool valid = code <= 0x10ffff && (code < 0xd800 || code >= 0xe000);
  std::string out;
  ::utf8::append(static_cast<char32_t>(valid ? code : kReplacement), out);
  return out;
}

int64_t count_characters(std::string_view text) {
  int64_t count = 0;
  for (; !text.empty(); ++count) text.remove_prefix(static_cast<std::size_t>(first_character(text).bytes));
  return count;
}

std::string valid_utf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (true) {
    const std::size_t valid = std::min(::utf8::find_invalid(text), text.size());
    out += text.substr(0, valid);
    text.remove_prefix(valid);
    if (text.empty()) return out;
    ::utf8::append(char32_t{kReplacement}, out);
    text.remove_prefix(static_cast<std::size_t>(first_character(text).bytes));
  }
}

std::pair<std::string_view, std::string_view> split_characters(std::string_view text, double share) {
  require_probability("text", "the share", share);
  auto first = static_cast<int64_t>(share * static_cast<double>(count_characters(text)));
  std::size_t at = 0;
  for (; first > 0; --first) at += static_cast<std::size_t>(first_character(text.substr(at)).bytes);
  return {text.substr(0, at), text.substr(at)};
}

}  // namespace tapegrad::data
