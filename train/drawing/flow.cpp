// Lays out flow charts: first the positions of all parts of a column, then their drawing.
#include <fmt/format.h>
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/train/drawing/flow.h>

#include <algorithm>
#include <string_view>

namespace tapegrad::drawing {
namespace {

// Sizes in pixels. A column is 356 wide: it fits into a page of 400.
constexpr double kBoxLeft = 30, kBoxWidth = 296, kBoxRight = 30;
constexpr double kColumnWidth = kBoxLeft + kBoxWidth + kBoxRight;
constexpr double kPad = 10;  // inside a box
constexpr double kTitleLine = 22, kCodeLine = 14.5, kRowLine = 14.5, kBelow = 7;
constexpr double kGap = 30;                        // between steps
constexpr double kBranchGap = 40;                  // above a step whose input is also added later
constexpr double kRadius = 8;                      // of a sum
constexpr double kFramePad = 12, kFrameLine = 26;  // a frame reaches beyond its boxes; its first line
constexpr double kBetween = 34;                    // columns
constexpr double kBoldWidth = 1.14;                // over a text that is not bold
constexpr double kMiddle = kBoxLeft + kBoxWidth / 2;

// Breaks a text after spaces, and code after parentheses, into lines that fit; further lines begin with the indent.
std::vector<std::string> broken(std::string_view text, double width, Type type, std::string_view indent) {
  std::vector<std::string> lines{""};
  while (!text.empty()) {
    const std::size_t space = text.find_first_of(type == Type::code ? " (" : " ");
    const std::string_view word = text.substr(0, space == text.npos ? text.size() : space + 1);
    const std::string_view seen = space == text.npos || text[space] == '(' ? word : word.substr(0, space);
    const bool starts = lines.back().empty() || lines.back() == indent;
    if (!starts && text_width(lines.back() + std::string(seen), type) > width) lines.emplace_back(indent);
    lines.back() += word;
    text.remove_prefix(word.size());
  }
  for (std::string& line : lines) line.erase(line.find_last_not_of(' ') + 1);
  return lines;
}

struct Placed {
  double top = 0, bottom = 0, branch = 0;  // branch: where the input leaves for a later sum
  std::vector<std::string> title, code;    // broken
};

// A column with the heights of its parts.
struct FlowLayout {
  const FlowColumn* column = nullptr;
  std::vector<Placed> steps;   // as in the column
  std::vector<double> frames;  // tops
  double input = 0;            // baseline of the input's name
  double output = 0, height = 0;
};

void require_step(bool right, std::string_view what, std::size_t step, std::size_t index) {
  if (!right) fail("flow_chart", "step {} {} {}, which is not possible there", step, what, index);
}

void check_flow(const FlowChart& chart) {
  for (std::size_t c = 0; c < chart.columns.size(); ++c) {
    const FlowColumn& column = chart.columns[c];
    const std::size_t count = column.steps.size();
    std::size_t beside = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const FlowStep& step = column.steps[i];
      if (step.adds) require_step(*step.adds < i && *step.adds >= beside, "adds the input of step", i, *step.adds);
      if (step.feeds) {
        require_step(*step.feeds > i && *step.feeds < count && beside == i, "feeds step", i, *step.feeds);
        ++beside;
      }
      if (step.reads) require_step(*step.reads < c, "reads column", i, *step.reads);
    }
    std::size_t next = beside;
    for (const FlowFrame& frame : column.frames) {
      if (frame.first < next || frame.last < frame.first || frame.last >= count) {
        fail("flow_chart", "expected a frame around steps from {} on, of {} steps, got one around {} to {}", next,
             count, frame.first, frame.last);
      }
      next = frame.last + 1;
    }
  }
}

double height_of(const FlowStep& step, const Placed& at) {
  if (step.adds) return 2 * kRadius;
  return kTitleLine + kCodeLine * static_cast<double>(at.title.size() - 1 + at.code.size()) +
         kRowLine * static_cast<double>(step.rows.size()) + kBelow;
}

// The lines of a box: the title leaves room for the note.
void break_lines(const FlowStep& step, Placed& at) {
  if (step.adds) return;
  constexpr double kInside = kBoxWidth - 2 * kPad;
  const double note = step.note.empty() ? 0 : text_width(step.note) + kPad;
  at.title = broken(step.title, (kInside - note) / kBoldWidth, Type::normal, "");
  for (const std::string& line : step.code)
    for (std::string& part : broken(line, kInside, Type::code, "    ")) at.code.push_back(std::move(part));
}

FlowLayout layout_of(const FlowColumn& column) {
  FlowLayout out;
  out.column = &column;
  double y = column.title.empty() ? 4 : 30;
  bool flows = false;  // the input's name has been placed
  for (std::size_t i = 0; i < column.steps.size(); ++i) {
    const FlowStep& step = column.steps[i];
    if (!step.feeds && !flows) {
      out.input = y + 12;
      y += 18;
      flows = true;
    }
    const auto frame = std::ranges::find(column.frames, i, &FlowFrame::first);
    Placed& at = out.steps.emplace_back();
    if (!step.feeds) {
      const bool branches = std::ranges::any_of(column.steps, [i](const FlowStep& s) { return s.adds == i; });
      if (frame != column.frames.end()) {
        out.frames.push_back(y + kGap - 4);
        y += kGap - 4 + kFrameLine;
        at.branch = y + 5;
        y += branches ? 18 : 8;
      } else {
        at.branch = y + kBranchGap - 16;
        y += branches ? kBranchGap : kGap;
      }
    }
    break_lines(step, at);
    at.top = y;
    y = at.bottom = y + height_of(step, at);
    if (step.feeds) y += 24;
    if (std::ranges::find(column.frames, i, &FlowFrame::last) != column.frames.end()) y += 22;
  }
  if (!flows) {  // a column without steps
    out.input = y + 12;
    y += 18;
  }
  out.output = y + kGap + 12;
  out.height = out.output + 8;
  return out;
}

// Draws a column whose left edge is at x.
class ColumnPen {
 public:
  ColumnPen(std::string& out, const FlowLayout& layout, double x)
      : out_(out), at_(layout), column_(*layout.column), x_(x) {}

