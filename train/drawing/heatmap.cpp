// Heatmaps, and small images: cells in shades.
#include <fmt/format.h>
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/limits.h>
#include <tapegrad/train/drawing/heatmap.h>
#include <tapegrad/train/drawing/images.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>

namespace tapegrad::drawing {
namespace {

// --- cells in shades of one colour, or of two for signed values ---

constexpr int kShades = 25;
constexpr int kBlocked = 2 * kShades + 1;  // shades -kShades ... kShades have the indices 0 ... 2 kShades

// The index of a value's shade.
int shade_of(float value, bool is_signed) {
  if (!std::isfinite(value)) return kBlocked;
  return kShades + static_cast<int>(std::lround(std::clamp(value, is_signed ? -1.0F : 0.0F, 1.0F) * kShades));
}

// How much ink a shade has. The first one must differ from the blank of 0.
double opacity_of(int shade) {
  constexpr double kLeast = 0.06;
  const double strength = static_cast<double>(std::abs(shade - kShades)) / kShades;
  return strength == 0 ? 0 : kLeast + (1 - kLeast) * strength;
}

std::string fill_of(int shade, bool is_signed) {
  if (shade == kBlocked) return "class=\"blocked\"";
  return fmt::format("class=\"{}\" fill-opacity=\"{:.2f}\"", is_signed && shade > kShades ? "warm" : "heat",
                     opacity_of(shade));
}

// Collects cells; those of the same shade become one path, which keeps files small.
class ShadedCells {
 public:
  explicit ShadedCells(bool is_signed) : is_signed_(is_signed) {}

  // A matrix of cells value(row, column); vertically adjacent cells of the same shade become one rectangle.
  template <class Value>
  void add(double x, double y, std::size_t rows, std::size_t columns, double cell_width, double cell_height,
           const Value& value) {
    for (std::size_t c = 0; c < columns; ++c) {
      for (std::size_t r = 0; r < rows;) {
        const int shade = shade_of(value(r, c), is_signed_);
        std::size_t end = r + 1;  // cells below of the same shade
        while (end < rows && shade_of(value(end, c), is_signed_) == shade) ++end;
        if (shade != kShades)  // a value of 0 leaves the background blank
          paths_[static_cast<std::size_t>(shade)] +=
              fmt::format("M{:g} {:g}h{:g}v{:g}h-{:g}z", x + cell_width * static_cast<double>(c),
                          y + cell_height * static_cast<double>(r), cell_width,
                          cell_height * static_cast<double>(end - r), cell_width);
        r = end;
      }
    }
  }
  void write(std::string& out) const {
    for (int shade = 0; shade <= kBlocked; ++shade) {
      const std::string& path = paths_[static_cast<std::size_t>(shade)];
      if (!path.empty()) out += fmt::format("<path {} d=\"{}\"/>\n", fill_of(shade, is_signed_), path);
    }
  }

