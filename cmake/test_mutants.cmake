# Mutation testing, tests/mutants.sh: its runner; the library once more, from the same objects, with calls that a library loaded
# before it replaces; and the test of 60 mutants.
add_executable(mutants_runner EXCLUDE_FROM_ALL tests/mutants/runner.cpp)
target_link_libraries(mutants_runner PRIVATE tapegrad_checks tapegrad_flags tapegrad_test_flags ${CMAKE_DL_LIBS})
if(NOT PYTHON3 OR tapegrad_target OR CMAKE_CROSSCOMPILING OR TAPEGRAD_SANITIZE OR NOT BUILD_SHARED_LIBS OR NOT TAPEGRAD_UNITY
   OR NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU" OR NOT CMAKE_SYSTEM_NAME STREQUAL "Linux")
  return()
endif()
add_library(tapegrad_interposable SHARED EXCLUDE_FROM_ALL
            $<TARGET_OBJECTS:tapegrad> $<TARGET_OBJECTS:tapegrad_small> $<TARGET_OBJECTS:tapegrad_medium>)
target_link_libraries(tapegrad_interposable PRIVATE tapegrad_flags TBB::tbb hwy::hwy ReferenceLAPACK::ReferenceLAPACK ${blis_kernels}
                      fmt::fmt xxhash::xxhash ZLIB::ZLIB Threads::Threads)
target_link_options(tapegrad_interposable PRIVATE -Wl,--exclude-libs,liblapack.a:libblis.a)
get_target_property(soversion tapegrad SOVERSION)
set_target_properties(tapegrad_interposable PROPERTIES LINKER_LANGUAGE CXX OUTPUT_NAME tapegrad SOVERSION ${soversion}
                      LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/interposable BUILD_RPATH "${BLIS_LIBRARY_DIR}")
set(mutants ${PYTHON3} -B ${PROJECT_SOURCE_DIR}/tests/mutants/mutants.py --build ${PROJECT_BINARY_DIR})
add_test(NAME mutants COMMAND ${mutants} --number 60 --most-survivors 0.5 --to ${PROJECT_BINARY_DIR}/mutants)
add_custom_target(test_mutants DEPENDS tapegrad_interposable mutants_runner test_autograd test_nn test_optim)
add_test(NAME mutants_equivalent COMMAND ${mutants} --check)
add_custom_target(test_mutants_equivalent)  # nothing to build
set_tests_properties(mutants mutants_equivalent PROPERTIES TIMEOUT 900 LABELS core)
set_tests_properties(mutants PROPERTIES COST 200)  # begins first, so that nothing waits for it at the end
