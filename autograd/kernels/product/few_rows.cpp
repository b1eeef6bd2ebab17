// Products of a few rows with weights in any format.
#include <tapegrad/autograd/detail/scratch.h>
#include <tapegrad/autograd/internal/events.h>
#include <tapegrad/autograd/kernels/product/blas.h>
#include <tapegrad/autograd/kernels/product/blas_blis.h>
#include <tapegrad/autograd/kernels/product/blas_kernels.h>
#include <tapegrad/autograd/kernels/product/engines.h>
#include <tapegrad/autograd/kernels/product/few_rows.h>
#include <tapegrad/autograd/kernels/simd/float16.h>

#include <optional>

namespace tapegrad {
namespace {

constexpr int64_t kPieceBytes = 128 << 10;  // of a weight, for one thread to read at a time: it stays in L2
constexpr int64_t kPiecesPerThread = 4;     // of a weight that is read in place
constexpr int64_t kTogether = 16;           // rows of a weight that a kernel may read together
constexpr std::size_t kMostWeights = 4;
constexpr int64_t kWidened = 1024;  // rows of W that are converted at a time

// Rows [begin, end) of W in float32.
void widen_rows(const StreamedWeight& w, int64_t begin, int64_t end, int64_t k, float* to) {
  const int64_t groups = w.format->groups(k);
  w.format->widen(static_cast<const char*>(w.data) + begin * groups * w.format->group_bytes,
                  w.scales + begin * groups * w.format->group_scales, end - begin, k, to);
}

// C[row:row_end, begin:end] += the bias, if there is one.
void add_bias(const StreamedWeight& w, int64_t row, int64_t row_end, int64_t begin, int64_t end) {
  for (int64_t i = row; w.bias != nullptr && i < row_end; ++i) {
    for (int64_t j = begin; j < end; ++j) w.c[i * w.n + j] += w.bias[j];
  }
}

// RowsFormat::multiply for rows in float32: a tile of A W^T. multiply(tile) computes it.
void multiply_float32(const float* rows, const StreamedWeight& w, int64_t begin, int64_t end, int64_t m, int64_t k,
                      const void* a, const auto& multiply) {
  blas::Tile<float> tile{m, end - begin, k, 1, static_cast<const float*>(a), k, 1, rows, 1, k, 0, w.c + begin, w.n};
  tile.fetch_b = w.format == &kFloat32Rows;  // others were converted just now
  multiply(tile);
  add_bias(w, 0, m, begin, end);
}

const float* float32_rows(const StreamedWeight& w, int64_t begin, int64_t k) {
  return static_cast<const float*>(w.data) + begin * k;
}

void multiply_by_tile(const float* rows, const StreamedWeight& w, int64_t begin, int64_t end, int64_t m, int64_t k,
                      const void* a) {
  multiply_float32(rows, w, begin, end, m, k, a, [](const blas::Tile<float>& tile) {
    const blas::Kernels<float>& use = blas::kernels<float>();
    const Scratch<float> scratch(use.scratch_size(tile));
    use.multiply(tile, scratch.get());
  });
}

void multiply_tile(const StreamedWeight& w, int64_t begin, int64_t end, int64_t m, int64_t k, const void* a) {
  multiply_by_tile(float32_rows(w, begin, k), w, begin, end, m, k, a);
}

// Rows that are first converted to float32: the sums have the bits of a float32 weight's.
void multiply_widened(const StreamedWeight& w, int64_t begin, int64_t end, int64_t m, int64_t k, const void* a) {
  const Scratch<float> wide((end - begin) * k);
  widen_rows(w, begin, end, k, wide.get());
  multiply_by_tile(wide.get(), w, begin, end, m, k, a);
}

// C' = W A' for rows [begin, end) of W in float32, which are read in place. `panels` is A', packed.
void multiply_turned(const float* rows, const StreamedWeight& w, int64_t begin, int64_t end, int64_t m, int64_t k,
                     const float* panels) {
  const blas::Kernels<float>& use = blas::kernels<float>();
  const int64_t count = end - begin;
  const Scratch<float> turned(count * m);
  blas::Tile<float> tile{count, m, k, 1, rows, k, 1, nullptr, 1, k, 0, turned.get(), m};
  tile.panels = {panels, 0, pieces_of(m, use.cols) * use.cols, m * blas::kDepth};
  const Scratch<float> scratch(use.scratch_size(tile));
  use.multiply(tile, scratch.get());
  use.store_turned(count, m, turned.get(), m, w.c + begin, w.n);
  add_bias(w, 0, m, begin, end);
}

// RowsFormat::multiply on BLIS.
void multiply_on_blis(const StreamedWeight& w, int64_t begin, int64_t end, int64_t m, int64_t k, const void* a) {
  const bool is_wide = w.format == &kFloat32Rows;
  const Scratch<float> wide(is_wide ? 0 : (end - begin) * k);
  if (!is_wide) widen_rows(w, begin, end, k, wide.get());
  multiply_float32(is_wide ? float32_rows(w, begin, k) : wide.get(), w, begin, end, m, k, a,
                   blas::multiply_on_blis<float>);
}

// What multiplies a weight, and A as that takes it.
struct Run {
  MultiplyRows multiply = nullptr;
  const void* a = nullptr;
};

// Of the last weight. `rounded`: A for a format of integers, at the first weight that has it.
Run run_of(int64_t m, int64_t k, const float* a, std::span<const StreamedWeight> weights,
           std::optional<Scratch<char>>* rounded) {
  const RowsFormat& format = *weights.back().format;
  if (format.integers == nullptr) return {blas::always_on_blis<float>() ? multiply_on_blis : format.multiply, a};
  const IntegerKernels use = format.integers(has_byte_dot());
  std::size_t first = 0;
  while (weights[first].format != &format) ++first;
  if (!rounded[first]) use.round(m, k, a, rounded[first].emplace(use.rounded_bytes(m, k)).get());
  return {use.multiply, rounded[first]->get()};
}

}  // namespace

const RowsFormat kFloat32Rows{.group_bytes = 4, .multiply = multiply_tile};
const RowsFormat kFloat16Rows{.group_bytes = 2,
                              .multiply = multiply_widened,
                              .widen = [](const void* data, const float*, int64_t rows, int64_t k, float* w) {
                                widen_float16(static_cast<const uint16_t*>(data), rows * k, w);
                              }};

bool has_byte_dot() {
#if defined(__x86_64__)
  static const bool has = __builtin_cpu_supports("avx512vnni") != 0;
  return has;
#else
  return false;
#endif
}

void multiply_few_rows(int64_t m, int64_t k, const float* a, std::span<const StreamedWeight> weights) {
  if (m == 0) return;
  if (weights.size() > kMostWeights) {
    multiply_few_rows(m, k, a, weights.first(kMostWeights));
    return multiply_few_rows(m, k, a, weights.subspan(kMostWeights));
  }
  const bool on_blis = blas::always_on_blis<float>();
  std::optional<Scratch<char>> rounded[kMostWeights];
  Run runs[kMostWeights];
  for (std::size_t i = 0; i < weights.size(); ++i) runs[i] = run_of(m, k, a, weights.first(i + 1), rounded);
  // For more rows than a kernel transposes in registers, A is packed once for all rows of W.
  const blas::Kernels<float>& use = blas::kernels<float>();
  const auto in_float32 = [](const StreamedWeight& w) { return w.format == &kFloat32Rows; };
  const bool turns = !on_blis && m > blas::kUnpackedRows && std::any_of(weights.begin(), weights.end(), in_float32);
  const int64_t panel_count = pieces_of(m, use.cols);
  const Scratch<float> panels(turns ? panel_count * use.cols * k : 0);
  if (turns) use.pack_panels(m, k, a, 1, k, 0, panel_count, panels.get());
  int64_t rows[kMostWeights], ends[kMostWeights], pieces = 0;  // rows of W per piece; pieces so far
  int64_t bytes = 0;
  bool converts = on_blis;  // the rows of a piece, which then stay in L2
  for (const StreamedWeight& w : weights) {
    bytes += w.n * w.format->row_bytes(k);
    converts = converts || w.format == &kFloat16Rows;
  }
  // The first bytes of a piece come slowly: a processor has yet to learn what to fetch. So there are few for few rows.
  const int64_t least = kPieceBytes * 3 / 2 * kFewRows / std::max(m, kFewRows);
  const int64_t piece_bytes =
      converts ? kPieceBytes : std::clamp(bytes / (kPiecesPerThread * num_threads()), least, kPieceBytes * 4);
  for (std::size_t w = 0; w < weights.size(); ++w) {
    const int64_t wanted = pieces_of(weights[w].n * weights[w].format->row_bytes(k), piece_bytes);
    rows[w] = pieces_of(pieces_of(weights[w].n, wanted > 1 ? wanted + wanted % 2 : 1), kTogether) * kTogether;
    ends[w] = pieces += pieces_of(weights[w].n, rows[w]);
    count_product(on_blis && weights[w].format->integers == nullptr ? Engine::blis : Engine::few_rows,
                  m * weights[w].n * k);
  }
  parallel_for_each(pieces, m * bytes < kPieceBytes ? pieces : 1, [&](int64_t piece) {
    std::size_t w = 0;
    while (piece >= ends[w]) ++w;
    const StreamedWeight& weight = weights[w];
    const int64_t begin = (piece - (w == 0 ? 0 : ends[w - 1])) * rows[w];
    const int64_t end = std::min(weight.n, begin + rows[w]);
    if (turns && in_float32(weight)) {
      multiply_turned(float32_rows(weight, begin, k), weight, begin, end, m, k, panels.get());
    } else {
      runs[w].multiply(weight, begin, end, m, k, runs[w].a);
    }
  });
}

void multiply_rows(int64_t m, int64_t k, const float* a, const StreamedWeight& w) {
  if (m <= kFewRows || w.format->integers != nullptr) return multiply_few_rows(m, k, a, {&w, 1});
  const Scratch<float> wide(std::min(w.n, kWidened) * k);
  for (int64_t first = 0; first < w.n; first += kWidened) {
    const int64_t rows = std::min(kWidened, w.n - first);
    widen_rows(w, first, first + rows, k, wide.get());
    const auto add_part = [&](int64_t row, int64_t row_end, int64_t column, int64_t column_end) {
      add_bias(w, row, row_end, first + column, first + column_end);
    };
    gemm<float>(m, rows, k, 1, {a, k, 1}, {wide.get(), 1, k}, 0, {w.c + first, w.n, 1},
                w.bias == nullptr ? Epilogue() : Epilogue(add_part));
  }
}

}  // namespace tapegrad
