// Matrix products with BLIS's micro-kernels: packing, blocks and the loops around them are ours, as in BLIS.
//
// Only the micro-kernels are taken from BLIS, out of its static library (its shared one does not export them): BLIS 0.9
// chooses them by a list of processors that ends in 2021 and falls back to code without vectors, and the calls that set
// its context change with each version, while the kernels have kept their names and arguments from 0.9 to 2.1.
//
// Sums: along k in the blocks of Kernels::multiply, each in order from 0 with one fused multiply-add per step, then
// C = alpha sum + beta C, and C += alpha sum for the later blocks. Hence a beta of 0 or 1: at the edges of C, the
// micro-kernels round another one in another place.
#ifdef TAPEGRAD_BLIS
#include <blis.h>
#endif
#include <fmt/format.h>

#include <algorithm>

#include <tapegrad/autograd/detail/pieces.h>
#include <tapegrad/autograd/detail/scratch.h>
#include <tapegrad/autograd/kernels/product/blas_blis.h>

namespace tapegrad::blas {
namespace {

// C [m, n] = alpha A B + beta C from a packed strip of A and one of B; next_a and next_b are the strips of the next
// call, which the kernel may fetch into the cache. (Side by side in memory, these two would be read in one vector that
// waits for all stores of the previous call: 5 % of the time.)
template <class T>
struct MicroKernel {
  void (*call)(int64_t m, int64_t n, int64_t k, const T* a, const T* b, const T* next_a, T alpha, T beta, T* c,
               int64_t c_rows, int64_t c_cols, const T* next_b) = nullptr;
  bool turned = false;  // its C has contiguous columns: it computes our C' = B' A'
};

#ifdef TAPEGRAD_BLIS
#ifdef BLIS_VERSION_STRING
constexpr const char* kVersion = BLIS_VERSION_STRING;
#else
constexpr const char* kVersion = "0.9";  // names its version in the header from 1.0 on
#endif

template <class T, auto kBlis>
void call_blis(int64_t m, int64_t n, int64_t k, const T* a, const T* b, const T* next_a, T alpha, T beta, T* c,
               int64_t c_rows, int64_t c_cols, const T* next_b) {
  auxinfo_t ahead{};
  bli_auxinfo_set_next_a(const_cast<T*>(next_a), &ahead);
  bli_auxinfo_set_next_b(const_cast<T*>(next_b), &ahead);
  kBlis(m, n, k, &alpha, const_cast<T*>(a), const_cast<T*>(b), &beta, c, c_rows, c_cols, &ahead, nullptr);
}

template <class T>
MicroKernel<T> micro_kernel() {
  constexpr bool kFloat = sizeof(T) == sizeof(float);
  switch (kernel_family()) {
    case KernelFamily::avx2:
      if constexpr (kFloat) {
        return {call_blis<T, bli_sgemm_haswell_asm_6x16>};
      } else {
        return {call_blis<T, bli_dgemm_haswell_asm_6x8>};
      }
    case KernelFamily::avx512:
      if constexpr (kFloat) {
        return {call_blis<T, bli_sgemm_skx_asm_32x12_l2>, true};
      } else {
        return {call_blis<T, bli_dgemm_skx_asm_16x14>, true};
      }
    case KernelFamily::portable:
    case KernelFamily::neon: break;
  }
  return {};
}
#else
template <class T>
MicroKernel<T> micro_kernel() {
  return {};
}
#endif

// An operand of the micro-kernel: rows of its A or columns of its B.
template <class T>
struct Operand {
  const T* data;
  int64_t step, along;  // strides from one row of A to the next (column of B), and along k
  int64_t size, strip;  // rows of A (columns of B), of all and of a packed strip
  PackStrip<T> pack;

  int64_t block_size(int64_t most) const { return pieces_of(std::min(most, size), strip) * strip; }
  void pack_block(int64_t first, int64_t count, int64_t begin, int64_t k, T* to) const {
    for (int64_t i = 0; i < count; i += strip) {
      pack(std::min(strip, count - i), k, data + (first + i) * step + begin * along, step, along, to + i * k);
    }
  }
};

constexpr int64_t kWide = 3072;     // columns of the micro-kernel's B that are packed at once, for L3
constexpr int64_t kReadAhead = 64;  // elements behind a strip that a kernel may read

}  // namespace

template <class T>
bool has_blis_kernel() {
  return micro_kernel<T>().call != nullptr;
}

template <class T>
void multiply_on_blis(const Tile<T>& t) {
  if (t.m == 0 || t.n == 0) return;
  const Kernels<T>& use = kernels<T>();
  const MicroKernel<T> micro = micro_kernel<T>();
  const Operand<T> our_a{t.a, t.a_rows, t.a_cols, t.m, use.blis_rows, use.pack_blis_sliver};
  const Operand<T> our_b{t.b, t.b_cols, t.b_rows, t.n, use.cols, use.pack_panel};
  const Operand<T>&a = micro.turned ? our_b : our_a, &b = micro.turned ? our_a : our_b;
  const int64_t c_rows = micro.turned ? 1 : t.c_rows, c_cols = micro.turned ? t.c_rows : 1;
  const int64_t depth = block_depth(t.k), most_a = use.blis_block / a.strip * a.strip,
                most_b = kWide / b.strip * b.strip;
  const Scratch<T> packed_a(a.block_size(most_a) * depth + kReadAhead),
      packed_b(b.block_size(most_b) * depth + kReadAhead);
  for (int64_t j = 0; j < b.size; j += most_b) {
    const int64_t wide = std::min(most_b, b.size - j);
    int64_t begin = 0;
    do {  // once also for k = 0
      const int64_t k = std::min(depth, t.k - begin);
      b.pack_block(j, wide, begin, k, packed_b.get());
      for (int64_t i = 0; i < a.size; i += most_a) {
        const int64_t high = std::min(most_a, a.size - i);
        a.pack_block(i, high, begin, k, packed_a.get());
        for (int64_t q = 0; q < wide; q += b.strip) {
          const T* const of_b = packed_b.get() + q * k;
          for (int64_t p = 0; p < high; p += a.strip) {
            const T* const of_a = packed_a.get() + p * k;
            const bool last = p + a.strip >= high;
            micro.call(std::min(a.strip, high - p), std::min(b.strip, wide - q), k, of_a, of_b,
                       last ? packed_a.get() : of_a + a.strip * k, t.alpha, begin == 0 ? t.beta : T(1),
                       t.c + (i + p) * c_rows + (j + q) * c_cols, c_rows, c_cols, last ? of_b + b.strip * k : of_b);
          }
        }
      }
      begin += depth;
    } while (begin < t.k);
  }
}

template bool has_blis_kernel<float>();
template bool has_blis_kernel<double>();
template void multiply_on_blis<float>(const Tile<float>&);
template void multiply_on_blis<double>(const Tile<double>&);

std::string blis_description() {
#ifdef TAPEGRAD_BLIS
  const Kernels<float>& use = kernels<float>();
  if (!has_blis_kernel<float>()) return fmt::format("BLIS {} without a kernel for {}", kVersion, name(kernel_family()));
  const bool turned = micro_kernel<float>().turned;
  return fmt::format("BLIS {} with its {} x {} kernel ({})", kVersion, turned ? use.cols : use.blis_rows,
                     turned ? use.blis_rows : use.cols, name(kernel_family()));
#else
  return fmt::format("this build has no BLIS; tapegrad's own kernels ({})", name(kernel_family()));
#endif
}

}  // namespace tapegrad::blas
