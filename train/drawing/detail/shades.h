// Cells in shades of one colour, or of two for signed values, for heatmaps and images.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <string>

namespace tapegrad::drawing::detail {

inline constexpr int kShades = 25;
inline constexpr int kBlocked = 2 * kShades + 1;  // shades -kShades ... kShades have the indices 0 ... 2 kShades

// The index of a value's shade.
inline int shade_of(float value, bool is_signed) {
  if (!std::isfinite(value)) return kBlocked;
  return kShades + static_cast<int>(std::lround(std::clamp(value, is_signed ? -1.0F : 0.0F, 1.0F) * kShades));
}

// How much ink a shade has. The first one must differ from the blank of 0.
inline double opacity_of(int shade) {
  constexpr double kLeast = 0.06;
  const double strength = static_cast<double>(std::abs(shade - kShades)) / kShades;
  return strength == 0 ? 0 : kLeast + (1 - kLeast) * strength;
}

inline std::string fill_of(int shade, bool is_signed) {
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
          fmt::format_to(std::back_inserter(paths_[static_cast<std::size_t>(shade)]), "M{:g} {:g}h{:g}v{:g}h-{:g}z",
                         x + cell_width * static_cast<double>(c), y + cell_height * static_cast<double>(r), cell_width,
                         cell_height * static_cast<double>(end - r), cell_width);
        r = end;
      }
    }
  }
  void write(std::string& out) const {
    for (int shade = 0; shade <= kBlocked; ++shade) {
      const std::string& path = paths_[static_cast<std::size_t>(shade)];
      if (!path.empty())
        fmt::format_to(std::back_inserter(out), "<path {} d=\"{}\"/>\n", fill_of(shade, is_signed_), path);
    }
  }

 private:
  bool is_signed_;
  std::array<std::string, kBlocked + 1> paths_;
};

}  // namespace tapegrad::drawing::detail
