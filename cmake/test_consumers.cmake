# Tests of tapegrad from outside: as a part of another project, installed, and as packages.

# Projects that have tapegrad as a part are configured: its targets are there, those of its own build are not.
foreach(way fetch_content add_subdirectory)
  string(COMPARE EQUAL ${way} add_subdirectory by_subdirectory)
  add_test(NAME consumer_${way}
           COMMAND ${CMAKE_COMMAND} --fresh -G ${CMAKE_GENERATOR} -S ${PROJECT_SOURCE_DIR}/tests/consumer/embedded
                   -B ${PROJECT_BINARY_DIR}/embedded/${way} -D CMAKE_CXX_COMPILER=${CMAKE_CXX_COMPILER}
                   -D TAPEGRAD_SOURCES=${PROJECT_SOURCE_DIR} -D BY_SUBDIRECTORY=${by_subdirectory})
  set_tests_properties(consumer_${way} PROPERTIES TIMEOUT 120 LABELS long)
  add_custom_target(test_consumer_${way})  # nothing to build
endforeach()

# Wrong values of TAPEGRAD_TARGETS.
foreach(wrong "value;all or native, got \"fast\";-D;TAPEGRAD_TARGETS=fast"
              "cross;all in a build for another processor;-D;TAPEGRAD_TARGETS=native;-D;CMAKE_CROSSCOMPILING=ON")
  list(POP_FRONT wrong name text)
  add_test(NAME consumer_targets_${name} COMMAND ${CMAKE_COMMAND} ${wrong} -P ${PROJECT_SOURCE_DIR}/cmake/targets.cmake)
  set_tests_properties(consumer_targets_${name} PROPERTIES TIMEOUT 60 LABELS core PASS_REGULAR_EXPRESSION "expected TAPEGRAD_TARGETS to be ${text}")
  add_custom_target(test_consumer_targets_${name})  # nothing to build
endforeach()

# An installed tapegrad, used from outside. (A sanitized library would need sanitized users.)
if(TARGET tapegrad_command AND BUILD_SHARED_LIBS AND NOT TAPEGRAD_SANITIZE)
  add_custom_target(test_consumer DEPENDS tapegrad tapegrad_train tapegrad_command)
  add_test(NAME consumer COMMAND ${PROJECT_SOURCE_DIR}/tests/consumer/check.sh ${PROJECT_BINARY_DIR} ${CMAKE_CXX_COMPILER})
  set_tests_properties(consumer PROPERTIES TIMEOUT 900 COST 200 LABELS long)  # begins early: it is long
endif()

# The projects that an installed `tapegrad new` writes: compiled, trained and tested.
if(TARGET tapegrad_command AND BUILD_SHARED_LIBS AND NOT TAPEGRAD_SANITIZE AND NOT CMAKE_CROSSCOMPILING)
  add_custom_target(test_consumer_projects DEPENDS tapegrad tapegrad_train tapegrad_command)
  add_test(NAME consumer_projects COMMAND ${PROJECT_SOURCE_DIR}/tests/consumer/projects.sh ${PROJECT_BINARY_DIR} ${CMAKE_CXX_COMPILER})
  set_tests_properties(consumer_projects PROPERTIES TIMEOUT 900 LABELS long)
endif()

# Every `sh` block of the documents is run in an installed tapegrad, or says why not; TAPEGRAD_LONG=1 runs the long ones, too.
if(TARGET tapegrad_command AND BUILD_SHARED_LIBS AND NOT TAPEGRAD_SANITIZE AND NOT CMAKE_CROSSCOMPILING)
  add_custom_target(test_consumer_sh_blocks DEPENDS tapegrad tapegrad_train tapegrad_command)
  add_test(NAME consumer_sh_blocks COMMAND ${PROJECT_SOURCE_DIR}/tests/consumer/sh_blocks.sh ${PROJECT_BINARY_DIR})
  set_tests_properties(consumer_sh_blocks PROPERTIES TIMEOUT 3600 LABELS long)
endif()
add_custom_target(test_consumer_sh_blocks_test)  # nothing to build
add_test(NAME consumer_sh_blocks_test COMMAND ${PROJECT_SOURCE_DIR}/tests/consumer/sh_blocks_test.sh)
set_tests_properties(consumer_sh_blocks_test PROPERTIES TIMEOUT 60 LABELS core)

# Its Debian packages: lintian finds no error in them. Skipped without lintian.
if(TARGET tapegrad_command AND NOT tapegrad_target AND BUILD_SHARED_LIBS AND NOT TAPEGRAD_SANITIZE AND NOT CMAKE_CROSSCOMPILING)
  add_custom_target(test_consumer_package DEPENDS tapegrad tapegrad_train tapegrad_command)
  add_test(NAME consumer_package COMMAND ${PROJECT_SOURCE_DIR}/tests/consumer/package.sh ${PROJECT_BINARY_DIR})
  set_tests_properties(consumer_package PROPERTIES TIMEOUT 300 LABELS long SKIP_RETURN_CODE 77)
endif()
