// What computes on this machine and how fast it is, as `tapegrad info` prints it.
#pragma once

#include <tapegrad/autograd/kernels/processor.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace tapegrad {

/// The instruction set in use, and the choice of matmul kernels: "avx2" and "auto", for example. Error for an invalid
/// value of TAPEGRAD_KERNELS or TAPEGRAD_PRODUCTS.
std::string_view kernels_in_use();
std::string_view products_in_use();

/// The instruction sets that this build contains and this processor supports: "portable, avx2, avx512".
std::string kernels_available();

/// The version of BLIS, and its micro-kernel for the instruction set in use.
std::string blis_description();

/// The rate of float32 fused multiply-adds on registers, two operations each, on num_threads() threads: with the widest
/// vectors of this processor or with half of them, whichever is higher, in GFLOP/s. Takes about 0.5 s.
double measure_fma_gflops();

/// x [m, k] times weight [n, k] transposed, float32, on num_threads() threads, in GFLOP/s; the best of about 0.3 s.
double measure_matmul_gflops(int64_t m, int64_t n, int64_t k);

/// What computes that matmul: "BLIS", "tiles", or "small" for a single tile.
std::string_view matmul_engine(int64_t m, int64_t n, int64_t k);

/// The rate of reading memory that is not cached, on num_threads() threads, in GB/s. Takes about 0.3 s and 256 MB.
double measure_read_gb_s();

}  // namespace tapegrad
