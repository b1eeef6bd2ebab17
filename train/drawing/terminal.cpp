// Asks the system about streams, and writes escape sequences.
#include <fmt/color.h>
#include <tapegrad/distributed/world.h>
#include <tapegrad/train/drawing/terminal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

namespace tapegrad::drawing {
namespace {

std::string_view variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

fmt::text_style style_of(Paint paint) {
  switch (paint) {
    case Paint::heading: return fmt::text_style(fmt::emphasis::bold);
    case Paint::good: return fmt::fg(fmt::terminal_color::green);
    case Paint::bad: return fmt::emphasis::bold | fmt::fg(fmt::terminal_color::red);
    case Paint::bar: return fmt::fg(fmt::terminal_color::cyan);
  }
  return {};
}

std::string in_colour(std::string_view text, Paint paint) { return fmt::format(style_of(paint), "{}", text); }

bool is_heading(std::string_view line) {
  return line.size() > 8 &&
         ((line.starts_with("=== ") && line.ends_with(" ===")) || (line.starts_with("--- ") && line.ends_with(" ---")));
}

struct Mark {
  std::string_view word;
  Paint paint;
};
constexpr Mark kMarks[] = {{"ok", Paint::good}, {"right", Paint::good}, {"WRONG", Paint::bad}, {"wrong", Paint::bad}};

// A field, of which the whole or the end after ") " is a mark.
std::string with_mark(std::string_view field, bool after_spaces) {
  for (const auto& [word, paint] : kMarks) {
    if (!field.ends_with(word)) continue;
    const std::string_view before = field.substr(0, field.size() - word.size());
    if (before.empty() ? after_spaces : before.ends_with(") ")) return std::string(before) + in_colour(word, paint);
  }
  return std::string(field);
}

// A line, cut where two spaces or more are.
std::string with_marks(std::string_view line) {
  std::string out;
  std::size_t at = 0;
  while (at < line.size()) {
    const std::size_t begin = std::min(line.find_first_not_of(' ', at), line.size());
    const std::size_t end = std::min(line.find("  ", begin), line.size());
    out += line.substr(at, begin - at);
    out += with_mark(line.substr(begin, end - begin), begin >= at + 2);
    at = end;
  }
  return out;
}

}  // namespace

bool is_terminal(std::FILE* stream) {
  const int number = ::fileno(stream);
  return number >= 0 && ::isatty(number) == 1 && variable("TERM") != "dumb";
}

// A launcher gives its processes a terminal, whatever its own output is.
bool has_colour(std::FILE* stream) {
  return is_terminal(stream) && variable("NO_COLOR").empty() && !distributed::World::is_launched();
}

std::string painted(std::string_view text, Paint paint, std::FILE* stream) {
  return has_colour(stream) ? in_colour(text, paint) : std::string(text);
}

std::string painted_page(std::string_view text, std::FILE* stream) {
  if (!has_colour(stream)) return std::string(text);
  std::string out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    out += is_heading(line) ? in_colour(line, Paint::heading) : with_marks(line);
    if (end < text.size()) out += '\n';
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

std::string shell_word(std::string_view text) {
  static constexpr std::string_view kPlainSigns = "-_./=:,+@%";
  const auto is_plain = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || kPlainSigns.find(c) != std::string_view::npos;
  };
  if (!text.empty() && std::ranges::all_of(text, is_plain)) return std::string(text);
  std::string word = "'";
  for (const char c : text) word += c == '\'' ? "'\\''" : std::string(1, c);
  return word + "'";
}

void rewrite_line(std::string_view text) {
  std::fputs("\r\x1b[K", stderr);
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

}  // namespace tapegrad::drawing
