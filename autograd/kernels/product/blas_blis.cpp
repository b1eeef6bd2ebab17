// Products on BLIS, in one of its two ways. The packed one: BLIS's blocking around our packing, with its own innermost
// kernel for these vectors or ours. The unpacked one, "sup" in BLIS: it hands over operands as they are, to our tiles.
//
// BLIS 0.9 chooses its kernels by a list of processors that ends in 2021, and uses "generic" ones on all others. We
// therefore pass it contexts of our own: copies of its context with the block sizes and kernels of the family in use.
// Calls only read a context. The shared library does not export BLIS's kernels; cmake/FindBLIS.cmake takes those that
// are named here from its static library.
//
// Sums: along k in the blocks of kernels<T>().multiply, each block in order from 0 with one multiply-add per step, then
// C = alpha sum + beta C, and C += alpha sum for the later ones. BLIS's kernels do that, too, so they give our bits.
#include <blis.h>
#include <fmt/format.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>

#include <tapegrad/autograd/detail/scratch.h>
#include <tapegrad/autograd/kernels/family.h>
#include <tapegrad/autograd/kernels/processor.h>
#include <tapegrad/autograd/kernels/product/blas_blis.h>
#include <tapegrad/autograd/parallel.h>

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

// The innermost kernel: `rows` x `cols` elements of C in registers, as our products see them: C has contiguous rows.
struct Kernel {
  void_fp call;
  int64_t rows, cols;
  bool turned = false;  // calls its rows columns: BLIS computes C' = B' A'
  bool of_blis = false;
};

template <class T>
Kernel kernel_for() {
  [[maybe_unused]] constexpr bool kFloat = sizeof(T) == 4;
  const Kernels<T>& ours = kernels<T>();
  const auto as_fp = [](auto* f) { return reinterpret_cast<void_fp>(f); };
#ifdef TAPEGRAD_BLIS_KERNELS
  if (kernel_family() == KernelFamily::avx2) {
    return {kFloat ? as_fp(bli_sgemm_haswell_asm_6x16) : as_fp(bli_dgemm_haswell_asm_6x8), ours.blis_rows, ours.cols,
            false, true};
  }
  if (kernel_family() == KernelFamily::avx512 && kFloat) {  // that for float64 is slower
    return {as_fp(bli_sgemm_skx_asm_32x12_l2), ours.blis_rows, ours.cols, true, true};
  }
#endif
  return {as_fp(micro<T>), ours.rows, ours.cols};
}

template <class T>
void finish_panel(T* panel, int64_t wide, int64_t length, int64_t padded_length, T scale) {
  if (scale != 1) {
    for (int64_t i = 0; i < wide * length; ++i) panel[i] *= scale;
  }
  std::fill(panel + wide * length, panel + wide * padded_length, T(0));
}

// Packs rows of our A, wherever BLIS puts it.
template <class T, bool kOurs>
void pack_a(struc_t, diag_t, uplo_t, conj_t, pack_t, bool, dim_t rows, dim_t k, dim_t, dim_t k_padded, dim_t, dim_t,
            void* scale, void* a, inc_t a_rows, inc_t a_cols, void* to, inc_t, inc_t, cntx_t*, void*) {
  const Kernels<T>& use = kernels<T>();
  (kOurs ? use.pack_sliver : use.pack_blis_sliver)(rows, k, static_cast<T*>(a), a_rows, a_cols, static_cast<T*>(to));
  finish_panel(static_cast<T*>(to), kOurs ? use.rows : use.blis_rows, k, k_padded, *static_cast<T*>(scale));
}

template <class T>
void pack_b(struc_t, diag_t, uplo_t, conj_t, pack_t, bool, dim_t cols, dim_t k, dim_t, dim_t k_padded, dim_t, dim_t,
            void* scale, void* b, inc_t b_cols, inc_t b_rows, void* to, inc_t, inc_t, cntx_t*, void*) {
  kernels<T>().pack_panel(cols, k, static_cast<T*>(b), b_rows, b_cols, static_cast<T*>(to));
  finish_panel(static_cast<T*>(to), kernels<T>().cols, k, k_padded, *static_cast<T*>(scale));
}

