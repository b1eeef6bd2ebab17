# tapegrad_test_program and tapegrad_test: the executable of some files, and the tests of one, with what its line
# "// ctest: WORDS" says:
#   threads          the thread sanitizer runs it       families     also runs under the other kernel families
#   products         also runs with all products on BLIS, and with none
#   unsanitized      sanitizers have their own allocator
#   timeout=S        seconds, instead of 900            sanitized:NAME=VALUE   in the environment under sanitizers

set(choice "")
if(CMAKE_CROSSCOMPILING)  # in an emulator, a program with threads does not fork, and the test does not start itself
  set(choice --gtest_filter=-*DeathTest.*:KernelFamilies.*)
endif()

# Kernel families that this machine has, but for the best one, which runs by itself. (arm64 has only one.)
set(other_kernels "")
if(EXISTS /proc/cpuinfo AND NOT CMAKE_CROSSCOMPILING)
  file(STRINGS /proc/cpuinfo cpu REGEX "^flags" LIMIT_COUNT 1)
  if(cpu MATCHES " avx2 ")
    list(APPEND other_kernels portable)
  endif()
  if(cpu MATCHES " avx512bw ")
    list(APPEND other_kernels avx2)
  endif()
endif()

# tapegrad_test_program(NAME CORE FILE...)   the executable of some files
function(tapegrad_test_program name core)
  add_executable(${name} ${ARGN})
  set(shared tapegrad_test_shared)
  if(core)
    set(shared tapegrad_test_core)
  endif()
  target_link_libraries(${name} PRIVATE ${shared} hwy::hwy tapegrad_flags tapegrad_test_flags)
  target_precompile_headers(${name} REUSE_FROM tapegrad_test_core)
  set_target_properties(${name} PROPERTIES UNITY_BUILD ${TAPEGRAD_UNITY} UNITY_BUILD_BATCH_SIZE 12)
  foreach(file IN LISTS ARGN)
    tapegrad_marks(optimise build ${file})
    list(FILTER optimise INCLUDE REGEX "^-O")
    if(optimise)  # the precompiled header must be compiled with the same options
      set_source_files_properties(${file} PROPERTIES COMPILE_OPTIONS "${optimise}" SKIP_PRECOMPILE_HEADERS ON
                                  SKIP_UNITY_BUILD_INCLUSION ON)
    endif()
  endforeach()
endfunction()

# tapegrad_test(NAME PROGRAM CORE FILE)   the test, or tests, of a file
function(tapegrad_test name program core file)
  tapegrad_marks(words ctest ${file})
  set(labels long)
  if(core)
    set(labels core)
  endif()
  set(environment TSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/tests/tsan.supp)
  set(timeout 900)
  foreach(word IN LISTS words)
    if(word STREQUAL "threads")
      list(APPEND labels threads)
    elseif(word MATCHES "^timeout=(.*)$")
      set(timeout ${CMAKE_MATCH_1})
    elseif(word MATCHES "^sanitized:(.*)$" AND TAPEGRAD_SANITIZE)
      list(APPEND environment ${CMAKE_MATCH_1})
    elseif(NOT word MATCHES "^(families|products|unsanitized|sanitized:.*)$")
      message(FATAL_ERROR "${file}: expected threads, families, products, unsanitized, timeout= or sanitized: after \"// ctest:\", got ${word}")
    endif()
  endforeach()
  set(variants best)  # each of them an environment: a kernel family, or who computes products
  if("families" IN_LIST words)
    list(TRANSFORM other_kernels PREPEND KERNELS= OUTPUT_VARIABLE kernels)
    list(APPEND variants ${kernels})
  endif()
  if("products" IN_LIST words AND NOT TAPEGRAD_SANITIZE)  # which see nothing of BLIS
    list(APPEND variants PRODUCTS=blis PRODUCTS=own)
  endif()
  cmake_path(RELATIVE_PATH file BASE_DIRECTORY ${PROJECT_SOURCE_DIR} OUTPUT_VARIABLE relative)
  foreach(variant IN LISTS variants)
    set(test ${name})
    set(variable "")
    if(NOT variant STREQUAL "best")
      string(REGEX REPLACE "^[A-Z]*=" "_" suffix ${variant})
      set(test ${name}${suffix})
      set(variable TAPEGRAD_${variant})
    endif()
    if(NOT program STREQUAL test_${test})
      add_custom_target(test_${test} DEPENDS ${program})
    endif()
    add_test(NAME ${test} COMMAND ${program} --file=${relative} --gtest_brief=1 ${choice} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
    set_tests_properties(${test} PROPERTIES TIMEOUT ${timeout} LABELS "${labels}" ENVIRONMENT "${environment};${variable}")
  endforeach()
endfunction()
