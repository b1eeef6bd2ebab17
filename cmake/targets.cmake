# The instruction sets that kernels are compiled for: all (a program that runs everywhere), or that of this processor alone, which takes
# a third of the time. tapegrad_target is then its name in Highway.
set(TAPEGRAD_TARGETS "all" CACHE STRING "Instruction sets of the kernels: all, or native, the best one of this processor")
set_property(CACHE TAPEGRAD_TARGETS PROPERTY STRINGS all native)
set(tapegrad_target "")
if(TAPEGRAD_TARGETS STREQUAL "native")
  if(CMAKE_CROSSCOMPILING)
    message(FATAL_ERROR "expected TAPEGRAD_TARGETS to be all in a build for another processor, got native")
  endif()
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/native.cpp @ONLY CONTENT [=[
#include <hwy/targets.h>
#include <cstdio>
int main() {
  const auto supported = hwy::SupportedTargets();
#define TAPEGRAD_TRY(target) \
  if ((supported & target) != 0) return std::puts(#target) < 0;
#if HWY_ARCH_X86  // the best one first, as in autograd/kernels/family.cpp
  TAPEGRAD_TRY(HWY_AVX3)
  TAPEGRAD_TRY(HWY_AVX2)
  TAPEGRAD_TRY(HWY_SSE4)
#else
  TAPEGRAD_TRY(HWY_NEON)
#endif
  return 1;
}
]=])
  try_run(tapegrad_native tapegrad_native_compiles ${PROJECT_BINARY_DIR}/native ${PROJECT_BINARY_DIR}/native.cpp LINK_LIBRARIES hwy::hwy
          RUN_OUTPUT_VARIABLE output)
  if(output)  # none where an earlier configuration has found it
    string(STRIP "${output}" output)
    set(TAPEGRAD_NATIVE_TARGET "${output}" CACHE INTERNAL "the best instruction set of this processor")
  endif()
  set(tapegrad_target "${TAPEGRAD_NATIVE_TARGET}")
  if(NOT tapegrad_target MATCHES "^HWY_[A-Z0-9]+$")
    message(FATAL_ERROR "TAPEGRAD_TARGETS=native found no instruction set of this processor that has kernels (-D TAPEGRAD_TARGETS=all builds all)")
  endif()
  message(STATUS "Kernels for this processor alone: ${tapegrad_target}")
elseif(NOT TAPEGRAD_TARGETS STREQUAL "all")
  message(FATAL_ERROR "expected TAPEGRAD_TARGETS to be all or native, got \"${TAPEGRAD_TARGETS}\"")
endif()

# tapegrad_for_targets(FILE...)   compiles the kernels among the files for those instruction sets only
function(tapegrad_for_targets)
  if(NOT tapegrad_target)
    return()
  endif()
  foreach(file IN LISTS ARGN)
    file(STRINGS ${file} found LIMIT_COUNT 1 REGEX "^#define HWY_TARGET_INCLUDE |^#include <hwy/targets.h>")
    if(found)
      set_property(SOURCE ${file} APPEND PROPERTY COMPILE_DEFINITIONS TAPEGRAD_TARGET=${tapegrad_target})
    endif()
  endforeach()
endfunction()
