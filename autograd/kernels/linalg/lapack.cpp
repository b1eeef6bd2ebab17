// LAPACK's Fortran interface: arguments by address, string lengths last, work areas allocated by the caller. Its BLAS
// is BLIS, or another one where that is not found.
// build: -Os
#include <tapegrad/autograd/kernels/linalg/lapack.h>
#include <tapegrad/autograd/kernels/processor.h>
#include <tapegrad/autograd/pool.h>

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <mutex>
#include <type_traits>

namespace {

using Int = int32_t;
using Length = std::size_t;

extern "C" {
void sgeqrf_(const Int* m, const Int* n, float* a, const Int* lda, float* tau, float* work, const Int* lwork,
             Int* info);
void dgeqrf_(const Int* m, const Int* n, double* a, const Int* lda, double* tau, double* work, const Int* lwork,
             Int* info);
void sorgqr_(const Int* m, const Int* n, const Int* k, float* a, const Int* lda, const float* tau, float* work,
             const Int* lwork, Int* info);
void dorgqr_(const Int* m, const Int* n, const Int* k, double* a, const Int* lda, const double* tau, double* work,
             const Int* lwork, Int* info);
void ssyevd_(const char* jobz, const char* uplo, const Int* n, float* a, const Int* lda, float* w, float* work,
             const Int* lwork, Int* iwork, const Int* liwork, Int* info, Length, Length);
void dsyevd_(const char* jobz, const char* uplo, const Int* n, double* a, const Int* lda, double* w, double* work,
             const Int* lwork, Int* iwork, const Int* liwork, Int* info, Length, Length);
void sgesdd_(const char* jobz, const Int* m, const Int* n, float* a, const Int* lda, float* s, float* u, const Int* ldu,
             float* vt, const Int* ldvt, float* work, const Int* lwork, Int* iwork, Int* info, Length);
void dgesdd_(const char* jobz, const Int* m, const Int* n, double* a, const Int* lda, double* s, double* u,
             const Int* ldu, double* vt, const Int* ldvt, double* work, const Int* lwork, Int* iwork, Int* info,
             Length);
}

// The routine for T.
template <class T, class S, class D>
auto pick(S* single, D* twice) {
  if constexpr (std::is_same_v<T, float>) {
    return single;
  } else {
    return twice;
  }
}

}  // namespace

namespace tapegrad::lapack {
namespace {

// BLIS has its own mutexes, for packing buffers and settings, which a fork would leave locked in the child. So a fork
// waits until no thread is inside, and keeps threads out meanwhile.
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
  std::atomic<unsigned> inside_{0};  // threads inside, and the bit kClosed
};

[[maybe_unused]] const ForkGate& kForkGate = ForkGate::gate();

struct InsideBlas : NonCopyable {
  InsideBlas() { ForkGate::gate().enter(); }
  ~InsideBlas() { ForkGate::gate().leave(); }

 private:
#ifdef TAPEGRAD_ANY_BLAS  // such as the serial OpenBLAS, which only one thread at a time may call
  static inline std::mutex one_;
  const std::lock_guard<std::mutex> lock_{one_};
#endif
};

// Calls f(work, size) twice: with a size of -1, the first number of work is the size that it needs.
template <class T, class F>
void with_work(F f) {
  const InsideBlas inside;
  T wanted = 0;
  f(&wanted, Int{-1});
  const auto size = static_cast<Int>(wanted);
  PoolVector<T> work(static_cast<std::size_t>(std::max<Int>(size, 1)));
  f(work.data(), size);
}

}  // namespace

template <class T>
void qr(int m, int n, T* a, T* tau) {
  const Int rows = std::max(m, 1);
  Int info = 0;
  with_work<T>([&](T* work, Int size) { pick<T>(sgeqrf_, dgeqrf_)(&m, &n, a, &rows, tau, work, &size, &info); });
}

template <class T>
void qr_vectors(int m, int columns, int count, T* a, const T* tau) {
  const Int rows = std::max(m, 1);
  Int info = 0;
  with_work<T>(
      [&](T* work, Int size) { pick<T>(sorgqr_, dorgqr_)(&m, &columns, &count, a, &rows, tau, work, &size, &info); });
}

template <class T>
bool symmetric_eigen(bool vectors, int n, T* a, T* values) {
  const Int rows = std::max(n, 1);
  PoolVector<Int> indices(static_cast<std::size_t>(vectors ? 3 + 5 * n : 1));
  const auto count = static_cast<Int>(indices.size());
  Int info = 0;
  with_work<T>([&](T* work, Int size) {
    pick<T>(ssyevd_, dsyevd_)(vectors ? "V" : "N", "U", &n, a, &rows, values, work, &size, indices.data(), &count,
                              &info, 1, 1);
  });
  return info == 0;
}

template <class T>
bool svd(SvdParts parts, int m, int n, T* a, T* s, T* u, T* vt) {
  const Int rows = std::max(m, 1), k = std::min(m, n), rows_vt = std::max(parts == SvdParts::full ? n : k, 1);
  PoolVector<Int> indices(static_cast<std::size_t>(std::max(8 * k, 1)));
  Int info = 0;
  with_work<T>([&](T* work, Int size) {
    pick<T>(sgesdd_, dgesdd_)(parts == SvdParts::values    ? "N"
                              : parts == SvdParts::reduced ? "S"
                                                           : "A",
                              &m, &n, a, &rows, s, u, &rows, vt, &rows_vt, work, &size, indices.data(), &info, 1);
  });
  return info == 0;
}

template void qr<float>(int, int, float*, float*);
template void qr<double>(int, int, double*, double*);
template void qr_vectors<float>(int, int, int, float*, const float*);
template void qr_vectors<double>(int, int, int, double*, const double*);
template bool symmetric_eigen<float>(bool, int, float*, float*);
template bool symmetric_eigen<double>(bool, int, double*, double*);
template bool svd<float>(SvdParts, int, int, float*, float*, float*, float*);
template bool svd<double>(SvdParts, int, int, double*, double*, double*, double*);

}  // namespace tapegrad::lapack
