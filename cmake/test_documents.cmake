# Tests of documents and comments: their blocks of code, their tables, the manual.
find_program(PYTHON3 python3)
mark_as_advanced(PYTHON3)
if(NOT PYTHON3)
  return()
endif()

# The blocks of code in comments of public headers and in pages: tests/comments includes each, so that it is compiled and run.
set(block_headers ${public_headers} ${distributed_headers} ${train_headers})
list(TRANSFORM block_headers REPLACE "[|].*$" "")
list(TRANSFORM block_headers PREPEND ${PROJECT_SOURCE_DIR}/)
file(GLOB pages CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/docs/*.md)  # PAGES of blocks.py
list(APPEND block_headers ${pages})
set(blocks_dir ${PROJECT_BINARY_DIR}/comment_blocks)
set(blocks_script ${PROJECT_SOURCE_DIR}/tests/comments/blocks.py)
add_custom_command(OUTPUT ${blocks_dir}/comments/blocks.h
                   COMMAND ${PYTHON3} -B ${blocks_script} ${PROJECT_SOURCE_DIR} ${blocks_dir}/comments
                   DEPENDS ${blocks_script} ${block_headers} VERBATIM)
file(GLOB files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/comments/*.cpp)
tapegrad_test_program(test_comments ON ${files})
add_custom_target(tapegrad_comment_blocks DEPENDS ${blocks_dir}/comments/blocks.h)
add_dependencies(test_comments tapegrad_comment_blocks)  # as a source of it, it would wait for the libraries, which tests/alone.sh has not
target_include_directories(test_comments PRIVATE ${blocks_dir})
add_test(NAME comments COMMAND test_comments --gtest_brief=1 WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
add_test(NAME comments_blocks COMMAND ${PYTHON3} -B ${blocks_script} ${PROJECT_SOURCE_DIR} --compiler ${CMAKE_CXX_COMPILER})
add_custom_target(test_comments_blocks)  # nothing to build
set_tests_properties(comments comments_blocks PROPERTIES TIMEOUT 120 LABELS core)

# The generator of headers and signatures in the tables of docs/from_pytorch.md.
add_test(NAME house_signatures COMMAND ${PYTHON3} ${PROJECT_SOURCE_DIR}/tests/house/signatures.py)
set_tests_properties(house_signatures PROPERTIES TIMEOUT 60 LABELS core)
add_custom_target(test_house_signatures)  # nothing to build

# docs/manual.md is the page that docs/manual.py makes of the command's options.
if(TARGET tapegrad_command AND NOT CMAKE_CROSSCOMPILING)
  add_test(NAME docs_manual COMMAND ${PYTHON3} -B ${PROJECT_SOURCE_DIR}/docs/manual.py $<TARGET_FILE:tapegrad_command> --check)
  set_tests_properties(docs_manual PROPERTIES TIMEOUT 60 LABELS long)
  add_custom_target(test_docs_manual DEPENDS tapegrad_command)
endif()

# The Python lines of pages of docs/, in the folder of the program that writes what they read. Skipped if this Python has none of
# the modules that they import.
foreach(page start/start_2_model files/files)
  cmake_path(GET page PARENT_PATH path)
  cmake_path(GET page FILENAME program)
  cmake_path(GET path FILENAME name)
  add_test(NAME docs_python_${name} COMMAND ${PYTHON3} -B ${PROJECT_SOURCE_DIR}/tests/house/python_blocks.py
           ${PROJECT_SOURCE_DIR}/docs/${path}.md ${PROJECT_BINARY_DIR}/docs_programs/${program})
  set_tests_properties(docs_python_${name} PROPERTIES TIMEOUT 120 LABELS long SKIP_RETURN_CODE 77 FIXTURES_REQUIRED docs_${program})
  add_custom_target(test_docs_python_${name} DEPENDS test_docs_${program})
endforeach()
