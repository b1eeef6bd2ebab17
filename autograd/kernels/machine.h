// What this machine is and how fast it can be: the facts that `tapegrad info` prints.
#pragma once

#include <cstdint>
#include <string>

namespace tapegrad {

/// The processor's own name for itself: "AMD EPYC 9R14".
std::string processor_name();

/// What multiplies matrices: BLIS with its version, and the innermost kernel of the family in use.
std::string blis_description();

/// Fused multiply-adds of float32 from registers alone, counted as two operations each, on num_threads() threads: the
/// most that any vector width of this processor gives, in GFLOP/s. Takes about 0.5 s.
double measure_fma_gflops();

/// x [m, k] times weight [n, k] transposed, float32, on num_threads() threads, in GFLOP/s; the best of about 0.3 s.
double measure_matmul_gflops(int64_t m, int64_t n, int64_t k);

/// Reading memory that no cache holds, on num_threads() threads, in GB/s. Takes about 0.3 s and 256 MB.
double measure_read_gb_s();

}  // namespace tapegrad
