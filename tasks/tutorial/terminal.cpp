// Lays a page out in lines of 80 columns.
#include <fmt/format.h>
#include <tapegrad/tasks/drawing/tables.h>
#include <tapegrad/tasks/tutorial/terminal.h>

#include <algorithm>
#include <sstream>
#include <utility>

namespace tapegrad::tasks::tutorial {
namespace {

using drawing::padded;

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  std::istringstream stream{std::string(text)};
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::string indented(std::string_view text, std::size_t by = 2) {
  std::string out;
  for (const std::string& line : lines_of(text)) out += line.empty() ? "\n" : std::string(by, ' ') + line + '\n';
  return out;
}

std::size_t width_of_lines(const std::vector<std::string>& lines) {
  std::size_t width = 0;
  for (const std::string& line : lines) width = std::max(width, drawing::display_width(line));
  return width;
}

// Two texts side by side under their names where both fit, below each other otherwise.
std::string side_by_side(std::pair<std::string_view, std::string_view> names, std::string_view a, std::string_view b) {
  constexpr std::size_t kHalf = drawing::kTerminalWidth / 2;
  std::vector<std::string> left = lines_of(a), right = lines_of(b);
  if (width_of_lines(left) + 4 > kHalf || width_of_lines(right) + 2 > kHalf) {
    return fmt::format("  {}\n{}  {}\n{}", names.first, indented(a, 4), names.second, indented(b, 4));
  }
  left.insert(left.begin(), std::string(names.first));
  right.insert(right.begin(), std::string(names.second));
  std::string out;
  for (std::size_t i = 0; i < std::max(left.size(), right.size()); ++i) {
    std::string line = padded("  " + (i < left.size() ? left[i] : ""), kHalf) + (i < right.size() ? right[i] : "");
    out += line.erase(line.find_last_not_of(' ') + 1) + '\n';
  }
  return out;
}

// Writes the parts of a page that are not empty.
class TextWriter {
 public:
  TextWriter(const Computed& made, Language language) : made_(made), page_(*made.page), language_(language) {}

  std::string write() {
    out_ = drawing::wrapped(fmt::format("=== {}  {} ===", place_of(page_), in(page_.title))) + '\n';
    told(page_.about);
    lines();
    numbers();
    figures();
    touch();
    faults();
    exercises();
    if (!page_.commands.empty()) {
      heading(Part::commands);
      out_ += indented(page_.commands);
    }
    return out_;
  }

 private:
  std::string_view in(const Text& text) const { return text.in(language_); }
  void heading(Part part) { out_ += fmt::format("\n--- {} ---\n\n", in(heading_of(part))); }
  void told(const Text& text) { out_ += drawing::wrapped(in(text)); }

  void lines() {
    if (page_.lines.empty()) return;
    heading(Part::lines);
    for (std::size_t i = 0; i < page_.lines.size(); ++i) {
      if (i > 0) out_ += '\n';
      told(page_.lines[i].what);
      if (!page_.lines[i].pytorch.empty()) out_ += "  PyTorch\n" + indented(page_.lines[i].pytorch, 4);
      out_ += "  tapegrad\n" + indented(made_.snippets[i], 4);
    }
  }
  void numbers() {
    if (made_.numbers.empty()) return;
    heading(Part::numbers);
    const std::pair names{in({"튜토리얼", "the tutorial"}), in({"tapegrad", "tapegrad"})};
    for (const Number& number : made_.numbers) {
      out_ += drawing::wrapped(fmt::format("{} [{}]", number.label, in(wording_of(number.mark))));
      out_ += side_by_side(names, number.printed, number.ours);
      if (!number.why.empty()) out_ += drawing::wrapped(fmt::format("  {}", in(number.why)), 2);
      out_ += '\n';
    }
    out_.pop_back();
  }
  void figures() {
    if (made_.figures.empty()) return;
    heading(Part::figures);
    for (const Figure& figure : made_.figures) out_ += drawing::wrapped(fmt::format("- {}", in(figure.caption)), 2);
  }
  void touch() {
    if (page_.touch.empty()) return;
    heading(Part::touch);
    for (const Touch& one : page_.touch) out_ += drawing::wrapped(fmt::format("- {}", in(one.what)), 2);
  }
  void faults() {
    if (page_.faults.empty()) return;
    heading(Part::faults);
    for (std::size_t i = 0; i < page_.faults.size(); ++i) {
      out_ += drawing::wrapped(fmt::format("{}. {}", i + 1, in(page_.faults[i].claim)), 3);
      out_ += drawing::wrapped(fmt::format("   {}", in(page_.faults[i].proof)), 3);
      out_ += indented(made_.proofs[i], 4);
    }
  }
  void exercises() {
    if (page_.exercises.empty()) return;
    heading(Part::exercises);
    for (std::size_t i = 0; i < page_.exercises.size(); ++i) {
      const Exercise& one = page_.exercises[i];
      out_ += drawing::wrapped(fmt::format("{}. {}", i + 1, in(one.question)), 3);
      out_ += drawing::wrapped(fmt::format("   {}: {}", in({"답", "Answer"}), in(one.answer)), 3);
    }
  }

  const Computed& made_;
  const Page& page_;
  Language language_;
  std::string out_;
};

}  // namespace

std::string text_of(const Computed& made, Language language) { return TextWriter(made, language).write(); }

std::string list_of(const PageList& list, Language language) {
  std::size_t width = 0;
  for (const Page* page : list) width = std::max(width, page->section.size());
  std::string out;
  for (const Page* page : list) {
    const std::string place = fmt::format("{}  {}", page->tutorial, padded(page->section, width + 2));
    out += drawing::wrapped(place + std::string(page->title.in(language)), place.size());
  }
  return out;
}

}  // namespace tapegrad::tasks::tutorial
