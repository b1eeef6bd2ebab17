// Which instruction sets kernels are compiled for; to be included before any of Highway's headers.
#pragma once

#include <hwy/detect_compiler_arch.h>

// The portable family is x86-64-v2 with AES (SSE4 in Highway's terms, any processor since 2010): this version
// of Highway has no smaller instruction set. kernel_family() raises an Error on older processors.
// TAPEGRAD_TARGET is the only one of a build with -D TAPEGRAD_TARGETS=native.
#ifdef TAPEGRAD_TARGET
#define HWY_BASELINE_TARGETS TAPEGRAD_TARGET
#define HWY_DISABLED_TARGETS (~TAPEGRAD_TARGET)
#elif HWY_ARCH_X86
#define HWY_BASELINE_TARGETS HWY_SSE4
#define HWY_DISABLED_TARGETS (~(HWY_SSE4 | HWY_AVX2 | HWY_AVX3))  // all others that a version of Highway may have
#elif HWY_ARCH_ARM_A64                                            // NEON only: kernels need vectors of a known width
#define HWY_BASELINE_TARGETS HWY_NEON
#define HWY_DISABLED_TARGETS (~HWY_NEON)
#endif

// In a kernel file, which names itself as HWY_TARGET_INCLUDE first: compiles it once for each instruction set.
#ifdef HWY_TARGET_INCLUDE
#include <hwy/foreach_target.h>
#endif
