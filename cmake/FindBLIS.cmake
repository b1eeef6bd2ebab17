# Finds the serial build of BLIS (0.9 or later), for which Debian ships neither a CMake config nor a .pc file. Sets
# BLIS_FOUND and BLIS_LIBRARY_DIR (for the run path), and defines the targets
#   BLIS::kernels   the micro-kernels, which the shared library does not export: those that we name, from the static one
#   BLIS::BLIS      the shared library, as the BLAS of LAPACK, if it is there; and after it in the order of linking, so that
#                   nothing else is taken from the static one, the micro-kernels
#
# The serial build is found by its own folder: with Debian's alternatives, plain libblis.so.4 may be the
# OpenMP or pthread build, which start threads of their own at every call.
find_path(BLIS_INCLUDE_DIR blis.h PATH_SUFFIXES blis-serial blis)
find_library(BLIS_LIBRARY blis PATH_SUFFIXES blis-serial)
find_library(BLIS_KERNELS libblis.a PATH_SUFFIXES blis-serial)
mark_as_advanced(BLIS_INCLUDE_DIR BLIS_LIBRARY BLIS_KERNELS)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(BLIS REQUIRED_VARS BLIS_KERNELS BLIS_INCLUDE_DIR)

if(BLIS_FOUND AND NOT TARGET BLIS::kernels)
  add_library(BLIS::kernels STATIC IMPORTED)
  set_target_properties(BLIS::kernels PROPERTIES IMPORTED_LOCATION ${BLIS_KERNELS})
endif()
if(BLIS_FOUND AND BLIS_LIBRARY)
  cmake_path(GET BLIS_LIBRARY PARENT_PATH BLIS_LIBRARY_DIR)
  if(NOT TARGET BLIS::BLIS)
    add_library(BLIS::BLIS UNKNOWN IMPORTED)
    set_target_properties(BLIS::BLIS PROPERTIES IMPORTED_LOCATION ${BLIS_LIBRARY} INTERFACE_LINK_LIBRARIES BLIS::kernels)
  endif()
endif()
