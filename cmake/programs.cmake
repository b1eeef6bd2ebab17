# Tests that are programs: mistakes that must not compile, the tutorials, the examples, a project that uses an installed tapegrad.

# Mistakes that must not compile: the compiler's message has the text of the file's first line.
file(GLOB mistakes CONFIGURE_DEPENDS tests/autograd/mistakes/*.cpp tests/nn/mistakes/*.cpp)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${mistakes})  # their first lines
foreach(file IN LISTS mistakes)
  cmake_path(RELATIVE_PATH file BASE_DIRECTORY ${PROJECT_SOURCE_DIR}/tests OUTPUT_VARIABLE name)
  string(REGEX REPLACE "/mistakes/(.*)[.]cpp" "_mistake_\\1" name ${name})
  file(STRINGS ${file} text LIMIT_COUNT 1)
  string(REPLACE "// " "" text "${text}")
  add_test(NAME ${name}
           COMMAND ${CMAKE_CXX_COMPILER} -std=c++20 -fsyntax-only -I${include_dir} ${file})
  set_tests_properties(${name} PROPERTIES TIMEOUT 120 LABELS core PASS_REGULAR_EXPRESSION "${text}")
  add_custom_target(test_${name})  # nothing to build
endforeach()

# The tutorials as programs: each is run, and must print the text file next to it.
file(GLOB tutorials CONFIGURE_DEPENDS tasks/tutorials/*.cpp)
foreach(file IN LISTS tutorials)
  cmake_path(GET file STEM name)
  tapegrad_program(test_tutorials_example_${name} ${file})
  cmake_path(REPLACE_EXTENSION file txt OUTPUT_VARIABLE expected)
  add_test(NAME tutorials_example_${name}
           COMMAND ${CMAKE_COMMAND} -D PROGRAM=$<TARGET_FILE:test_tutorials_example_${name}> -D EXPECTED=${expected}
                   -P ${PROJECT_SOURCE_DIR}/tests/support/prints.cmake)
  set_tests_properties(tutorials_example_${name} PROPERTIES TIMEOUT 120 LABELS long)
endforeach()

# The programs of docs/: each is run in an empty folder of its own, and must print the text file next to it. In "// arguments:",
# {source} is docs/programs, {programs} the folder of those folders; a program whose file is used runs before.
file(GLOB pages CONFIGURE_DEPENDS docs/programs/*.cpp)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${pages})  # their arguments
foreach(file IN LISTS pages)
  cmake_path(GET file STEM name)
  tapegrad_program(test_docs_${name} ${file})
  file(STRINGS ${file} arguments REGEX "^// arguments: ")
  string(REPLACE "// arguments: " "" arguments "${arguments}")
  string(REPLACE "{source}" "${PROJECT_SOURCE_DIR}/docs/programs" arguments "${arguments}")
  string(REPLACE "{programs}" "${PROJECT_BINARY_DIR}/docs_programs" arguments "${arguments}")
  cmake_path(REPLACE_EXTENSION file txt OUTPUT_VARIABLE expected)
  add_test(NAME docs_${name}
           COMMAND ${CMAKE_COMMAND} -D PROGRAM=$<TARGET_FILE:test_docs_${name}> -D "ARGUMENTS=${arguments}" -D EXPECTED=${expected}
                   -D FOLDER=${PROJECT_BINARY_DIR}/docs_programs/${name} -P ${PROJECT_SOURCE_DIR}/tests/support/prints.cmake)
  set_tests_properties(docs_${name} PROPERTIES TIMEOUT 120 LABELS long FIXTURES_SETUP docs_${name})
  if(arguments MATCHES "docs_programs/([a-z0-9_]+)/")
    set_tests_properties(docs_${name} PROPERTIES FIXTURES_REQUIRED docs_${CMAKE_MATCH_1})
  endif()
endforeach()

# The examples: each is run with an empty folder, must reach its target and draw a picture. (Under sanitizers they take
# too long.)
if(NOT TAPEGRAD_SANITIZE)
  foreach(file IN LISTS examples)
    tapegrad_example_name(name ${file})
    add_custom_target(test_examples_${name} DEPENDS ${name})
    add_test(NAME examples_${name}
             COMMAND ${CMAKE_COMMAND} -D PROGRAM=$<TARGET_FILE:${name}> -D FOLDER=${PROJECT_BINARY_DIR}/examples/${name}
                     -P ${PROJECT_SOURCE_DIR}/tests/support/example.cmake WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
    set_tests_properties(examples_${name} PROPERTIES TIMEOUT 600 LABELS long)
  endforeach()
endif()

# The generator of headers and signatures in the tables of nn/FROM_PYTORCH.md.
if(PYTHON3)
  add_test(NAME house_signatures COMMAND ${PYTHON3} ${PROJECT_SOURCE_DIR}/tests/house/signatures.py)
  set_tests_properties(house_signatures PROPERTIES TIMEOUT 60 LABELS core)
  add_custom_target(test_house_signatures)  # nothing to build

  # The pages of docs/manual are those that docs/manual.py makes of the command's options.
  if(TARGET tapegrad_command AND NOT CMAKE_CROSSCOMPILING)
    add_test(NAME docs_manual COMMAND ${PYTHON3} -B ${PROJECT_SOURCE_DIR}/docs/manual.py $<TARGET_FILE:tapegrad_command> --check)
    set_tests_properties(docs_manual PROPERTIES TIMEOUT 60 LABELS long)
    add_custom_target(test_docs_manual DEPENDS tapegrad_command)
  endif()

  # The Python lines of pages of docs/, in the folder of the program that writes what they read. Skipped if this Python has none of
  # the modules that they import.
  foreach(page start/start_2_model ideas/files/ideas_files)
    cmake_path(GET page PARENT_PATH path)
    cmake_path(GET page FILENAME program)
    cmake_path(GET path FILENAME name)
    add_test(NAME docs_python_${name} COMMAND ${PYTHON3} -B ${PROJECT_SOURCE_DIR}/tests/house/python_blocks.py
             ${PROJECT_SOURCE_DIR}/docs/${path}.md ${PROJECT_BINARY_DIR}/docs_programs/${program})
    set_tests_properties(docs_python_${name} PROPERTIES TIMEOUT 120 LABELS long SKIP_RETURN_CODE 77 FIXTURES_REQUIRED docs_${program})
    add_custom_target(test_docs_python_${name} DEPENDS test_docs_${program})
  endforeach()
endif()

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

# An installed tapegrad, used from outside. (A sanitized library would need sanitized users.)
if(TARGET tapegrad_command AND BUILD_SHARED_LIBS AND NOT TAPEGRAD_SANITIZE)
  add_custom_target(test_consumer DEPENDS tapegrad tapegrad_train tapegrad_command)
  add_test(NAME consumer COMMAND ${PROJECT_SOURCE_DIR}/tests/consumer/check.sh ${PROJECT_BINARY_DIR} ${CMAKE_CXX_COMPILER})
  set_tests_properties(consumer PROPERTIES TIMEOUT 300 LABELS long)
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
if(TARGET tapegrad_command AND BUILD_SHARED_LIBS AND NOT TAPEGRAD_SANITIZE AND NOT CMAKE_CROSSCOMPILING)
  add_custom_target(test_consumer_package DEPENDS tapegrad tapegrad_train tapegrad_command)
  add_test(NAME consumer_package COMMAND ${PROJECT_SOURCE_DIR}/tests/consumer/package.sh ${PROJECT_BINARY_DIR})
  set_tests_properties(consumer_package PROPERTIES TIMEOUT 300 LABELS long SKIP_RETURN_CODE 77)
endif()
