// Loops over several threads, whose pieces depend only on the work, never on the number of threads.
#pragma once

#include <tapegrad/autograd/compiler.h>

#include <cstdint>

namespace tapegrad {

/// Number of threads that loops may use, including the calling one. Initially the number of processors available. If
/// the system does not let the process make so many threads, loops use those that it could make.
int num_threads();

/// Sets num_threads() for the whole process. More threads than the machine has processors are accepted; the extra ones
/// do not run. Waits until no other thread is inside a loop.
/// Error if n < 1, and inside a parallel_for.
void set_num_threads(int n);

namespace detail {
/// Runs call(f, i) for every i in [0, pieces), on any thread and in any order; rethrows the first exception. Recording
/// is paused on the calling thread meanwhile.
void run_pieces(int64_t pieces, void (*call)(const void* f, int64_t piece), const void* f);
}  // namespace detail

/// Calls f(begin, end) on consecutive pieces of [0, n), each of `grain` elements (the last may be shorter).
/// If n <= grain, it is one plain call in this thread; a loop that starts inside a piece runs its pieces one by one in
/// its own thread. f must not record on a tape: kernels work on unrecorded tensors.
template <class F>
void parallel_for(int64_t n, int64_t grain, const F& f) {
  if (n <= 0) return;
  if (n <= grain) {
    f(int64_t{0}, n);
    return;
  }
  struct Cut {
    const F& f;
    int64_t n, grain;
  } cut{f, n, grain < 1 ? 1 : grain};
  const auto call = [](const void* p, int64_t piece) {
    const Cut& c = *static_cast<const Cut*>(p);
    const int64_t begin = piece * c.grain;
    c.f(begin, c.n - begin < c.grain ? c.n : begin + c.grain);
  };
  detail::run_pieces((n - 1) / cut.grain + 1, call, &cut);
}

/// The same, and f(i) for every i of a piece.
void parallel_for_each(int64_t n, int64_t grain, const auto& f) {
  parallel_for(n, grain, [&f](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) f(i);
  });
}

}  // namespace tapegrad
