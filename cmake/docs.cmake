# The target docs: the pages of docs/, the READMEs and the reference of all public declarations, in build/<preset>/docs/html. Fails
# for a link that leads nowhere, and for a public declaration without a comment. Needs Debian's doxygen and python3.
find_program(DOXYGEN doxygen)
mark_as_advanced(DOXYGEN)
if(DOXYGEN)
  configure_file(docs/Doxyfile.in docs/Doxyfile @ONLY)
  add_custom_target(docs
                    COMMAND ${CMAKE_COMMAND} -E make_directory ${PROJECT_BINARY_DIR}/docs
                    COMMAND python3 -B ${PROJECT_SOURCE_DIR}/docs/filter_test.py
                    COMMAND ${DOXYGEN} ${PROJECT_BINARY_DIR}/docs/Doxyfile
                    COMMAND ${CMAKE_COMMAND} -D FILE=${PROJECT_BINARY_DIR}/docs/warnings.txt -P ${PROJECT_SOURCE_DIR}/docs/silent.cmake
                    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} VERBATIM)
else()
  add_custom_target(docs COMMAND ${CMAKE_COMMAND} -E echo "docs needs doxygen and python3: apt-get install doxygen python3"
                         COMMAND ${CMAKE_COMMAND} -E false)
endif()
