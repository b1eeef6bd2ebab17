// What differs between kinds of processors: a pause, the modes of arithmetic, the processor's name, its caches.
#pragma once

#include <tapegrad/autograd/compiler.h>

#include <cstdint>
#include <string>

namespace tapegrad {

/// Inside a loop that waits for another thread: lets the core's other thread run, and saves power.
inline void pause_core() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb" ::: "memory");  // as long as x86's pause; "yield" does nothing on most cores
#endif
}

/// While it lives, arithmetic in this thread does not depend on the modes that the program has set: results are rounded
/// to nearest, denormals are zeros, nothing traps.
class FlushDenormals : NonCopyable {
 public:
  FlushDenormals();
  ~FlushDenormals();

 private:
  const uint64_t saved_;
};

/// Whether a result was flushed to zero in this thread since the last call; arm64 only, elsewhere always false.
///
/// x86 flushes a result if it is a denormal after rounding, arm64 before: just below the smallest normal number, they
/// differ.
bool take_flushed();

/// The processor's brand string, "AMD EPYC 9R14", or the codes of its maker and model.
std::string processor_name();

/// The size of the largest cache of this processor, in bytes; 32 MiB if it is not known.
int64_t largest_cache_bytes();
/// The same for the second-level cache of a core; 512 KiB if it is not known.
int64_t second_cache_bytes();

}  // namespace tapegrad
