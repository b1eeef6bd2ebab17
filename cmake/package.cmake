# Debian packages: `cd build/release && cpack -G DEB` writes libtapegrad0, libtapegrad-dev and tapegrad, the command with its man
# page and completions. Their files are the components of install.cmake. Configure with -D CMAKE_INSTALL_PREFIX=/usr.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME tapegrad)
set(CPACK_PACKAGE_VENDOR tapegrad)
set(CPACK_PACKAGE_CONTACT "tapegrad maintainers <maintainers@tapegrad.invalid>")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL library development command)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${PROJECT_BINARY_DIR})
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME libtapegrad0)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_DEPENDS libblis4-serial)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libtapegrad-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "libtapegrad0 (= ${PROJECT_VERSION})")
set(CPACK_DEBIAN_COMMAND_PACKAGE_NAME tapegrad)
set(CPACK_DEBIAN_COMMAND_PACKAGE_SECTION science)
set(CPACK_DEBIAN_COMMAND_PACKAGE_DEPENDS "libtapegrad0 (= ${PROJECT_VERSION})")
set(CPACK_DEBIAN_LIBRARY_DESCRIPTION "automatic differentiation on a tape, shared libraries
 Reverse-mode automatic differentiation in C++20, and the modules,
 optimisers and training loops made of it.")
set(CPACK_DEBIAN_DEVELOPMENT_DESCRIPTION "automatic differentiation on a tape, headers
 Headers, CMake package and pkg-config files of tapegrad.")
set(CPACK_DEBIAN_COMMAND_DESCRIPTION "train, test and explain Transformers
 The command of tapegrad: it trains, tests and explains Transformers,
 and shows tutorials about them.")
# What Debian's policy asks of each package: licence and changes. The libraries' search paths are those of install.cmake's users.
set(debian ${PROJECT_BINARY_DIR}/debian)
file(WRITE ${debian}/changelog "tapegrad (${PROJECT_VERSION}) unstable; urgency=medium

  * See CHANGELOG.md in the sources.

 -- tapegrad maintainers <maintainers@tapegrad.invalid>  Thu, 26 Nov 2026 12:00:00 +0000
")
execute_process(COMMAND gzip -9nf ${debian}/changelog)
foreach(package libtapegrad0:library libtapegrad-dev:development tapegrad:command)
  string(REPLACE ":" ";" package ${package})
  list(GET package 1 component)
  list(GET package 0 package)
  set(documents ${CMAKE_INSTALL_DATADIR}/doc/${package})
  install(FILES LICENSE RENAME copyright DESTINATION ${documents} COMPONENT ${component} EXCLUDE_FROM_ALL)
  install(FILES ${debian}/changelog.gz DESTINATION ${documents} COMPONENT ${component} EXCLUDE_FROM_ALL)
  if(NOT component STREQUAL development)
    set(overrides "# An installation works in any folder, and with the BLIS that it was built with.\n${package}: custom-library-search-path *\n")
    if(component STREQUAL library)
      string(APPEND overrides "# Loaded by its path, never linked.\n${package}: sharedobject-in-library-directory-missing-soname *\n")
    endif()
    file(WRITE ${debian}/${package} "${overrides}")
    install(FILES ${debian}/${package} DESTINATION ${CMAKE_INSTALL_DATADIR}/lintian/overrides COMPONENT ${component} EXCLUDE_FROM_ALL)
  endif()
endforeach()
include(CPack)
