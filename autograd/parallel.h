// Loops over several threads whose cut depends on the work alone, never on the number of threads.
#pragma once

#include <cstdint>

namespace tapegrad {

/// Threads that loops may use, the calling one included. At the start: as many as the machine runs at once.
int num_threads();

/// Sets the number of threads, from now on and for the whole process; it may exceed the number of cores.
/// Error when n < 1. Not to be called while another thread is inside a loop.
void set_num_threads(int n);

namespace detail {
/// Runs call(f, i) for every i in [0, pieces), on any thread and in any order; the first exception comes
/// back.
void run_pieces(int64_t pieces, void (*call)(const void* f, int64_t piece), const void* f);
}  // namespace detail

/// Calls f(begin, end) on consecutive pieces of [0, n), each of `grain` (the last may be shorter).
/// n <= grain is one plain call in this thread; so is every loop started from inside a piece, piece by piece.
/// f must not record on a tape.
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

}  // namespace tapegrad