 private:
  bool is_signed_;
  std::array<std::string, kBlocked + 1> paths_;
};

// --- heatmaps ---

double widest(const std::vector<std::string>& texts) {
  double width = 0;
  for (const std::string& text : texts) width = std::max(width, text_width(text, Type::small));
  return width;
}

struct Layout {
  double left, top;
  double row_axis, column_axis;  // centres of these texts
  double cell_width, cell_height;
  std::size_t rows, columns;
  double wide() const { return cell_width * static_cast<double>(columns); }
  double high() const { return cell_height * static_cast<double>(rows); }
  double x(std::size_t column) const { return left + cell_width * static_cast<double>(column); }
  double y(std::size_t row) const { return top + cell_height * static_cast<double>(row); }
};

Layout layout_of(const Heatmap& map) {
  Layout at{};
  at.rows = map.row_labels.size();
  at.columns = map.column_labels.size();
  const double larger = static_cast<double>(std::max<std::size_t>({at.rows, at.columns, 1}));
  const double square = std::clamp(std::floor(360 / larger), 2.0, 28.0);
  const double worded = std::max({44.0, widest(map.texts) + 10, widest(map.column_labels) + 8});
  at.cell_width = map.cell_width > 0 ? map.cell_width : map.texts.empty() ? square : worded;
  at.cell_height = map.cell_height > 0 ? map.cell_height : map.texts.empty() ? square : 28;
  at.left = (map.row_axis.empty() ? 6 : 24) + widest(map.row_labels) + 8;
  at.top = map.column_axis.empty() ? 44 : 62;
  at.row_axis = std::max(at.top + at.high() / 2, 28 + text_width(map.row_axis, Type::small) / 2);
  at.column_axis = std::max(at.left + at.wide() / 2, 4 + text_width(map.column_axis, Type::small) / 2);
  return at;
}

void write_labels(std::string& out, const Heatmap& map, const Layout& at) {
  write_text(out, 4, 18, "start", map.title, Type::title);
  if (!map.column_axis.empty()) write_text(out, at.column_axis, 38, "middle", map.column_axis, Type::small);
  if (!map.row_axis.empty())
    write_text(out, 14, at.row_axis, "middle", map.row_axis, Type::small,
               fmt::format(" transform=\"rotate(-90 14 {:.1f})\"", at.row_axis));
  // Every n-th label, n a power of two, so that labels do not overlap.
  const auto every = [](double needed, double cell) {
    return static_cast<std::size_t>(std::exp2(std::max(0.0, std::ceil(std::log2(needed / cell)))));
  };
  const std::size_t column_step = every(widest(map.column_labels) + 1.5, at.cell_width),
                    row_step = every(13, at.cell_height);
  for (std::size_t i = 0; i < at.columns; i += column_step)
    write_text(out, at.x(i) + at.cell_width / 2, at.top - 6, "middle", map.column_labels[i], Type::small);
  for (std::size_t i = 0; i < at.rows; i += row_step)
    write_text(out, at.left - 6, at.y(i) + at.cell_height / 2 + 4, "end", map.row_labels[i], Type::small);
}

void write_cells(std::string& out, const Heatmap& map, const Layout& at) {
  ShadedCells cells(map.is_signed);
  cells.add(at.left, at.top, at.rows, at.columns, at.cell_width, at.cell_height,
            [&](std::size_t row, std::size_t column) { return map.values[row * at.columns + column]; });
  cells.write(out);
}

// Black or white, whichever has the better contrast: at least 4.5. A dark page's colours become lighter than 0.18 in
// luminance at less ink than those of a light page become darker.
void write_values(std::string& out, const Heatmap& map, const Layout& at) {
  constexpr double kDarkPage = 0.6, kLightPage = 0.775;
  std::string on_paper, on_mid, on_ink;
  for (std::size_t i = 0; i < map.texts.size(); ++i) {
    const int shade = shade_of(map.values[i], map.is_signed);
    const double ink = shade == kBlocked ? 0 : opacity_of(shade);
    write_text(ink < kDarkPage    ? on_paper
               : ink < kLightPage ? on_mid
                                  : on_ink,
               at.x(i % at.columns) + at.cell_width / 2, at.y(i / at.columns) + at.cell_height / 2 + 4, "middle",
               map.texts[i], Type::small);
  }
  if (!on_paper.empty()) out += "<g class=\"on-paper\">\n" + on_paper + "</g>\n";
  if (!on_mid.empty()) out += "<g class=\"on-mid\">\n" + on_mid + "</g>\n";
  if (!on_ink.empty()) out += "<g class=\"on-ink\">\n" + on_ink + "</g>\n";
}

// Titles of cells, which browsers show next to the pointer; none in maps of more cells than fit a page.
void write_tips(std::string& out, const Heatmap& map, const Layout& at) {
  constexpr std::size_t kMostCells = 1024;
  if (map.values.size() > kMostCells || map.values.empty() || map.low == map.high) return;
  out += "<g class=\"tips\" fill=\"none\" pointer-events=\"all\">\n";
  for (std::size_t i = 0; i < map.values.size(); ++i) {
    const double value = map.low + map.values[i] * (map.high - map.low);
    out += fmt::format("<path d=\"M{:g} {:g}h{:g}v{:g}h-{:g}z\"><title>{}, {}: {}</title></path>\n",
                       at.x(i % at.columns), at.y(i / at.columns), at.cell_width, at.cell_height, at.cell_width,
                       escape_markup(map.row_labels[i / at.columns]), escape_markup(map.column_labels[i % at.columns]),
                       std::isfinite(value) ? fmt::format("{:.4g}", value) : "-");
  }
  out += "</g>\n";
}

// --- images ---

void check(const Images& what) {
  const Tensor& x = what.images;
  if (!is_floating(x.dtype()) || !(x.dim() == 3 || (x.dim() == 4 && x.size(1) == 1)))
    fail("images", "expected floating images [N, H, W] or [N, 1, H, W], got {}", x.shape());
  require_in("images", "columns", what.columns, {.least = 1});
  const auto count = static_cast<std::size_t>(x.size(0));
  if ((!what.captions.empty() && what.captions.size() != count) ||
      (!what.marked.empty() && what.marked.size() != count)) {
    fail("images", "expected one caption and mark per image, got {} and {} for {} images", what.captions.size(),
         what.marked.size(), count);
  }
}

}  // namespace

Drawing draw(const Heatmap& map) {
  const std::size_t rows = map.row_labels.size(), columns = map.column_labels.size(), cells = rows * columns;
  if (map.values.size() != cells || (!map.texts.empty() && map.texts.size() != cells)) {
    fail("heatmap", "expected {} values and texts for {} rows and {} columns, got {} and {}", cells, rows, columns,
         map.values.size(), map.texts.size());
  }
  const Layout at = layout_of(map);
  const double right = at.left + at.wide() + std::max(20.0, widest(map.column_labels) / 2 + 4);
  Drawing out{std::max({right, text_width(map.title, Type::title) + 24,
                        at.column_axis + text_width(map.column_axis, Type::small) / 2 + 4}),
              std::max(at.top + at.high() + 12, at.row_axis + text_width(map.row_axis, Type::small) / 2 + 4),
              {}};
  write_labels(out.body, map, at);
  const std::string frame =
      fmt::format("x=\"{:g}\" y=\"{:g}\" width=\"{:g}\" height=\"{:g}\"/>\n", at.left, at.top, at.wide(), at.high());
  out.body += "<rect class=\"paper\" " + frame;
  write_cells(out.body, map, at);
  out.body += "<rect class=\"frame\" " + frame;
  for (const std::size_t row : map.outlined)
    out.body += fmt::format("<rect class=\"line c1\" x=\"{:g}\" y=\"{:g}\" width=\"{:g}\" height=\"{:g}\"/>\n", at.left,
                            at.y(row), at.wide(), at.cell_height);
  write_values(out.body, map, at);
  write_tips(out.body, map, at);
  return out;
}

Drawing draw(const HeatScale& scale) {
  const bool is_signed = scale.low < 0;
  const int first = is_signed ? -kShades : 1;
  const double step = is_signed ? 3 : 6, wide = step * (kShades - first + 1);
  const double left = scale.name.empty() ? 24 : text_width(scale.name, Type::small) + 14, end = left + wide;
  Drawing out{end + 24, 30, {}};
  for (int strength = first; strength <= kShades; ++strength)
    out.body += fmt::format("<rect {} x=\"{:g}\" y=\"2\" width=\"{:g}\" height=\"12\"/>\n",
                            fill_of(kShades + strength, is_signed), left + step * (strength - first), step);
  out.body += fmt::format("<rect class=\"frame\" x=\"{:g}\" y=\"2\" width=\"{:g}\" height=\"12\"/>\n", left, wide);
  if (!scale.name.empty()) write_text(out.body, 4, 12, "start", scale.name, Type::small);
  for (const double part : {0.0, 0.5, 1.0})
    write_text(out.body, left + part * wide, 26, "middle",
               fmt::format("{:.3g}", scale.low + part * (scale.high - scale.low)), Type::small);
  if (scale.blocked.empty()) return out;
  out.body += fmt::format("<rect class=\"blocked\" x=\"{:g}\" y=\"2\" width=\"12\" height=\"12\"/>\n", end + 20);
  write_text(out.body, end + 37, 12, "start", scale.blocked, Type::small);
  out.width = end + 37 + text_width(scale.blocked, Type::small) + 4;
  return out;
}

// --- images ---

Drawing draw(const Images& what) {
  check(what);
  const auto count = static_cast<std::size_t>(what.images.size(0)), columns = static_cast<std::size_t>(what.columns);
  const auto high = static_cast<std::size_t>(what.images.size(-2)),
             wide = static_cast<std::size_t>(what.images.size(-1));
  const std::vector<float> values = what.images.to(kFloat32).to_vector<float>();
  const double image_width = what.pixel * static_cast<double>(wide),
               image_height = what.pixel * static_cast<double>(high);
  double cell = image_width;
  for (const std::string& caption : what.captions) cell = std::max(cell, text_width(caption, Type::small));
  const double step_x = cell + what.gap, step_y = image_height + what.gap + (what.captions.empty() ? 0 : 15);
  const double left = 4, top = what.title.empty() ? 4 : 30;

  ShadedCells cells(what.is_signed);
  std::string frames, marks, texts;
  for (std::size_t i = 0; i < count; ++i) {
    const double x = left + step_x * static_cast<double>(i % columns) + (cell - image_width) / 2;
    const double y = top + step_y * static_cast<double>(i / columns);
    const float* const image = values.data() + i * high * wide;
    cells.add(x, y, high, wide, what.pixel, what.pixel,
              [&](std::size_t row, std::size_t column) { return image[row * wide + column]; });
    const bool is_marked = !what.marked.empty() && what.marked[i];
    (is_marked ? marks : frames) +=
        fmt::format("M{:g} {:g}h{:g}v{:g}h-{:g}z", x, y, image_width, image_height, image_width);
    if (!what.captions.empty())
      write_text(texts, x + image_width / 2, y + image_height + 12, "middle", what.captions[i], Type::small);
  }

  const std::size_t shown = std::min(count, columns), rows = (count + columns - 1) / columns;
  Drawing out{left + step_x * static_cast<double>(shown) + 2, top + step_y * static_cast<double>(rows) + 2, {}};
  if (!what.title.empty()) {
    out.width = std::max(out.width, text_width(what.title, Type::title) + 8);
    write_text(out.body, left, 18, "start", what.title, Type::title);
  }
  if (count == 0) return out;
  cells.write(out.body);
  if (!frames.empty()) out.body += fmt::format("<path class=\"frame\" d=\"{}\"/>\n", frames);
  if (!marks.empty()) out.body += fmt::format("<path class=\"line c1\" d=\"{}\"/>\n", marks);
  out.body += texts;
  return out;
}

}  // namespace tapegrad::drawing
