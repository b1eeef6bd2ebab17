# Tests that are programs: mistakes that must not compile, the tutorials, the programs of docs/, the examples.

# Mistakes that must not compile: the programs of a table, tests/FOLDER/not_compiling.txt, whose first lines describe its form.
foreach(folder autograd nn)
  set(table ${PROJECT_SOURCE_DIR}/tests/${folder}/not_compiling.txt)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${table})
  file(READ ${table} rest)
  string(FIND "${rest}" "\n# " at)
  set(prelude "")
  while(NOT at EQUAL -1)
    math(EXPR at "${at} + 3")
    string(SUBSTRING "${rest}" ${at} -1 rest)
    string(FIND "${rest}" "\n# " at)
    string(SUBSTRING "${rest}" 0 ${at} one)
    string(REGEX MATCH "^([a-z0-9_]+) ?([^\n]*)\n([^\n]*)\n(.*)$" found "${one}")
    set(flags ${CMAKE_MATCH_2})
    set(text "${CMAKE_MATCH_3}")
    set(name ${folder}_mistake_${CMAKE_MATCH_1})
    set(code "${CMAKE_MATCH_4}")
    if(CMAKE_MATCH_1 STREQUAL "prelude")
      set(prelude "${code}")
      continue()
    endif()
    set(file ${PROJECT_BINARY_DIR}/mistakes/${name}.cpp)
    file(CONFIGURE OUTPUT ${file} CONTENT "${prelude}\n${code}" @ONLY)
    add_test(NAME ${name} COMMAND ${CMAKE_CXX_COMPILER} -std=c++20 ${flags} -fsyntax-only -I${include_dir} ${file})
    set_tests_properties(${name} PROPERTIES TIMEOUT 120 LABELS core PASS_REGULAR_EXPRESSION "${text}")
    add_custom_target(test_${name})  # nothing to build
  endwhile()
endforeach()

# The tutorials as programs: each is run, and must print the text file next to it.
file(GLOB tutorials CONFIGURE_DEPENDS tutorials/programs/*.cpp)
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
# {source} is examples/documents, {programs} the folder of those folders; a program whose file is used runs before. The calls of the
# command in "// command:" run first, in the program's folder.
file(GLOB pages CONFIGURE_DEPENDS examples/documents/*.cpp)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${pages})  # their arguments
foreach(file IN LISTS pages)
  cmake_path(GET file STEM name)
  if(NOT PNG_FOUND AND name MATCHES "^data_(tables|model)$")  # they read and write images
    continue()
  endif()
  file(STRINGS ${file} blocks REGEX "^#include \"comments/")
  if(blocks AND NOT PYTHON3)  # which reads them from the pages
    continue()
  endif()
  tapegrad_program(test_docs_${name} ${file})
  if(blocks)
    target_include_directories(test_docs_${name} PRIVATE ${blocks_dir})
    add_dependencies(test_docs_${name} tapegrad_comment_blocks)
  endif()
  file(STRINGS ${file} arguments REGEX "^// arguments: ")
  string(REPLACE "// arguments: " "" arguments "${arguments}")
  string(REPLACE "{source}" "${PROJECT_SOURCE_DIR}/examples/documents" arguments "${arguments}")
  string(REPLACE "{programs}" "${PROJECT_BINARY_DIR}/docs_programs" arguments "${arguments}")
  cmake_path(REPLACE_EXTENSION file txt OUTPUT_VARIABLE expected)
  file(STRINGS ${file} calls REGEX "^// command: ")
  if(calls AND (TAPEGRAD_SANITIZE OR NOT TARGET tapegrad_command))  # sanitizers take too long for training
    continue()
  elseif(calls)
    add_dependencies(test_docs_${name} tapegrad_command)
  endif()
  add_test(NAME docs_${name}
           COMMAND ${CMAKE_COMMAND} -D PROGRAM=$<TARGET_FILE:test_docs_${name}> -D "ARGUMENTS=${arguments}" -D EXPECTED=${expected}
                   -D "CALLS=${calls}" -D TAPEGRAD=${command_to_run}
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
