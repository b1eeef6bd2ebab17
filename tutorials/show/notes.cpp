// Shows the pieces of notes as text of 80 columns, and as HTML.
#include <tapegrad/tapegrad.h>
#include <tapegrad/tasks/language/messages.h>
#include <tapegrad/train.h>
#include <tapegrad/tutorials/show/notes.h>
#include <tapegrad/tutorials/texts.h>

#include <algorithm>
#include <array>
#include <map>
#include <sstream>

namespace tapegrad::tasks {
namespace {

// A terminal's sentences in paragraphs. Lines end where they are short, and before those that begin with some spaces.
std::string text_html(const std::string& text) {
  constexpr std::size_t kShort = 60, kIndented = 4;
  std::string out, end = "<p>";
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t indent = line.find_first_not_of(" -");
    if (indent == line.npos) {
      end = "</p>\n<p>";
    } else {
      if (end == " " && indent > 0 && indent <= kIndented) end = "<br>\n";
      out += end + drawing::escape_markup(line);
      end = drawing::display_width(line) < kShort ? "<br>\n" : " ";
    }
  }
  return out.empty() ? out : out.substr(out.starts_with("</p>") ? 5 : 0) + "</p>\n";
}

}  // namespace

std::string Matrix::terminal() const {
  if (!printed.empty()) return printed;
  if (!shades) return bracket_table(values, how);
  return drawing::shaded_maps({{"", how.rows, values.contiguous().to_vector<float>()}}) +
         fmt::format("({})\n", said(drawing::shades_legend()));
}

std::string Matrix::html() const {
  std::string out;
  if (shades)
    return drawing::card(out, draw_matrix("", values, how.rows, how.columns, 0, std::max(1.0, amax(values).item()))),
           out;
  const std::string rows = how.digits < 0 ? tutorial::numpy_rows(values)
                           : how.exponent ? tutorial::exponent_rows_of(values, how.digits)
                                          : tutorial::rows_of(values, how.digits);
  return tutorial::table_of(rows, how.rows, how.columns).html();
}

Notes& Notes::operator+=(const Notes& more) {
  if (more.html_.empty()) return *this += more.text_;
  add(more.terminal_, more.html_).text_ = more.text_;
  return *this;
}

void Notes::array(std::string_view name, const Tensor& values) {
  *this += fmt::format("{}:\n", name);
  *this += Matrix{values, {{}, {}, 0, -1}, fmt::format(" {}\n", drawing::numpy_text(values))};
}

std::string Notes::html() const { return html_ + text_html(text_); }

Notes& Notes::add(std::string_view terminal, std::string_view html) {
  terminal_ += terminal, html_ += text_html(text_).append(html);
  text_.clear();
  return *this;
}

drawing::Drawing draw_matrix(std::string_view title, const Tensor& x, const std::vector<std::string>& rows,
                             const std::vector<std::string>& columns, double low, double high, int digits,
                             const std::vector<std::size_t>& outlined) {
  drawing::Heatmap map;
  map.outlined = outlined;
  map.low = low < 0 ? 0 : low;
  map.high = high;
  map.title = title;
  map.row_labels = rows;
  map.column_labels = columns;
  map.is_signed = low < 0;
  constexpr std::size_t kMostWithValues = 10;  // rows and columns
  for (const double value : x.to(kFloat64).to_vector<double>()) {
    map.values.push_back(static_cast<float>(map.is_signed ? value / high : (value - low) / (high - low)));
    if (std::max(rows.size(), columns.size()) <= kMostWithValues) map.texts.push_back(drawing::fixed(value, digits));
  }
  if (digits == 0) return draw(map);
  return drawing::grid({draw(map), draw(drawing::HeatScale{.low = low < 0 ? -high : low, .high = high})}, 1);
}

const std::string& text_told(std::string_view name) {
  static const auto kTexts = [] {
    std::map<std::string, std::array<std::string, 2>, std::less<>> texts;  // Korean, English
    tutorial::EntryReader file("show/texts");
    while (const tutorial::Entry* const text = file.take_if("text")) {
      const std::string& korean = file.take("ko").lines;
      texts[text->text] = {korean, file.take("en").lines};
    }
    file.expect_end();
    return texts;
  }();
  const auto found = kTexts.find(name);
  if (found == kTexts.end()) fail("show", fmt::format("expected a text \"{}\" in texts.txt, got none", name));
  return found->second[language_of_locale() == Language::en];
}

}  // namespace tapegrad::tasks