  void draw() {
    if (!column_.title.empty()) write_text(out_, x_ + kBoxLeft, 14, "start", column_.title, Type::title);
    for (std::size_t i = 0; i < column_.frames.size(); ++i) frame(column_.frames[i], at_.frames[i]);
    arrows();
    for (std::size_t i = 0; i < column_.steps.size(); ++i) {
      const FlowStep& step = column_.steps[i];
      step.adds ? sum(step, at_.steps[i]) : box(step, at_.steps[i]);
      if (step.feeds) feed(step, at_.steps[i], at_.steps[*step.feeds]);
    }
    name(at_.input, column_.input);
    name(at_.output, column_.output);
  }

  // An arrow into the left side of a step, from a point of its own height or another one.
  void enter(const Placed& step, std::string_view path) {
    const double y = middle_of(step), x = x_ + kBoxLeft;
    line(fmt::format("{}V{:.1f}H{:.1f}", path, y, x));
    line(fmt::format("M{:.1f} {:.1f}l5 4.5l-5 4.5", x - 5, y - 4.5));
  }
  static double middle_of(const Placed& step) { return step.top + kTitleLine / 2 + 2; }

 private:
  void line(const std::string& path) { out_ += fmt::format("<path class=\"branch\" d=\"{}\"/>\n", path); }
  void name(double y, std::string_view text) {
    write_text(out_, x_ + kMiddle, y, "middle", text, Type::normal, " class=\"label\" style=\"font-weight:600\"");
  }
  void arrow(double from, double to, std::string_view shape) {
    const double x = x_ + kMiddle;
    line(fmt::format("M{:.1f} {:.1f}V{:.1f}M{:.1f} {:.1f}l4.5 5l4.5 -5", x, from, to, x - 4.5, to - 5));
    write_text(out_, x + 9, from + 14, "start", shape, Type::code);
  }

  // From the input through all steps to the output.
  void arrows() {
    double from = at_.input + 5;
    std::string_view shape = column_.input_shape;
    for (std::size_t i = 0; i < column_.steps.size(); ++i) {
      const FlowStep& step = column_.steps[i];
      if (step.feeds) continue;
      arrow(from, at_.steps[i].top, shape);
      from = at_.steps[i].bottom;
      shape = step.output;
    }
    arrow(from, at_.output - 12, shape);
  }

  void frame(const FlowFrame& frame, double top) {
    const double bottom = at_.steps[frame.last].bottom + 22, left = x_ + kBoxLeft - kFramePad;
    out_ += fmt::format(
        "<rect class=\"f7\" fill-opacity=\"0.06\" x=\"{0:.1f}\" y=\"{1:.1f}\" width=\"{2:.1f}\" "
        "height=\"{3:.1f}\" rx=\"9\"/>\n<rect class=\"zero\" x=\"{0:.1f}\" y=\"{1:.1f}\" width=\"{2:.1f}\" "
        "height=\"{3:.1f}\" rx=\"9\"/>\n",
        left, top, kBoxWidth + 2 * kFramePad + 6, bottom - top);
    write_text(out_, x_ + kBoxLeft, top + 18, "start", frame.title, Type::title);
    write_text(out_, x_ + kBoxLeft + kBoxWidth, top + 18, "end", frame.note, Type::small);
  }

