# Installation: libraries, headers, CMake package and pkg-config files. The components are those of the Debian packages.
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/tapegrad)
install(TARGETS tapegrad tapegrad_distributed tapegrad_train EXPORT tapegrad
        LIBRARY COMPONENT library NAMELINK_COMPONENT development ARCHIVE COMPONENT development)
if(TARGET tapegrad_mpi)
  install(TARGETS tapegrad_mpi LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/${mpi_folder} COMPONENT mpi)
endif()
foreach(header IN LISTS public_headers distributed_headers train_headers)
  string(REPLACE "|" ";" header ${header})
  list(GET header 0 source)
  list(GET header 1 name)
  cmake_path(GET name PARENT_PATH folder)
  install(FILES ${source} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tapegrad/${folder} COMPONENT development)
endforeach()
install(FILES ${include_dir}/tapegrad/tapegrad.h ${include_dir}/tapegrad/distributed.h ${include_dir}/tapegrad/train.h ${include_dir}/tapegrad/version.h
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tapegrad COMPONENT development)
install(FILES tasks/examples/digits.txt tasks/examples/the_verdict.txt DESTINATION ${CMAKE_INSTALL_DATADIR}/tapegrad COMPONENT development)
install(EXPORT tapegrad NAMESPACE tapegrad:: FILE tapegrad-targets.cmake DESTINATION ${package_dir} COMPONENT development)
set(find_private "")
set(pc_private "")
set(pc_distributed_private "")
set(pc_train_private "")
if(NOT BUILD_SHARED_LIBS)  # a static library leaves its own needs to whoever links it
  set(find_private "list(APPEND CMAKE_MODULE_PATH \${CMAKE_CURRENT_LIST_DIR})
find_dependency(Threads)\nfind_dependency(BLIS)\nfind_dependency(ReferenceLAPACK)\nfind_dependency(TBB CONFIG)\nfind_dependency(hwy CONFIG)\nfind_dependency(fmt CONFIG)\nfind_dependency(xxhash)\nfind_dependency(ZLIB)")
  install(FILES cmake/FindBLIS.cmake cmake/FindReferenceLAPACK.cmake cmake/Findxxhash.cmake DESTINATION ${package_dir} COMPONENT development)
  set(pc_private "Requires.private: tbb libhwy fmt libxxhash zlib
Libs.private: ${ReferenceLAPACK_LIBRARY} ${ReferenceLAPACK_FORTRAN} ${BLIS_LIBRARY} ${BLIS_KERNELS_USED} -Wl,-rpath,${BLIS_LIBRARY_DIR} -pthread\n")
  set(pc_images "")
  foreach(format PNG JPEG)
    if(${format}_FOUND)
      string(TOLOWER ${format} name)
      string(APPEND find_private "\nfind_dependency(${format})")
      string(APPEND pc_images " lib${name}")
    endif()
  endforeach()
  set(pc_distributed_private "Requires.private: fmt\n")
  set(pc_train_private "Requires.private: fmt${pc_images}\nLibs.private: -pthread\n")
endif()
configure_file(cmake/tapegrad-config.cmake.in ${PROJECT_BINARY_DIR}/tapegrad-config.cmake @ONLY)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/tapegrad-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/tapegrad-config.cmake ${PROJECT_BINARY_DIR}/tapegrad-config-version.cmake
        DESTINATION ${package_dir} COMPONENT development)
file(RELATIVE_PATH prefix_from_pc ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
set(pc_folders "prefix=\${pcfiledir}/${prefix_from_pc}
libdir=\${prefix}/${CMAKE_INSTALL_LIBDIR}
includedir=\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}
")
configure_file(cmake/tapegrad.pc.in ${PROJECT_BINARY_DIR}/tapegrad.pc @ONLY)
configure_file(cmake/tapegrad-distributed.pc.in ${PROJECT_BINARY_DIR}/tapegrad-distributed.pc @ONLY)
configure_file(cmake/tapegrad-train.pc.in ${PROJECT_BINARY_DIR}/tapegrad-train.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/tapegrad.pc ${PROJECT_BINARY_DIR}/tapegrad-distributed.pc
        ${PROJECT_BINARY_DIR}/tapegrad-train.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)
