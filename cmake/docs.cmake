# The target docs: the pages of docs/, the READMEs and the reference of all public declarations, in build/<preset>/docs/html, and
# from_pytorch.html there, the tables of docs/from_pytorch.md with headers and signatures. Fails for a link that leads nowhere, for a
# public declaration without a comment, and for a name in those tables without a declaration. Needs Debian's doxygen and python3.
find_program(DOXYGEN doxygen)
mark_as_advanced(DOXYGEN)
if(DOXYGEN)
  file(GLOB_RECURSE pages CONFIGURE_DEPENDS autograd/*.md nn/*.md optim/*.md distributed/*.md train/*.md tasks/*.md tutorials/*.md examples/*.md tests/*.md bench/*.md docs/*.md)
  file(GLOB top CONFIGURE_DEPENDS *.md)
  list(APPEND pages ${top})
  list(TRANSFORM pages PREPEND "\"")
  list(TRANSFORM pages APPEND "\"")
  list(JOIN pages " " TAPEGRAD_PAGES)
  configure_file(docs/Doxyfile.in docs/Doxyfile @ONLY)
  add_custom_target(docs
                    COMMAND ${CMAKE_COMMAND} -E make_directory ${PROJECT_BINARY_DIR}/docs
                    COMMAND python3 -B ${PROJECT_SOURCE_DIR}/docs/filter_test.py
                    COMMAND ${DOXYGEN} ${PROJECT_BINARY_DIR}/docs/Doxyfile
                    COMMAND ${CMAKE_COMMAND} -D FILE=${PROJECT_BINARY_DIR}/docs/warnings.txt -P ${PROJECT_SOURCE_DIR}/docs/silent.cmake
                    COMMAND python3 ${PROJECT_SOURCE_DIR}/docs/signatures.py ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR}/docs/xml
                            ${PROJECT_BINARY_DIR}/docs/html
                    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} VERBATIM)
else()
  add_custom_target(docs COMMAND ${CMAKE_COMMAND} -E echo "docs needs doxygen and python3: apt-get install doxygen python3"
                         COMMAND ${CMAKE_COMMAND} -E false)
endif()

# The target site: the pages of docs/ with search, and the reference if the target docs has made it, in build/<preset>/docs/site. Fails for
# a warning of mkdocs and for a link that leads nowhere.
find_program(MKDOCS mkdocs)
mark_as_advanced(MKDOCS)
if(MKDOCS)
  add_custom_target(site COMMAND python3 -B ${PROJECT_SOURCE_DIR}/docs/site.py ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR}/docs
                                 ${PROJECT_BINARY_DIR}/docs/html VERBATIM)
else()
  add_custom_target(site COMMAND ${CMAKE_COMMAND} -E echo "site: skipped, because it needs mkdocs: apt-get install mkdocs")
endif()
