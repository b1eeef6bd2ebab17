// Tensors as text, by PyTorch's rules: four digits, at most 80 columns, only the edges above 1000 elements. The type
// follows the values unless it is float32, int64 or bool, without a prefix: dtype=float64.
// build: -Os
#include <fmt/format.h>
#include <tapegrad/autograd/tensor.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <ostream>

namespace tapegrad {
namespace {

constexpr int64_t kSummaryAbove = 1000;  // elements
constexpr int64_t kEdge = 3;             // elements at each end of a summarised axis
constexpr std::size_t kLineWidth = 80;
constexpr std::string_view kPrefix = "tensor(";

// How one number is written: whole ("2."), with four decimals, or with an exponent; right-aligned to one width.
struct Format {
  bool whole = true;
  bool exponent = false;
  std::size_t width = 1;

  std::string write(double value) const {
    if (std::isnan(value)) return "nan";
    if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
    if (exponent) return fmt::format("{:.4e}", value);
    return whole ? fmt::format("{:.0f}.", value) : fmt::format("{:.4f}", value);
  }
  std::string write(int64_t value) const { return fmt::format("{}", value); }
  std::string write(bool value) const { return value ? "True" : "False"; }

  template <class T>
  std::string operator()(T value) const {
    return fmt::format("{:>{}}", write(value), width);
  }
};

template <class T>
class Printer {
 public:
  explicit Printer(const Tensor& x) : x_(x), data_(x.data<T>()), summarised_(x.numel() > kSummaryAbove) {
    if constexpr (std::is_floating_point_v<T>) choose_format();
    visit(0, data_, [&](T value) {
      if constexpr (std::is_floating_point_v<T>) {
        if (value == 0 || !std::isfinite(value)) return;
        format_.width = std::max(format_.width, format_.write(static_cast<double>(value)).size());
      } else {
        format_.width = std::max(format_.width, format_.write(value).size());
      }
    });
  }

  std::string text() const { return x_.dim() == 0 ? element(data_) : axis(0, data_, kPrefix.size()); }

 private:
  bool cut(int axis) const { return summarised_ && x_.shape()[axis] > 2 * kEdge; }

  // Calls f for the indices of an axis that are shown.
  void shown(int axis, auto f) const {
    const int64_t size = x_.shape()[axis];
    for (int64_t i = 0; i < size; ++i) {
      if (cut(axis) && i == kEdge) i = size - kEdge;
      f(i);
    }
  }

  void visit(int axis, const T* at, const auto& f) const {
    if (axis == x_.dim()) return f(*at);
    shown(axis, [&](int64_t i) { visit(axis + 1, at + i * x_.strides()[axis], f); });
  }

  void choose_format() {
    double least = std::numeric_limits<double>::infinity(), most = 0;
    visit(0, data_, [&](double value) {
      if (value == 0 || !std::isfinite(value)) return;
      least = std::min(least, std::abs(value));
      most = std::max(most, std::abs(value));
      format_.whole &= value == std::ceil(value);
    });
    if (most == 0) return;
    format_.exponent = most / least > 1000 || most > 1e8 || (!format_.whole && least < 1e-4);
  }

  std::string element(const T* at) const {
    if constexpr (std::is_floating_point_v<T>) {
      return format_(static_cast<double>(*at));
    } else {
      return format_(*at);
    }
  }

  std::string axis(int axis, const T* at, std::size_t indent) const {
    const bool last = axis == x_.dim() - 1;
    const int64_t stride = x_.strides()[axis];
    std::vector<std::string> parts;
    shown(axis, [&](int64_t i) {
      if (cut(axis) && i == x_.shape()[axis] - kEdge) parts.emplace_back(last ? " ..." : "...");
      parts.push_back(last ? element(at + i * stride) : this->axis(axis + 1, at + i * stride, indent + 1));
    });
    // Values fill lines; each element with axes of its own begins a new line, after one empty line per further axis.
    const std::size_t per_line =
        last ? std::max<std::size_t>(1, (kLineWidth - std::min(indent, kLineWidth)) / (format_.width + 2)) : 1;
    const std::string new_line =
        std::string(last ? 1 : static_cast<std::size_t>(x_.dim() - 1 - axis), '\n') + std::string(indent + 1, ' ');
    std::string text = "[";
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (i > 0) text += i % per_line == 0 ? "," + new_line : ", ";
      text += parts[i];
    }
    return text + "]";
  }

  const Tensor& x_;
  const T* data_;
  const bool summarised_;
  Format format_;
};

}  // namespace

std::string str(const Scalar& number) {
  const double value = number;
  const bool has_more = number.is_int64() && Scalar(value).as<int64_t>() != number.as<int64_t>();
  return has_more ? fmt::format("{}", number.as<int64_t>()) : fmt::format("{}", value);
}

std::string str(const Tensor& x) {
  if (!x.defined()) return "tensor()";
  std::string text(kPrefix);
  std::vector<std::string> suffixes;
  const Tensor shown = is_half(x.dtype()) ? x.to(kFloat32) : is_narrow_integer(x.dtype()) ? x.to(kInt64) : x;
  if (x.numel() == 0) {
    text += "[]";
    if (x.dim() != 1) {
      std::string sizes;
      for (int64_t size : x.shape()) sizes += fmt::format("{}{}", sizes.empty() ? "" : ", ", size);
      suffixes.push_back(fmt::format("size=({})", sizes));
    }
    if (x.dtype() != kFloat32) suffixes.push_back(fmt::format("dtype={}", name(x.dtype())));
  } else {
    text += with_type(shown.dtype(), [&](auto t) { return Printer<decltype(t)>(shown).text(); });
    if (shown.dtype() != x.dtype() || x.dtype() == kFloat64)
      suffixes.push_back(fmt::format("dtype={}", name(x.dtype())));
  }
  std::size_t line = text.size() - (text.rfind('\n') + 1) + 2;  // PyTorch counts two more
  for (const std::string& suffix : suffixes) {
    const bool fits = line + suffix.size() + 2 <= kLineWidth;
    text += fits ? ", " + suffix : ",\n" + std::string(kPrefix.size(), ' ') + suffix;
    line = fits ? line + suffix.size() + 2 : kPrefix.size() + suffix.size();
  }
  return text + ")";
}

std::ostream& operator<<(std::ostream& out, const Tensor& x) { return out << str(x); }
std::ostream& operator<<(std::ostream& out, const Dims& dims) { return out << str(dims); }

}  // namespace tapegrad
