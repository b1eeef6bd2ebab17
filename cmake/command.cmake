# The command: everything but main.cpp is in libraries, which the tests use too. The tests of the library need gradient checks alone.
set(TAPEGRAD_VERBS "all" CACHE STRING "Verbs of the command: all, or train, those of training runs, which is built sooner")
set_property(CACHE TAPEGRAD_VERBS PROPERTY STRINGS all train)
if(NOT TAPEGRAD_VERBS MATCHES "^(all|train)$")
  message(FATAL_ERROR "expected TAPEGRAD_VERBS to be all or train, got \"${TAPEGRAD_VERBS}\"")
endif()
file(GLOB_RECURSE check_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/checks/*.cpp)
file(GLOB verb_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/command/*.cpp)
list(REMOVE_ITEM verb_sources ${PROJECT_SOURCE_DIR}/command/main.cpp)
file(GLOB_RECURSE task_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tasks/*.cpp ${PROJECT_SOURCE_DIR}/tutorials/attention/*.cpp
     ${PROJECT_SOURCE_DIR}/tutorials/widgets/*.cpp)
file(GLOB_RECURSE optional_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tutorials/*.cpp ${PROJECT_SOURCE_DIR}/command/optional/*.cpp)
list(FILTER optional_sources EXCLUDE REGEX "/tutorials/(programs|attention|widgets)/|/left_out[.]cpp$")
# Lines of the tutorials' programs, and files of texts and scripts, as parts of the command.
file(GLOB programs CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tutorials/programs/*.cpp ${PROJECT_SOURCE_DIR}/tutorials/programs/*.h)
file(GLOB_RECURSE embedded RELATIVE ${PROJECT_SOURCE_DIR} CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tasks/*.txt ${PROJECT_SOURCE_DIR}/command/*.txt
     ${PROJECT_SOURCE_DIR}/tutorials/widgets/*.js ${PROJECT_SOURCE_DIR}/tutorials/widgets/*.css ${PROJECT_SOURCE_DIR}/tutorials/sections/*.txt ${PROJECT_SOURCE_DIR}/tutorials/exercises/*.txt
     ${PROJECT_SOURCE_DIR}/tutorials/explain/*.txt ${PROJECT_SOURCE_DIR}/tutorials/originals.txt ${PROJECT_SOURCE_DIR}/tutorials/pages/*.txt
     ${PROJECT_SOURCE_DIR}/tutorials/show/*.txt ${PROJECT_SOURCE_DIR}/examples/projects/*)
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
set(glue_option $<$<CONFIG:Release>:-Og>)  # no loops over elements; compiles faster than -O1
if(TAPEGRAD_SANITIZE)
  set(glue_option -O0)
endif()
add_library(tapegrad_checks STATIC ${check_sources})
target_link_libraries(tapegrad_checks PUBLIC tapegrad_train fmt::fmt PRIVATE tapegrad_flags)
add_library(tapegrad_tasks STATIC ${task_sources} $<TARGET_OBJECTS:tapegrad_embedded>)
target_link_libraries(tapegrad_tasks PUBLIC tapegrad_train CLI11::CLI11 fmt::fmt Threads::Threads)
# The table of verbs needs one of the next two: what TAPEGRAD_VERBS=train leaves out, or what replaces it.
add_library(tapegrad_verbs STATIC ${verb_sources})
add_library(tapegrad_optional STATIC ${optional_sources})
add_library(tapegrad_left_out STATIC command/optional/left_out.cpp)
target_link_libraries(tapegrad_optional PUBLIC tapegrad_checks)
foreach(target tapegrad_verbs tapegrad_optional tapegrad_left_out)
  target_link_libraries(${target} PUBLIC tapegrad_tasks)
endforeach()
foreach(target tapegrad_tasks tapegrad_verbs tapegrad_optional tapegrad_left_out)
  target_link_libraries(${target} PRIVATE tapegrad_hardened)
endforeach()
foreach(target tapegrad_checks tapegrad_tasks tapegrad_verbs tapegrad_optional tapegrad_left_out)
  target_compile_options(${target} PRIVATE ${glue_option} ${quickest_passes})
endforeach()
tapegrad_group(tapegrad_checks 16 ${check_sources})
tapegrad_group(tapegrad_tasks 32 ${task_sources})
tapegrad_group(tapegrad_verbs 16 ${verb_sources})
tapegrad_group(tapegrad_optional 34 ${optional_sources})

if(TAPEGRAD_COMMAND)
  add_executable(tapegrad_command command/main.cpp)
  target_link_libraries(tapegrad_command PRIVATE tapegrad_verbs $<IF:$<STREQUAL:${TAPEGRAD_VERBS},all>,tapegrad_optional,tapegrad_left_out>
                        tapegrad_hardened)
  file(RELATIVE_PATH lib_from_bin ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR})
  set_target_properties(tapegrad_command PROPERTIES OUTPUT_NAME tapegrad INSTALL_RPATH "$ORIGIN/${lib_from_bin}")
  if(NOT CMAKE_CROSSCOMPILING)  # its man page and completions, which it prints itself
    set(printed ${PROJECT_BINARY_DIR}/printed)
    add_custom_command(TARGET tapegrad_command POST_BUILD
                       COMMAND ${CMAKE_COMMAND} -D COMMAND=$<TARGET_FILE:tapegrad_command> -D FOLDER=${printed}
                               -P ${PROJECT_SOURCE_DIR}/cmake/printed.cmake VERBATIM)
  endif()
endif()
