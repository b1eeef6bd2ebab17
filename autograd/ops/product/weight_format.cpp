// The formats of weights, and matrices in them.
// build: -Os
#include <fmt/ranges.h>
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/kernels/product/few_rows.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/ops/detail/shapes.h>
#include <tapegrad/autograd/weight_format.h>

namespace tapegrad {

extern const WeightFormat kFloat32Format, kFloat16Format, kBFloat16Format, kInt8Format, kInt4Format;

std::span<const WeightFormat* const> weight_formats() {
  static constexpr const WeightFormat* kFormats[] = {&kFloat32Format, &kBFloat16Format, &kFloat16Format, &kInt8Format,
                                                     &kInt4Format};
  return kFormats;
}

std::vector<std::string> weight_format_names() {
  std::vector<std::string> names;
  for (const WeightFormat* format : weight_formats()) names.emplace_back(format->name);
  return names;
}

const WeightFormat& weight_format(std::string_view name) {
  for (const WeightFormat* format : weight_formats())
    if (format->name == name) return *format;
  fail("weight_format", "expected one of {}, got \"{}\"", fmt::join(weight_format_names(), ", "), name);
}

double WeightFormat::bytes_per_element() const {
  return static_cast<double>(rows->row_bytes(rows->group)) / static_cast<double>(rows->group);
}

// --- quantised matrices ---

namespace {

constexpr int64_t kWord = sizeof(int64_t);

// The shapes of values and scales.
Shape values_shape(const RowsFormat& f, int64_t rows, int64_t columns) {
  return {rows, f.groups(columns) * (f.group_bytes / kWord)};
}
Shape scales_shape(const RowsFormat& f, int64_t rows, int64_t columns) {
  return {rows, f.groups(columns) * f.group_scales};
}

}  // namespace

void require_quantized(std::string_view where, const QuantizedMatrix& m, int64_t columns) {
  const Tensor &values = m.values, &scales = m.scales;
  const RowsFormat& f = *m.format->rows;
  const int64_t rows = values.dim() == 2 ? values.size(0) : 0;
  if (values.dtype() == kInt64 && values.is_contiguous() && values.shape() == values_shape(f, rows, columns) &&
      scales.dtype() == kFloat32 && scales.is_contiguous() && scales.shape() == scales_shape(f, rows, columns)) {
    return;
  }
  fail(where,
       "expected an {} matrix with {} columns: values int64 [rows, {}] and scales float32 [rows, {}], got {} {} and {} "
       "{}",
       m.format->name, columns, values_shape(f, 0, columns)[1], scales_shape(f, 0, columns)[1], values.dtype(),
       values.shape(), scales.dtype(), scales.shape());
}

QuantizedMatrix quantized_zeros(int64_t rows, int64_t columns, const WeightFormat& format) {
  return {&format, zeros(values_shape(*format.rows, rows, columns), kInt64),
          zeros(scales_shape(*format.rows, rows, columns))};
}

QuantizedMatrix quantize(const Tensor& w, const WeightFormat& format) {
  const std::string where = fmt::format("quantize_{}", format.name);
  require(w.dim() == 2 && w.dtype() == kFloat32, where, "expected a float32 matrix, got {} {}", w.dtype(), w.shape());
  if (!all_finite(w)) fail(where, "expected finite numbers, got NaN or infinity (are the weights damaged?)");
  const Tensor from = w.detach().contiguous();
  const int64_t rows = w.size(0), columns = w.size(1);
  QuantizedMatrix m{&format, Tensor::empty(values_shape(*format.rows, rows, columns), kInt64),
                    Tensor::empty(scales_shape(*format.rows, rows, columns))};
  format.rows->narrow(from.data<float>(), rows, columns, m.values.mutable_raw_data(), m.scales.mutable_data<float>());
  return m;
}

Tensor dequantize(const QuantizedMatrix& m, int64_t columns) {
  require_quantized(fmt::format("dequantize_{}", m.format->name), m, columns);
  const Tensor w = Tensor::empty({m.values.size(0), columns});
  m.format->rows->widen(m.values.raw_data(), m.scales.data<float>(), w.size(0), columns, w.mutable_data<float>());
  return w;
}

Tensor embedding(const QuantizedMatrix& table, int64_t columns, const Tensor& ids) {
  require_quantized("embedding", table, columns);
  const Tensor flat = ids.reshape({-1});
  const QuantizedMatrix rows{table.format, index_select(table.values, 0, flat), index_select(table.scales, 0, flat)};
  return dequantize(rows, columns).reshape(with_axes(ids.shape(), {columns}));
}

}  // namespace tapegrad
