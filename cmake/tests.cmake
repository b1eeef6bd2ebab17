# Tests: one executable per folder, compiled in groups of files, and one ctest test per file ("// build: alone": an
# executable of its own).
if(NOT TAPEGRAD_VERBS STREQUAL "all")
  message(FATAL_ERROR "expected TAPEGRAD_VERBS to be all in a build with tests, got ${TAPEGRAD_VERBS} (-D TAPEGRAD_TESTS=OFF builds none)")
endif()
enable_testing()
set(command_to_run ${PROJECT_BINARY_DIR}/tapegrad)
if(CMAKE_CROSSCOMPILING)  # tests start the command as a program
  list(JOIN CMAKE_CROSSCOMPILING_EMULATOR " " emulator)
  set(command_to_run ${PROJECT_BINARY_DIR}/tapegrad-emulated)
  file(WRITE ${command_to_run} "#!/bin/sh\nexec ${emulator} ${PROJECT_BINARY_DIR}/tapegrad \"$@\"\n")
  file(CHMOD ${command_to_run} PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
endif()
configure_file(${PROJECT_SOURCE_DIR}/cmake/test_paths.h.in ${include_dir}/tapegrad/test_paths.h @ONLY)
add_library(tapegrad_test_flags INTERFACE)  # -O3 would take twice as long to compile and make no test faster
target_compile_options(tapegrad_test_flags INTERFACE $<IF:$<AND:$<CONFIG:Release>,$<BOOL:${quickest_passes}>>,-Og,-O0> ${quickest_passes}
                       -Wno-unused-result -Wno-unused-value)  # they drop results to look for errors
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(tapegrad_test_flags INTERFACE -Wno-maybe-uninitialized)  # false positives of GCC 12 in
endif()
# Shared by all tests; folders of tests/support: by those that need the command's parts.
file(GLOB golden_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/golden/*.cpp)
file(GLOB core_support CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/programs/*.cpp ${PROJECT_SOURCE_DIR}/tests/support/*.cpp)
add_library(tapegrad_test_core STATIC ${golden_sources} ${core_support})
tapegrad_group(tapegrad_test_core 16 ${golden_sources} ${core_support})
target_link_libraries(tapegrad_test_core PUBLIC tapegrad_checks GTest::gtest Threads::Threads
                      PRIVATE tapegrad_flags tapegrad_test_flags)
# Headers of nearly all tests, compiled once: a quarter of the time of compiling a test. (Clang 14 crashes when it reads templates
# of nn from such a header.)
target_precompile_headers(tapegrad_test_core PRIVATE <gtest/gtest.h> <fmt/format.h> <tapegrad/autograd/io/internal/json_value.h>
                          $<$<CXX_COMPILER_ID:GNU>:<tapegrad/tapegrad.h$<ANGLE-R>>)
file(GLOB test_support CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/support/*/*.cpp)
add_library(tapegrad_test_shared STATIC ${test_support})
tapegrad_group(tapegrad_test_shared 16 ${test_support})
target_link_libraries(tapegrad_test_shared PUBLIC tapegrad_test_core tapegrad_verbs tapegrad_optional PRIVATE tapegrad_flags tapegrad_test_flags)
target_precompile_headers(tapegrad_test_shared REUSE_FROM tapegrad_test_core)
set(long_folders distributed tasks tutorials)  # whole runs; the tests of the other folders are core

include(cmake/test_functions.cmake)

foreach(folder house autograd nn optim ${long_folders})
  file(GLOB files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/${folder}/*.cpp ${PROJECT_SOURCE_DIR}/tests/${folder}/*/*.cpp)
  set(core ON)
  if(folder IN_LIST long_folders)
    set(core OFF)
  endif()
  set(together "")
  foreach(file IN LISTS files)
    tapegrad_marks(words ctest ${file})
    if(TAPEGRAD_SANITIZE AND "unsanitized" IN_LIST words)
      continue()
    endif()
    cmake_path(GET file STEM name)
    set(program test_${folder})
    tapegrad_marks(build build ${file})
    if("alone" IN_LIST build)
      set(program test_${folder}_${name})
      tapegrad_test_program(${program} ${core} ${file})
    else()
      list(APPEND together ${file})
      tapegrad_test_program(one_${folder}_${name} ${core} ${file})  # built on demand: soon after a change of the file
      set_target_properties(one_${folder}_${name} PROPERTIES EXCLUDE_FROM_ALL ON)
    endif()
    tapegrad_test(${folder}_${name} ${program} ${core} ${file})
  endforeach()
  tapegrad_test_program(test_${folder} ${core} ${together})
endforeach()

# The command with the verbs of training runs, as tasks/run.sh builds it first.
add_executable(tapegrad_train_verbs command/main.cpp)
target_link_libraries(tapegrad_train_verbs PRIVATE tapegrad_verbs tapegrad_left_out tapegrad_hardened)
add_dependencies(test_tasks_left_out tapegrad_train_verbs)

include(cmake/test_documents.cmake)
include(cmake/test_programs.cmake)
include(cmake/test_mutants.cmake)
include(cmake/test_consumers.cmake)
