# Finds the serial build of BLIS, for which Debian ships neither a CMake config nor a .pc file.
# Sets BLIS_FOUND, BLIS_LIBRARY_DIR (for the run path) and BLIS_KERNELS_USED, and defines the target BLIS::BLIS.
#
# The serial build is found by its own folder: with Debian's alternatives, plain libblis.so.4 may be the
# OpenMP or pthread build, which start threads of their own at every call.
find_path(BLIS_INCLUDE_DIR blis.h PATH_SUFFIXES blis-serial blis)
find_library(BLIS_LIBRARY blis PATH_SUFFIXES blis-serial)
# The innermost kernels are not exported by the shared library: those that we name are taken from the static one.
find_library(BLIS_KERNELS libblis.a PATH_SUFFIXES blis-serial)
mark_as_advanced(BLIS_INCLUDE_DIR BLIS_LIBRARY BLIS_KERNELS)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(BLIS REQUIRED_VARS BLIS_LIBRARY BLIS_INCLUDE_DIR)

if(BLIS_FOUND)
  cmake_path(GET BLIS_LIBRARY PARENT_PATH BLIS_LIBRARY_DIR)
  set(BLIS_KERNELS_USED "")
  if(BLIS_KERNELS AND CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    set(BLIS_KERNELS_USED ${BLIS_KERNELS})
  endif()
  if(NOT TARGET BLIS::BLIS)
    add_library(BLIS::BLIS UNKNOWN IMPORTED)
    set_target_properties(BLIS::BLIS PROPERTIES IMPORTED_LOCATION ${BLIS_LIBRARY}
                          INTERFACE_INCLUDE_DIRECTORIES ${BLIS_INCLUDE_DIR})
    if(BLIS_KERNELS_USED)
      set_target_properties(BLIS::BLIS PROPERTIES INTERFACE_LINK_LIBRARIES ${BLIS_KERNELS}  # after the shared library
                            INTERFACE_COMPILE_DEFINITIONS TAPEGRAD_BLIS_KERNELS)
    endif()
  endif()
endif()
