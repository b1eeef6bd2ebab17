# The command: everything but main.cpp is a library, which the tests use too.
# Gradient checks separately: the tests of the library need no other part of the command.
file(GLOB_RECURSE check_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/checks/*.cpp)
add_library(tapegrad_checks STATIC ${check_sources})
target_link_libraries(tapegrad_checks PUBLIC tapegrad_train nlohmann_json::nlohmann_json fmt::fmt PRIVATE tapegrad_flags)
set(glue_option $<$<CONFIG:Release>:-Og>)  # no loops over elements; compiles faster than -O1
if(TAPEGRAD_SANITIZE)
  set(glue_option -O0)
endif()
target_compile_options(tapegrad_checks PRIVATE ${glue_option})
file(GLOB_RECURSE task_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tasks/*.cpp ${PROJECT_SOURCE_DIR}/tutorials/*.cpp ${PROJECT_SOURCE_DIR}/command/*.cpp)
list(FILTER task_sources EXCLUDE REGEX "(command/main\\.cpp|tutorials/programs/.*)$")
# Lines of the tutorials' programs, and files of texts and scripts, as parts of the command.
file(GLOB programs CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tutorials/programs/*.cpp ${PROJECT_SOURCE_DIR}/tutorials/programs/*.h)
file(GLOB_RECURSE embedded RELATIVE ${PROJECT_SOURCE_DIR} CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tasks/*.txt ${PROJECT_SOURCE_DIR}/command/*.txt
     ${PROJECT_SOURCE_DIR}/tutorials/widgets/*.js ${PROJECT_SOURCE_DIR}/tutorials/widgets/*.css ${PROJECT_SOURCE_DIR}/tutorials/sections/*.txt ${PROJECT_SOURCE_DIR}/tutorials/exercises/*.txt
     ${PROJECT_SOURCE_DIR}/tutorials/explain/*.txt ${PROJECT_SOURCE_DIR}/tutorials/originals.txt ${PROJECT_SOURCE_DIR}/tutorials/pages/*.txt)
list(JOIN embedded "," embedded_list)
list(TRANSFORM embedded PREPEND ${PROJECT_SOURCE_DIR}/)
set(embedding ${PROJECT_BINARY_DIR}/embedded_files.cpp)
add_custom_command(OUTPUT ${embedding}
                   COMMAND ${CMAKE_COMMAND} -D SOURCES=${PROJECT_SOURCE_DIR} -D FILES=${embedded_list} -D OUTPUT=${embedding}
                           -P ${PROJECT_SOURCE_DIR}/cmake/embed.cmake
                   DEPENDS ${PROJECT_SOURCE_DIR}/cmake/embed.cmake ${programs} ${embedded} VERBATIM)
set(catalogue ${PROJECT_SOURCE_DIR}/tasks/language/ko.po)
set(messages ${PROJECT_BINARY_DIR}/messages.cpp)
add_custom_command(OUTPUT ${messages}
                   COMMAND ${CMAKE_COMMAND} -D CATALOGUE=${catalogue} -D OUTPUT=${messages} -P ${PROJECT_SOURCE_DIR}/cmake/messages.cmake
                   DEPENDS ${PROJECT_SOURCE_DIR}/cmake/messages.cmake ${catalogue} VERBATIM)
add_library(tapegrad_embedded OBJECT ${embedding} ${messages})  # by itself: what is made waits for the libraries that its target links
target_compile_features(tapegrad_embedded PRIVATE cxx_std_20)
target_include_directories(tapegrad_embedded PRIVATE ${include_dir})
target_link_libraries(tapegrad_embedded PRIVATE tapegrad_flags)
add_library(tapegrad_tasks STATIC ${task_sources} $<TARGET_OBJECTS:tapegrad_embedded>)
target_compile_options(tapegrad_tasks PRIVATE ${glue_option})
target_link_libraries(tapegrad_tasks PUBLIC tapegrad_checks nlohmann_json::nlohmann_json CLI11::CLI11 fmt::fmt Threads::Threads
                      PRIVATE tapegrad_hardened)
tapegrad_group(tapegrad_checks 16 ${check_sources})
tapegrad_group(tapegrad_tasks 24 ${task_sources})

if(TAPEGRAD_COMMAND)
  add_executable(tapegrad_command command/main.cpp)
  target_link_libraries(tapegrad_command PRIVATE tapegrad_tasks tapegrad_hardened)
  file(RELATIVE_PATH lib_from_bin ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR})
  set_target_properties(tapegrad_command PROPERTIES OUTPUT_NAME tapegrad INSTALL_RPATH "$ORIGIN/${lib_from_bin}")
  if(NOT CMAKE_CROSSCOMPILING)  # its man page and completions, which it prints itself
    set(printed ${PROJECT_BINARY_DIR}/printed)
    add_custom_command(TARGET tapegrad_command POST_BUILD
                       COMMAND ${CMAKE_COMMAND} -D COMMAND=$<TARGET_FILE:tapegrad_command> -D FOLDER=${printed}
                               -P ${PROJECT_SOURCE_DIR}/cmake/printed.cmake VERBATIM)
  endif()
endif()

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
  target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-Og>)
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