// What tiles share, where BLIS keeps the parameters of a user's own packing.
template <class T>
Shared<T> shared(obj_t* operand) {
  return *static_cast<const Shared<T>*>(bli_obj_pack_params(operand));
}

template <class T>
void multiply_objects(obj_t* alpha, obj_t* a, obj_t* b, obj_t* beta, obj_t* c) {
  const auto data = [](obj_t* operand) { return static_cast<T*>(bli_obj_buffer(operand)); };
  const Tile<T> tile{.m = bli_obj_length(c),
                     .n = bli_obj_width(c),
                     .k = bli_obj_width(a),
                     .alpha = *data(alpha),
                     .a = data(a),
                     .a_rows = bli_obj_row_stride(a),
                     .a_cols = bli_obj_col_stride(a),
                     .b = data(b),
                     .b_rows = bli_obj_row_stride(b),
                     .b_cols = bli_obj_col_stride(b),
                     .beta = *data(beta),
                     .c = data(c),
                     .c_rows = bli_obj_row_stride(c),
                     .slivers = shared<T>(a),
                     .panels = shared<T>(b)};
  const Scratch<T> scratch(kernels<T>().scratch_size(tile));
  kernels<T>().multiply(tile, scratch.get());
}

// BLIS's handler of products whose operands are not packed.
err_t multiply_unpacked(obj_t* alpha, obj_t* a, obj_t* b, obj_t* beta, obj_t* c, cntx_t*, rntm_t*) {
  (bli_obj_dt(c) == BLIS_FLOAT ? multiply_objects<float> : multiply_objects<double>)(alpha, a, b, beta, c);
  return BLIS_SUCCESS;
}

struct Context {
  cntx_t cntx;
  rntm_t packed, in_place;  // settings of a call: whether it goes to the handler
  packm_blk_var1_params_t pack_a_by, pack_b_by;
  Kernel of_float, of_double;
  std::atomic<int> ready_for{0};  // calls at the same time for which BLIS has memory

  Context()
      : cntx(*bli_gks_query_cntx()),
        pack_a_by{},
        pack_b_by{},
        of_float(kernel_for<float>()),
        of_double(kernel_for<double>()) {
    bli_rntm_init_from_global(&packed);
    bli_rntm_disable_l3_sup(&packed);
    in_place = packed;
    bli_rntm_enable_l3_sup(&in_place);
    // The handler gets all products of a call that may go there, not only small ones.
    bli_cntx_set_l3_sup_handlers(1, BLIS_GEMM, reinterpret_cast<void*>(multiply_unpacked), &cntx);
    blksz_t least;
    constexpr dim_t kAll = std::numeric_limits<dim_t>::max();
    bli_blksz_init_easy(&least, kAll, kAll, kAll, kAll);
    bli_cntx_set_l3_sup_thresh(3, BLIS_MT, &least, BLIS_NT, &least, BLIS_KT, &least, &cntx);
    const Kernel &s = of_float, &d = of_double;
    bli_cntx_set_l3_nat_ukrs(2, BLIS_GEMM_UKR, BLIS_FLOAT, s.call, !s.turned, BLIS_GEMM_UKR, BLIS_DOUBLE, d.call,
                             !d.turned, &cntx);
    // Blocks: a panel of B in L1, a block of A in half of L2, B in L3; if the kernel turns the product, A and B
    // exchanged. The blocks along k are ours, so that sums do not depend on the family or the kernel.
    const auto low = [](const Kernel& one) { return one.turned ? one.cols : one.rows; };
    const auto wide = [](const Kernel& one) { return one.turned ? one.rows : one.cols; };
    const int64_t mc = kernel_family() == KernelFamily::avx512 ? 480 : 168, nc = 3072;
    blksz_t mr, nr, m, k, n;
    bli_blksz_init_easy(&mr, low(s), low(d), 0, 0);
    bli_blksz_init_easy(&nr, wide(s), wide(d), 0, 0);
    bli_blksz_init_easy(&m, mc / low(s) * low(s), mc / 2 / low(d) * low(d), 0, 0);
    bli_blksz_init_easy(&k, kDepth, kDepth, 0, 0);
    bli_blksz_init_easy(&n, nc / wide(s) * wide(s), nc / 2 / wide(d) * wide(d), 0, 0);
    bli_cntx_set_blkszs(BLIS_NAT, 5, BLIS_NC, &n, BLIS_NR, BLIS_KC, &k, BLIS_KR, BLIS_MC, &m, BLIS_MR, BLIS_NR, &nr,
                        BLIS_NR, BLIS_MR, &mr, BLIS_MR, &cntx);
    pack_a_by.ukr_fn[BLIS_FLOAT][BLIS_FLOAT] = s.of_blis ? pack_a<float, false> : pack_a<float, true>;
    pack_a_by.ukr_fn[BLIS_DOUBLE][BLIS_DOUBLE] = d.of_blis ? pack_a<double, false> : pack_a<double, true>;
    pack_b_by.ukr_fn[BLIS_FLOAT][BLIS_FLOAT] = pack_b<float>;
    pack_b_by.ukr_fn[BLIS_DOUBLE][BLIS_DOUBLE] = pack_b<double>;
  }

