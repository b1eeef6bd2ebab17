// Large products on BLIS: its blocking around our innermost kernels and our packing.
//
// BLIS 0.9 chooses its kernels by a list of processors that ends in 2021, and uses "generic" ones on all others. We
// therefore pass it a context of our own: a copy of its context with the block sizes and kernels of the family in use.
// Calls only read the context.
#include <blis.h>
#include <fmt/format.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>

#include <tapegrad/autograd/kernels/family.h>
#include <tapegrad/autograd/kernels/product/blas_blis.h>

namespace tapegrad::blas {
namespace {

template <class T>
constexpr num_t kType = sizeof(T) == 4 ? BLIS_FLOAT : BLIS_DOUBLE;

template <class T>
void micro(dim_t m, dim_t n, dim_t k, void* alpha, void* a, void* b, void* beta, void* c, inc_t c_rows, inc_t /* 1 */,
           auxinfo_t*, cntx_t*) {
  kernels<T>().micro(m, n, k, *static_cast<T*>(alpha), static_cast<T*>(a), static_cast<T*>(b), *static_cast<T*>(beta),
                     static_cast<T*>(c), c_rows);
}

template <class T>
void finish_panel(T* panel, int64_t wide, int64_t length, int64_t padded_length, T scale) {
  if (scale != 1) {
    for (int64_t i = 0; i < wide * length; ++i) panel[i] *= scale;
  }
  std::fill(panel + wide * length, panel + wide * padded_length, T(0));
}

template <class T>
void pack_a(struc_t, diag_t, uplo_t, conj_t, pack_t, bool, dim_t rows, dim_t k, dim_t, dim_t k_padded, dim_t, dim_t,
            void* scale, void* a, inc_t a_rows, inc_t a_cols, void* to, inc_t, inc_t, cntx_t*, void*) {
  kernels<T>().pack_sliver(rows, k, static_cast<T*>(a), a_rows, a_cols, static_cast<T*>(to));
  finish_panel(static_cast<T*>(to), kernels<T>().rows, k, k_padded, *static_cast<T*>(scale));
}

template <class T>
void pack_b(struc_t, diag_t, uplo_t, conj_t, pack_t, bool, dim_t cols, dim_t k, dim_t, dim_t k_padded, dim_t, dim_t,
            void* scale, void* b, inc_t b_cols, inc_t b_rows, void* to, inc_t, inc_t, cntx_t*, void*) {
  kernels<T>().pack_panel(cols, k, static_cast<T*>(b), b_rows, b_cols, static_cast<T*>(to));
  finish_panel(static_cast<T*>(to), kernels<T>().cols, k, k_padded, *static_cast<T*>(scale));
}

struct Context {
  cntx_t cntx;
  packm_blk_var1_params_t pack_a_by, pack_b_by;

