// Makes numbers comparable: the same digits, whatever brackets and spaces are around them.
#include <fmt/format.h>
#include <tapegrad/train/drawing/tables.h>
#include <tapegrad/tutorials/numbers.h>

#include <utility>

namespace tapegrad::tasks::tutorial {
namespace {

template <class Written>
std::string rows_as(const Tensor& x, const Written& written) {
  const std::vector<double> values = x.to(kFloat64).to_vector<double>();
  const std::size_t columns = x.dim() == 0 ? 1 : static_cast<std::size_t>(x.size(-1));
  std::string out;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i > 0) out += i % columns == 0 ? '\n' : ' ';
    out += written(values[i]);
  }
  return out;
}

}  // namespace

Number same(std::string_view label, std::string ours) { return {.label = std::string(label), .ours = std::move(ours)}; }

Number different(std::string_view label, std::string ours) {
  return {.label = std::string(label), .ours = std::move(ours), .mark = Mark::different};
}

Number drawn(std::string_view label, std::string ours) {
  return {.label = std::string(label), .ours = std::move(ours), .mark = Mark::drawn};
}

Number own(std::string ours) {
  while (ours.ends_with('\n')) ours.pop_back();
  return {.ours = std::move(ours), .mark = Mark::own};
}

std::string rows_of(const Tensor& x, int digits) {
  return rows_as(x, [&](double value) { return drawing::fixed(value, digits); });
}

std::string exponent_rows_of(const Tensor& x, int digits) {
  return rows_as(x, [&](double value) { return fmt::format("{:.{}e}", value, digits); });
}

std::string numpy_rows(const Tensor& x) { return plain(drawing::numpy_text(x)); }

std::string plain_shape(const Tensor& x) { return plain(str(x.shape())); }

std::string plain(std::string_view printed) {
  std::string out;
  for (const char c : printed) {
    const bool line = c == '\n', space = line || c == ' ' || c == '[' || c == ']' || c == ',';
    if (!space) {
      out += c;
    } else if (!out.empty() && out.back() != '\n' && (line || out.back() != ' ')) {
      if (out.back() == ' ') out.pop_back();
      out += line ? '\n' : ' ';
    }
  }
  while (!out.empty() && (out.back() == ' ' || out.back() == '\n')) out.pop_back();
  return out;
}

}  // namespace tapegrad::tasks::tutorial