  template <class T>
  const Kernel& of() const {
    return sizeof(T) == sizeof(float) ? of_float : of_double;
  }
};

// BLIS keeps the memory of a call for later ones: as much as the most calls at the same time have needed. Threads would
// request some in the middle of a training, when they happen to be inside together for the first time. So this makes
// that many calls of the largest size at the same time, each from the packing of the previous one. They compute
// nothing.
class Rehearsal {
 public:
  Rehearsal(const Context& context, int calls)
      : packing_of_a_{{}, this}, packing_of_b_{{}, this}, cntx_(context.cntx), rntm_(context.packed) {
    packing_of_a_.ukr_fn[BLIS_FLOAT][BLIS_FLOAT] = pack<true>;
    packing_of_b_.ukr_fn[BLIS_FLOAT][BLIS_FLOAT] = pack<false>;
    bli_cntx_set_l3_nat_ukrs(1, BLIS_GEMM_UKR, BLIS_FLOAT, reinterpret_cast<void_fp>(compute), true, &cntx_);
    call(calls);
  }

 private:
  struct Packing : packm_blk_var1_params_t {
    Rehearsal* self;
  };

  void call(int calls) {
    left_ = calls - 1;
    const auto size = [&](bszid_t id) { return bli_cntx_get_blksz_def_dt(BLIS_FLOAT, id, &cntx_); };
    const dim_t m = size(BLIS_MC), n = size(BLIS_NC), k = size(BLIS_KC);
    float one = 1, zero = 0;
    obj_t alpha = BLIS_OBJECT_INITIALIZER_1X1, beta = BLIS_OBJECT_INITIALIZER_1X1;
    obj_t a = BLIS_OBJECT_INITIALIZER, b = BLIS_OBJECT_INITIALIZER, c = BLIS_OBJECT_INITIALIZER;
    bli_obj_init_finish_1x1(BLIS_FLOAT, &one, &alpha);
    bli_obj_init_finish_1x1(BLIS_FLOAT, &zero, &beta);
    bli_obj_init_finish(BLIS_FLOAT, m, k, &one, k, 1, &a);  // nobody reads or writes these
    bli_obj_init_finish(BLIS_FLOAT, k, n, &one, n, 1, &b);
    bli_obj_init_finish(BLIS_FLOAT, m, n, &one, n, 1, &c);
    bli_obj_set_pack_params(&packing_of_a_, &a);
    bli_obj_set_pack_params(&packing_of_b_, &b);
    bli_gemm_ex(&alpha, &a, &b, &beta, &c, &cntx_, &rntm_);
  }
  template <bool kLast>  // A is packed after B, so both are in memory
  static void pack(struc_t, diag_t, uplo_t, conj_t, pack_t, bool, dim_t, dim_t, dim_t, dim_t, dim_t, dim_t, void*,
                   void*, inc_t, inc_t, void*, inc_t, inc_t, cntx_t*, void* params) {
    Rehearsal& self = *static_cast<Packing*>(params)->self;
    if (kLast && self.left_ > 0) self.call(self.left_);
  }
  static void compute(dim_t, dim_t, dim_t, void*, void*, void*, void*, void*, inc_t, inc_t, auxinfo_t*, cntx_t*) {}