  Context() : cntx(*bli_gks_query_cntx()), pack_a_by{}, pack_b_by{} {
    const Kernels<float>& s = kernels<float>();
    const Kernels<double>& d = kernels<double>();
    bli_cntx_set_l3_nat_ukrs(2, BLIS_GEMM_UKR, BLIS_FLOAT, micro<float>, TRUE, BLIS_GEMM_UKR, BLIS_DOUBLE,
                             micro<double>, TRUE, &cntx);
    // blocks: a panel of B in L1, a block of A in half of L2, B in L3
    const bool wide = kernel_family() == KernelFamily::avx512;
    const int64_t mc = (wide ? 280 : 168) / s.rows * s.rows, kc = wide ? 384 : 256, nc = 3072;
    blksz_t mr, nr, m, k, n;
    bli_blksz_init_easy(&mr, s.rows, d.rows, 0, 0);
    bli_blksz_init_easy(&nr, s.cols, d.cols, 0, 0);
    bli_blksz_init_easy(&m, mc, mc / 2 / d.rows * d.rows, 0, 0);
    bli_blksz_init_easy(&k, kc, kc, 0, 0);
    bli_blksz_init_easy(&n, nc, nc / 2, 0, 0);
    bli_cntx_set_blkszs(BLIS_NAT, 5, BLIS_NC, &n, BLIS_NR, BLIS_KC, &k, BLIS_KR, BLIS_MC, &m, BLIS_MR, BLIS_NR, &nr,
                        BLIS_NR, BLIS_MR, &mr, BLIS_MR, &cntx);
    pack_a_by.ukr_fn[BLIS_FLOAT][BLIS_FLOAT] = pack_a<float>;
    pack_a_by.ukr_fn[BLIS_DOUBLE][BLIS_DOUBLE] = pack_a<double>;
    pack_b_by.ukr_fn[BLIS_FLOAT][BLIS_FLOAT] = pack_b<float>;
    pack_b_by.ukr_fn[BLIS_DOUBLE][BLIS_DOUBLE] = pack_b<double>;
  }
};

// BLIS has its own mutexes, for packing buffers and settings, which a fork would leave locked in the child. So a fork
// waits until no thread is inside BLIS, and keeps threads out meanwhile.
class ForkGate {
 public:
  void enter() {
    while (inside_.fetch_add(1, std::memory_order_acquire) & kClosed) {
      inside_.fetch_sub(1, std::memory_order_release);
      for (unsigned now; (now = inside_.load(std::memory_order_relaxed)) & kClosed;) inside_.wait(now);
    }
  }
  void leave() { inside_.fetch_sub(1, std::memory_order_release); }

  static ForkGate& gate() {
    static ForkGate& made = []() -> ForkGate& {
      pthread_atfork([] { gate().close(); }, [] { gate().open(); }, [] { gate().inside_.store(0); });
      return *new ForkGate;
    }();
    return made;
  }

 private:
  static constexpr unsigned kClosed = 1u << 31;
  void close() {
    inside_.fetch_or(kClosed);
    while (inside_.load(std::memory_order_acquire) != kClosed) __builtin_ia32_pause();
  }
  void open() {
    inside_.fetch_and(~kClosed, std::memory_order_release);
    inside_.notify_all();
  }
  std::atomic<unsigned> inside_{0};  // threads inside BLIS, and the bit kClosed
};

[[maybe_unused]] const ForkGate& kMadeAtLoad = ForkGate::gate();

Context& context() {
  static Context& made = *new Context;
  return made;
}

}  // namespace

InsideBlis::InsideBlis() { ForkGate::gate().enter(); }
InsideBlis::~InsideBlis() { ForkGate::gate().leave(); }

template <class T>
void multiply_on_blis(const Tile<T>& t) {
  const InsideBlis inside;
  Context& use = context();
  T alpha_value = t.alpha, beta_value = t.beta;
  obj_t alpha, beta, a, b, c;
  bli_obj_create_1x1_with_attached_buffer(kType<T>, &alpha_value, &alpha);
  bli_obj_create_1x1_with_attached_buffer(kType<T>, &beta_value, &beta);
  bli_obj_create_with_attached_buffer(kType<T>, t.m, t.k, const_cast<T*>(t.a), t.a_rows, t.a_cols, &a);
  bli_obj_create_with_attached_buffer(kType<T>, t.k, t.n, const_cast<T*>(t.b), t.b_rows, t.b_cols, &b);
  bli_obj_create_with_attached_buffer(kType<T>, t.m, t.n, t.c, t.c_rows, 1, &c);
  bli_obj_set_pack_params(&use.pack_a_by, &a);
  bli_obj_set_pack_params(&use.pack_b_by, &b);
  rntm_t rntm;
  bli_rntm_init_from_global(&rntm);
  bli_rntm_disable_l3_sup(&rntm);  // its path for small products uses its own kernels
  bli_gemm_ex(&alpha, &a, &b, &beta, &c, &use.cntx, &rntm);
}

template void multiply_on_blis<float>(const Tile<float>&);
template void multiply_on_blis<double>(const Tile<double>&);

std::string blis_description() {
  const Kernels<float>& s = kernels<float>();
  return fmt::format("BLIS {} with our {} x {} kernel ({})", bli_info_get_version_str(), s.rows, s.cols,
                     name(kernel_family()));
}

}  // namespace tapegrad::blas
