// What computes products, and how much each of them has computed while a profiler was alive.
#pragma once

#include <tapegrad/autograd/internal/events.h>

#include <array>
#include <cstdint>
#include <string_view>

namespace tapegrad {

/// What computes a product; the table in docs/contributing/matrix_multiplication.md says when and why.
enum class Engine : uint8_t {
  blis,         // BLIS's micro-kernels
  tiles,        // our tiles
  small,        // one of them for a whole product, or for each of a batch
  packed,       // PackedMatrix
  few_rows,     // few_rows.h
  bfloat16,     // bfloat16_product.h
  convolution,  // run_product.h and depthwise convolutions
  attention,    // attention with a head in each lane
};
inline constexpr std::size_t kEngines = 8;

/// "BLIS", "tiles", "small", "packed", "few rows", "bfloat16", "convolution" or "attention".
std::string_view name(Engine engine);

void add_product(Engine engine, int64_t multiplications);
/// Tells the profiler of a product: called once by each function that computes some.
inline void count_product(Engine engine, int64_t multiplications) {
  if (detail::is_profiling()) [[unlikely]]
    add_product(engine, multiplications);
}

/// The multiplications of all threads so far, by Engine.
std::array<int64_t, kEngines> product_counts();

}  // namespace tapegrad