  Packing packing_of_a_, packing_of_b_;
  cntx_t cntx_;
  rntm_t rntm_;
  int left_ = 0;
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
    while (inside_.load(std::memory_order_acquire) != kClosed) pause_core();
  }
  void open() {
    inside_.fetch_and(~kClosed, std::memory_order_release);
    inside_.notify_all();
  }
  std::atomic<unsigned> inside_{0};  // threads inside BLIS, and the bit kClosed
};

[[maybe_unused]] const ForkGate& kMadeAtLoad = ForkGate::gate();

}  // namespace

InsideBlis::InsideBlis() { ForkGate::gate().enter(); }
InsideBlis::~InsideBlis() { ForkGate::gate().leave(); }

namespace {

// Made by the first call; by several, if they come at the same time, one of which is kept. Not a static variable: a
// fork could leave its guard locked.
Context& context() {
  static std::atomic<Context*> made{nullptr};
  Context* known = made.load(std::memory_order_acquire);
  if (known != nullptr) return *known;
  const InsideBlis inside;
  auto* const mine = new Context;
  if (made.compare_exchange_strong(known, mine, std::memory_order_acq_rel)) return *mine;
  delete mine;
  return *known;
}

template <class T>
struct Operand {
  T* data;
  int64_t row_stride, col_stride;

  // Whether BLIS takes these strides: rows or columns are contiguous and do not overlap. Sets those that do not matter.
  bool settle(int64_t rows, int64_t cols) {
    if (cols == 1) col_stride = 1;
    if (rows == 1) row_stride = col_stride == 1 ? cols : 1;
    return (col_stride == 1 && row_stride >= cols) || (row_stride == 1 && col_stride >= rows);
  }
};

template <class T>
Operand<T> copied(const Operand<T>& from, int64_t rows, int64_t cols, T* to) {
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < cols; ++j) to[i * cols + j] = from.data[i * from.row_stride + j * from.col_stride];
  }
  return {to, cols, 1};
}

// The arguments of bli_gemm_ex for C = alpha A B + beta C, or for C' = B' A' if it is turned. All operands have strides
// that BLIS takes; rows of C are contiguous.
template <class T>
struct Arguments {
  T alpha_value, beta_value;
  obj_t alpha = BLIS_OBJECT_INITIALIZER_1X1, beta = BLIS_OBJECT_INITIALIZER_1X1;
  obj_t a = BLIS_OBJECT_INITIALIZER, b = BLIS_OBJECT_INITIALIZER, c = BLIS_OBJECT_INITIALIZER;

  Arguments(bool turned, int64_t m, int64_t n, int64_t k, T alpha_is, const Operand<T>& a_from,
            const Operand<T>& b_from, T beta_is, const Operand<T>& c_to)
      : alpha_value(alpha_is), beta_value(beta_is) {
    // Functions of the library that do the same check their arguments: half a microsecond for five of them.
    bli_obj_init_finish_1x1(kType<T>, &alpha_value, &alpha);
    bli_obj_init_finish_1x1(kType<T>, &beta_value, &beta);
    const auto attach = [turned](int64_t rows, int64_t cols, const Operand<T>& from, obj_t* to) {
      bli_obj_init_finish(kType<T>, turned ? cols : rows, turned ? rows : cols, from.data,
                          turned ? from.col_stride : from.row_stride, turned ? from.row_stride : from.col_stride, to);
    };
    attach(m, k, a_from, &a);
    attach(k, n, b_from, &b);
    attach(m, n, c_to, &c);
  }
  Arguments(const Arguments&) = delete;
  Arguments& operator=(const Arguments&) = delete;
};

// By BLIS's packed path, with beta = 0 or 1 and k of at most kDepth.
template <class T>
void multiply_block(Context& use, int64_t m, int64_t n, int64_t k, T alpha, const Operand<T>& a, const Operand<T>& b,
                    T beta, const Operand<T>& c) {
  const bool turned = use.of<T>().turned;  // BLIS itself would leave a C of one row or column as it is
  Arguments<T> on(turned, m, n, k, alpha, a, b, beta, c);
  bli_obj_set_pack_params(&use.pack_a_by, &on.a);
  bli_obj_set_pack_params(&use.pack_b_by, &on.b);
  bli_gemm_ex(&on.alpha, turned ? &on.b : &on.a, turned ? &on.a : &on.b, &on.beta, &on.c, &use.cntx, &use.packed);
}

}  // namespace

