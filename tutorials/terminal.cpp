// Lays a page out in lines of 80 columns.
#include <fmt/format.h>
#include <tapegrad/train/drawing/tables.h>
#include <tapegrad/tutorials/numbers.h>
#include <tapegrad/tutorials/originals.h>
#include <tapegrad/tutorials/terminal.h>
#include <tapegrad/tutorials/walk.h>

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

// Texts under their names: two side by side where both fit, below each other otherwise.
std::string side_by_side(const std::vector<NamedLines>& sides) {
  if (sides.size() == 1) return indented(sides[0].text, 4);
  const NamedLines &a = sides[0], &b = sides[1];
  constexpr std::size_t kHalf = drawing::kTerminalWidth / 2;
  std::vector<std::string> left = lines_of(a.text), right = lines_of(b.text);
  if (width_of_lines(left) + 4 > kHalf || width_of_lines(right) + 2 > kHalf) {
    return fmt::format("  {}\n{}  {}\n{}", a.name, indented(a.text, 4), b.name, indented(b.text, 4));
  }
  left.insert(left.begin(), std::string(a.name));
  right.insert(right.begin(), std::string(b.name));
  std::string out;
  for (std::size_t i = 0; i < std::max(left.size(), right.size()); ++i) {
    std::string line = padded("  " + (i < left.size() ? left[i] : ""), kHalf) + (i < right.size() ? right[i] : "");
    out += line.erase(line.find_last_not_of(' ') + 1) + '\n';
  }
  return out;
}

// Writes the pieces of a page in lines.
class TextWriter final : public PageWriter {
 public:
  void title(std::string_view place, std::string_view title) override {
    const std::string line = fmt::format("=== {}  {} ===", place, title);
    const bool fits = drawing::display_width(line) <= drawing::kTerminalWidth;
    out_ += drawing::wrapped(fits ? line : line.substr(0, line.size() - 4)) + '\n';
  }
  void heading(std::string_view text) override { out_ += fmt::format("\n--- {} ---\n\n", text); }
  void paragraph(std::string_view text) override { out_ += drawing::wrapped(text); }
  void fold(std::string_view summary) override { paragraph(summary), gap(); }
  void gap() override { out_ += '\n'; }
  void code(const std::vector<NamedLines>& versions) override {
    for (const NamedLines& one : versions) out_ += fmt::format("  {}\n{}", one.name, indented(one.text, 4));
  }
  void number(std::string_view label, const Number& one, std::string_view wording, const std::vector<NamedLines>& sides,
              std::string_view why) override {
    out_ += drawing::wrapped(fmt::format("{} [{}]", label, wording));
    std::vector<std::string> texts;
    std::vector<NamedLines> lines = sides;
    for (const NamedLines& side : sides) {
      const Table table = table_of(side.text, one.rows, one.columns);
      texts.push_back(table.empty() || one.mark == Mark::own ? std::string(side.text) : table.terminal());
    }
    for (std::size_t i = 0; i < sides.size(); ++i) lines[i].text = texts[i];
    out_ += side_by_side(lines);
    if (!why.empty()) out_ += drawing::wrapped(fmt::format("  {}", why), 2);
  }
  void scalars(std::string_view wording, const std::vector<std::string_view>& sides,
               const std::vector<Scalar>& all) override {
    std::size_t labels = 0, theirs = drawing::display_width(sides[0]);
    for (const Scalar& one : all) {
      labels = std::max(labels, drawing::display_width(one.label));
      theirs = std::max(theirs, drawing::display_width(one.theirs));
    }
    const std::string mark = fmt::format("[{}]", wording);
    labels = std::max(labels, drawing::display_width(mark));
    if (labels + 2 * theirs + 4 > drawing::kTerminalWidth) {  // wide rows: one below the other
      for (const Scalar& one : all) number(one.label, {}, wording, {{sides[0], one.theirs}, {sides[1], one.ours}}, {});
      return;
    }
    const auto row = [&](std::string_view label, std::string_view a, std::string_view b) {
      out_ += fmt::format("{}  {}  {}\n", padded(std::string(label), labels), padded(std::string(a), theirs), b);
    };
    row(mark, sides[0], sides[1]);
    for (const Scalar& one : all) row(one.label, one.theirs, one.ours);
  }
  void figure(std::string_view caption, const Figure&) override { point(caption); }
  void widget(std::string_view what, std::string_view, std::string_view) override { point(what); }
  void claim(std::size_t number, std::string_view claim, std::string_view proof, std::string_view shown) override {
    out_ += drawing::wrapped(fmt::format("{}. {}", number, claim), 3);
    out_ += drawing::wrapped(fmt::format("   {}", proof), 3);
    out_ += indented(shown, 4);
  }
  void questions(const std::vector<std::pair<std::string_view, std::string_view>>& all, std::string_view answer,
                 std::string_view) override {
    for (std::size_t i = 0; i < all.size(); ++i) {
      out_ += drawing::wrapped(fmt::format("{}. {}", i + 1, all[i].first), 3);
      out_ += drawing::wrapped(fmt::format("   {}: {}", answer, all[i].second), 3);
    }
  }
  void lines(std::string_view text) override { out_ += indented(text); }

  void pages(const std::vector<PageLink>& links) override {
    std::size_t words = 0, commands = 0;
    for (const PageLink& one : links) {
      words = std::max(words, one.word.empty() ? 0 : drawing::display_width(one.word) + 2);
      commands = std::max(commands, command_of(*one.page).size() + 2);
    }
    for (const PageLink& one : links)
      out_ += drawing::wrapped(fmt::format("  {}{}{}", padded(std::string(one.word), words),
                                           padded(command_of(*one.page), commands), one.title),
                               2 + words + commands);
  }

  const std::string& written() const { return out_; }

 private:
  void point(std::string_view text) { out_ += drawing::wrapped(fmt::format("- {}", text), 2); }

  std::string out_;
};

}  // namespace

std::string text_of(const Computed& made, Language language) {
  TextWriter writer;
  walk(made, language, writer);
  return writer.written();
}

std::string sections_text(const PageList& list, Language language) {
  std::vector<PageLink> links;
  for (const Page* page : list) links.push_back({"", page, page->title.in(language)});
  TextWriter writer;
  writer.pages(links);
  return writer.written();
}

std::string list_of(const PageList& list, Language language) {
  std::size_t width = 0;
  for (const Page* page : list) width = std::max(width, page->section.size());
  std::string out;
  std::string_view tutorial;
  for (const Page* page : list) {
    if (page->tutorial != tutorial) {
      const Original& original = original_of(tutorial = page->tutorial);
      out += fmt::format(
          "{}{}{}\n", out.empty() ? "" : "\n",
          drawing::wrapped(fmt::format("{}: {} ({})", tutorial, original.title.in(language), original.by.in(language))),
          original.address);
      if (original.address.empty()) out.pop_back();
    }
    const std::string place = fmt::format("{}  {}", page->tutorial, padded(page->section, width + 2));
    out += drawing::wrapped(place + std::string(page->title.in(language)), place.size());
  }
  return out;
}

}  // namespace tapegrad::tasks::tutorial
