#include <fmt/format.h>
#include <tapegrad/autograd/error.h>
#include <tapegrad/autograd/limits.h>
#include <tapegrad/train/drawing/detail/shades.h>
#include <tapegrad/train/drawing/images.h>

#include <algorithm>
#include <iterator>

namespace tapegrad::drawing {
namespace {

void check(const Images& what) {
  const Tensor& x = what.images;
  if (!is_floating(x.dtype()) || !(x.dim() == 3 || (x.dim() == 4 && x.size(1) == 1)))
    fail("images", fmt::format("expected floating images [N, H, W] or [N, 1, H, W], got {}", str(x.shape())));
  require_in("images", "columns", what.columns, {.least = 1});
  const auto count = static_cast<std::size_t>(x.size(0));
  if ((!what.captions.empty() && what.captions.size() != count) ||
      (!what.marked.empty() && what.marked.size() != count)) {
    fail("images", fmt::format("expected one caption and mark per image, got {} and {} for {} images",
                               what.captions.size(), what.marked.size(), count));
  }
}

}  // namespace

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

  detail::ShadedCells cells(what.is_signed);
  std::string frames, marks, texts;
  for (std::size_t i = 0; i < count; ++i) {
    const double x = left + step_x * static_cast<double>(i % columns) + (cell - image_width) / 2;
    const double y = top + step_y * static_cast<double>(i / columns);
    const float* const image = values.data() + i * high * wide;
    cells.add(x, y, high, wide, what.pixel, what.pixel,
              [&](std::size_t row, std::size_t column) { return image[row * wide + column]; });
    const bool is_marked = !what.marked.empty() && what.marked[i];
    fmt::format_to(std::back_inserter(is_marked ? marks : frames), "M{:g} {:g}h{:g}v{:g}h-{:g}z", x, y, image_width,
                   image_height, image_width);
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
