// Stores past the caches, with the instructions that every x86-64 processor has; and the size of the caches.
#include <cpuid.h>
#include <emmintrin.h>
#include <tapegrad/autograd/kernels/simd/stream.h>

#include <algorithm>
#include <cstring>

namespace tapegrad {

namespace {

// The largest cache in a table of deterministic cache parameters; 0 if the processor has no such table.
int64_t largest_cache(unsigned leaf) {
  constexpr unsigned kMostCaches = 16;
  int64_t largest = 0;
  for (unsigned i = 0; i < kMostCaches; ++i) {
    unsigned a = 0, b = 0, c = 0, d = 0;
    if (__get_cpuid_count(leaf, i, &a, &b, &c, &d) == 0 || (a & 31) == 0) break;
    const int64_t line = (b & 0xfff) + 1, partitions = (b >> 12 & 0x3ff) + 1, ways = (b >> 22) + 1;
    largest = std::max(largest, line * partitions * ways * (int64_t{c} + 1));
  }
  return largest;
}

}  // namespace

int64_t largest_cache_bytes() {
  static const int64_t bytes = [] {
    constexpr int64_t kUsual = int64_t{32} << 20;
    const int64_t found = std::max(largest_cache(4), largest_cache(0x8000001d));  // Intel's table, AMD's
    return found > 0 ? found : kUsual;
  }();
  return bytes;
}

void stream_copy(void* to, const void* from, int64_t bytes) {
  constexpr int64_t kLine = 64;
  auto* out = static_cast<std::byte*>(to);
  const auto* in = static_cast<const std::byte*>(from);
  for (; bytes >= kLine; bytes -= kLine, in += kLine, out += kLine) {
    const auto* const vectors = reinterpret_cast<const __m128i*>(in);
    const __m128i a = _mm_loadu_si128(vectors), b = _mm_loadu_si128(vectors + 1);
    const __m128i c = _mm_loadu_si128(vectors + 2), d = _mm_loadu_si128(vectors + 3);
    auto* const line = reinterpret_cast<__m128i*>(out);
    _mm_stream_si128(line, a);
    _mm_stream_si128(line + 1, b);
    _mm_stream_si128(line + 2, c);
    _mm_stream_si128(line + 3, d);
  }
  std::memcpy(out, in, static_cast<std::size_t>(bytes));
}

void end_streams() { _mm_sfence(); }

}  // namespace tapegrad