  void box(const FlowStep& step, const Placed& at) {
    const double left = x_ + kBoxLeft + kPad, right = x_ + kBoxLeft + kBoxWidth - kPad;
    out_ += fmt::format(
        "<rect class=\"paper\" x=\"{1:.1f}\" y=\"{2:.1f}\" width=\"{3:.1f}\" height=\"{4:.1f}\" rx=\"6\"/>\n"
        "<rect class=\"f{0} c{0}\" fill-opacity=\"0.13\" x=\"{1:.1f}\" y=\"{2:.1f}\" width=\"{3:.1f}\" "
        "height=\"{4:.1f}\" rx=\"6\"{5}/>\n",
        step.colour, x_ + kBoxLeft, at.top, kBoxWidth, at.bottom - at.top,
        step.feeds ? " stroke-dasharray=\"5 4\"" : "");
    double y = at.top + 16;
    if (!step.note.empty()) write_text(out_, right, y, "end", step.note, Type::normal, " class=\"label\"");
    for (const std::string& title : at.title) {
      write_text(out_, left, y, "start", title, Type::normal, " class=\"label\" style=\"font-weight:600\"");
      y += kCodeLine;
    }
    y += kTitleLine - 2 * kCodeLine + 8;
    for (const std::string& code : at.code) {
      const std::size_t indent = code.find_first_not_of(' ');  // a text of SVG begins with its first letter
      const std::string_view seen = std::string_view(code).substr(std::min(indent, code.size()));
      write_text(out_, left + text_width(code, Type::code) - text_width(seen, Type::code), y, "start", seen,
                 Type::code);
      y += kCodeLine;
    }
    for (const FlowRow& row : step.rows) {
      write_text(out_, left, y, "start", row.left, Type::code);
      write_text(out_, right, y, "end", row.right, Type::small);
      y += kRowLine;
    }
  }

  // A plus in a circle, which the line from the earlier input enters at the right.
  void sum(const FlowStep& step, const Placed& at) {
    const double x = x_ + kMiddle, y = (at.top + at.bottom) / 2, lane = x_ + kBoxLeft + kBoxWidth + 9;
    const double from = at_.steps[*step.adds].branch;
    out_ += fmt::format("<circle class=\"branch\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{:.1f}\"/>\n", x, y, kRadius);
    line(fmt::format("M{:.1f} {:.1f}h9M{:.1f} {:.1f}v9", x - 4.5, y, x, y - 4.5));
    line(fmt::format("M{0:.1f} {1:.1f}H{2:.1f}q6 0 6 6V{3:.1f}q0 6 -6 6H{4:.1f}", x, from, lane - 6, y - 6,
                     x + kRadius));
    line(fmt::format("M{:.1f} {:.1f}l-5 4.5l5 4.5", x + kRadius + 5, y - 4.5));
    if (!step.code.empty()) write_text(out_, x - kRadius - 8, y + 4, "end", step.code[0], Type::code);
  }

  void feed(const FlowStep& step, const Placed& from, const Placed& to) {
    if (!step.output.empty()) write_text(out_, x_ + kBoxLeft, from.bottom + 13, "start", step.output, Type::code);
    const double y = (from.top + from.bottom) / 2;
    enter(to, fmt::format("M{:.1f} {:.1f}H{:.1f}", x_ + kBoxLeft, y, x_ + 8));
  }

  std::string& out_;
  const FlowLayout& at_;
  const FlowColumn& column_;
  double x_;
};

// What a step reads, written above it where the arrow into it begins.
std::string text_of(const FlowColumn& column) {
  return column.steps.empty() ? column.output : fmt::format("{} {}", column.output, column.steps.back().output);
}

}  // namespace

Drawing draw(const FlowChart& chart) {
  check_flow(chart);
  std::vector<FlowLayout> layouts;
  for (const FlowColumn& column : chart.columns) layouts.push_back(layout_of(column));
  Drawing out;
  const double step = kColumnWidth + kBetween;
  for (std::size_t c = 0; c < layouts.size(); ++c) {
    ColumnPen pen(out.body, layouts[c], step * static_cast<double>(c));
    pen.draw();
    for (std::size_t i = 0; i < layouts[c].steps.size(); ++i) {
      const std::optional<std::size_t> read = chart.columns[c].steps[i].reads;
      if (!read) continue;
      const FlowColumn& from = chart.columns[*read];
      const double half = text_width(from.output) * kBoldWidth / 2 + 6;
      pen.enter(layouts[c].steps[i],
                fmt::format("M{:.1f} {:.1f}H{:.1f}", step * static_cast<double>(*read) + kMiddle + half,
                            layouts[*read].output - 4, step * static_cast<double>(c) - kBetween / 2));
    }
    out.height = std::max(out.height, layouts[c].height);
  }
  out.width = std::max(0.0, step * static_cast<double>(layouts.size()) - kBetween);
  return out;
}

std::vector<Drawing> draw_columns(const FlowChart& chart) {
  check_flow(chart);
  std::vector<Drawing> out;
  for (const FlowColumn& column : chart.columns) {
    const FlowLayout layout = layout_of(column);
    Drawing drawing{kColumnWidth, layout.height, ""};
    ColumnPen pen(drawing.body, layout, 0);
    pen.draw();
    for (std::size_t i = 0; i < layout.steps.size(); ++i) {
      if (!column.steps[i].reads) continue;
      const Placed& at = layout.steps[i];
      write_text(drawing.body, kBoxLeft - 2, at.top - 9, "start", text_of(chart.columns[*column.steps[i].reads]),
                 Type::code);
      pen.enter(at, fmt::format("M{:.1f} {:.1f}H{:.1f}", kBoxLeft - 6, at.top - 13, kBoxLeft - 20));
    }
    out.push_back(std::move(drawing));
  }
  return out;
}

}  // namespace tapegrad::drawing