template <class T>
void multiply_on_blis(const Tile<T>& t) {
  if (t.m == 0 || t.n == 0) return;
  Operand<T> a{const_cast<T*>(t.a), t.a_rows, t.a_cols}, b{const_cast<T*>(t.b), t.b_rows, t.b_cols};
  Operand<T> c{t.c, t.c_rows, 1};
  const bool takes_a = a.settle(t.m, t.k), takes_b = b.settle(t.k, t.n);
  // Another beta would be rounded differently at edges, where BLIS's kernels multiply it in another place; and for
  // alpha = 0, BLIS does not look at A and B.
  const bool apart = !c.settle(t.m, t.n) || (t.beta != 0 && t.beta != 1) || t.alpha == 0;
  const Scratch<T> copy_of_a(takes_a ? 0 : t.m * t.k), copy_of_b(takes_b ? 0 : t.k * t.n), sums(apart ? t.m * t.n : 0);
  if (!takes_a) a = copied(a, t.m, t.k, copy_of_a.get());
  if (!takes_b) b = copied(b, t.k, t.n, copy_of_b.get());
  const T alpha = t.alpha == 0 ? T(1) : t.alpha, factor = t.alpha == 0 ? T(0) : T(1);
  const Operand<T> to = apart ? Operand<T>{sums.get(), t.n, 1} : c;
  Context& use = context();
  const InsideBlis inside;
  if (const int threads = num_threads(); use.ready_for.load(std::memory_order_relaxed) < threads) {
    use.ready_for.store(threads, std::memory_order_relaxed);
    Rehearsal(use, threads);
  }
  const int64_t depth = block_depth(t.k);
  int64_t begin = 0;
  do {  // once also for k = 0
    const T beta = begin == 0 ? t.beta : T(1);
    multiply_block(use, t.m, t.n, std::min(depth, t.k - begin), alpha,
                   {a.data + begin * a.col_stride, a.row_stride, a.col_stride},
                   {b.data + begin * b.row_stride, b.row_stride, b.col_stride}, apart ? T(0) : beta, to);
    for (int64_t i = 0; apart && i < t.m; ++i) {
      for (int64_t j = 0; j < t.n; ++j) {
        T& old = t.c[i * t.c_rows + j];
        const T sum = factor * sums.get()[i * t.n + j];
        old = beta == 0 ? sum : std::fma(beta, old, sum);
      }
    }
    begin += depth;
  } while (begin < t.k);
}

// This way takes none of BLIS's mutexes.
template <class T>
void multiply_in_place(const Tile<T>& t) {
  Operand<T> a{const_cast<T*>(t.a), t.a_rows, t.a_cols}, b{const_cast<T*>(t.b), t.b_rows, t.b_cols};
  Operand<T> c{t.c, t.c_rows, 1};
  a.settle(t.m, t.k);
  b.settle(t.k, t.n);
  c.settle(t.m, t.n);
  Context& use = context();
  Arguments<T> on(false, t.m, t.n, t.k, t.alpha, a, b, t.beta, c);
  Shared<T> slivers = t.slivers, panels = t.panels;
  bli_obj_set_pack_params(&slivers, &on.a);
  bli_obj_set_pack_params(&panels, &on.b);
  bli_gemm_ex(&on.alpha, &on.a, &on.b, &on.beta, &on.c, &use.cntx, &use.in_place);
}

template <class T>
Engine packing_engine() {
  return context().of<T>().of_blis ? Engine::blis : Engine::ours_in_blis;
}

template void multiply_on_blis<float>(const Tile<float>&);
template void multiply_on_blis<double>(const Tile<double>&);
template void multiply_in_place<float>(const Tile<float>&);
template void multiply_in_place<double>(const Tile<double>&);
template Engine packing_engine<float>();
template Engine packing_engine<double>();

std::string blis_description() {
  const Kernel& s = context().of_float;
  return fmt::format("BLIS {} with {} {} x {} kernel ({})", bli_info_get_version_str(), s.of_blis ? "its own" : "our",
                     s.rows, s.cols, name(kernel_family()));
}

}  // namespace tapegrad::blas
