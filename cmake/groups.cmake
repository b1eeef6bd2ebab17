# What makes a build of everything fast: headers that are compiled once, and sources that are compiled together.

# tapegrad_precompile(TARGET HEADER...)   compiles headers that most sources of the target include once for all of them.
# Sources still include what they use, which tests/alone.sh checks.
function(tapegrad_precompile target)
  if(TAPEGRAD_UNITY)
    target_precompile_headers(${target} PRIVATE ${ARGN})
  endif()
endfunction()

# tapegrad_group(TARGET SIZE FILE...)   compiles the sources of a target in groups of SIZE, which takes a fraction of the time, but for
# those whose line "// build:" has "alone": they name types that must stay unknown to them.
function(tapegrad_group target size)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${TAPEGRAD_UNITY} UNITY_BUILD_BATCH_SIZE ${size})
  foreach(file IN LISTS ARGN)
    tapegrad_marks(words build ${file})
    if(alone IN_LIST words)
      set_source_files_properties(${file} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    endif()
  endforeach()
endfunction()

# tapegrad_join_kernels(VARIABLE NAME)   replaces the kernel files in a list of sources by groups of them, which take a fraction of
# the time to compile: a group goes through Highway's headers once for each instruction set, not once per file.
function(tapegrad_join_kernels variable name)
  if(NOT TAPEGRAD_UNITY)
    return()
  endif()
  set(kernels "")
  foreach(file IN LISTS ${variable})
    file(STRINGS ${file} include LIMIT_COUNT 1 REGEX "^#define HWY_TARGET_INCLUDE ")
    tapegrad_marks(words build ${file})
    if(include AND NOT alone IN_LIST words)
      list(APPEND kernels ${file})
    endif()
  endforeach()
  list(REMOVE_ITEM ${variable} ${kernels})
  set(number 0)
  while(kernels)
    list(SUBLIST kernels 0 6 files)
    list(REMOVE_ITEM kernels ${files})
    set(group ${PROJECT_BINARY_DIR}/kernels/${name}_${number}.cpp)
    set(text "#define HWY_TARGET_INCLUDE \"${group}\"\n#include <tapegrad/autograd/kernels/simd/simd_targets.h>\n")
    foreach(file IN LISTS files)
      string(APPEND text "#undef HWY_TARGET_INCLUDE\n#include \"${file}\"\n")
    endforeach()
    string(APPEND text "#undef HWY_TARGET_INCLUDE\n#define HWY_TARGET_INCLUDE \"${group}\"\n")
    file(CONFIGURE OUTPUT ${group} CONTENT "${text}" @ONLY)
    set_source_files_properties(${group} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    list(APPEND ${variable} ${group})
    math(EXPR number "${number} + 1")
  endwhile()
  set(${variable} "${${variable}}" PARENT_SCOPE)
endfunction()
