# The examples, and how programs as users write them are built.

# tapegrad_example_name(VARIABLE FILE)   the name of the program: gan for examples/gan.cpp, ported_unet for
# examples/ported/unet.cpp
function(tapegrad_example_name variable file)
  cmake_path(RELATIVE_PATH file BASE_DIRECTORY ${PROJECT_SOURCE_DIR}/examples OUTPUT_VARIABLE name)
  string(REGEX REPLACE "[.]cpp$" "" name ${name})
  string(REPLACE "/" "_" name ${name})
  set(${variable} ${name} PARENT_SCOPE)
endfunction()

# tapegrad_program(NAME FILE)   a program as a user writes it: an example, a tutorial, a program of the documents. -Og is
# enough: the loops over elements are the library's, whose headers are compiled once for all of these programs.
function(tapegrad_program name file)
  add_executable(${name} ${file})
  target_link_libraries(${name} PRIVATE tapegrad_train tapegrad_flags)
  target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-Og> ${quickest_passes})
  if(NOT TAPEGRAD_UNITY OR NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU")  # Clang 14 crashes when it reads templates of nn from such a header
    return()
  endif()
  if(name STREQUAL own_model)
    target_precompile_headers(own_model PRIVATE <tapegrad/tapegrad.h> <tapegrad/train.h>)
  else()
    target_precompile_headers(${name} REUSE_FROM own_model)
  endif()
endfunction()

# The examples. Their tests are in test_programs.cmake.
if(TAPEGRAD_COMMAND OR TAPEGRAD_TESTS)
  tapegrad_program(own_model ${PROJECT_SOURCE_DIR}/examples/own_model.cpp)
  file(GLOB examples CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/examples/*.cpp ${PROJECT_SOURCE_DIR}/examples/ported/*.cpp)
  foreach(file IN LISTS examples)
    tapegrad_example_name(name ${file})
    if(NOT TARGET ${name})
      tapegrad_program(${name} ${file})
    endif()
  endforeach()
endif()
