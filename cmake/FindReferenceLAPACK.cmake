# Finds the static reference LAPACK by its own folder: Debian's alternatives may link liblapack.so.3 to a build of
# OpenBLAS, some of which start their own threads, while the serial one must not be called by several threads at once.
# Its BLAS is BLIS. Sets ReferenceLAPACK_FOUND, and defines the target ReferenceLAPACK::ReferenceLAPACK.
find_library(ReferenceLAPACK_LIBRARY NAMES liblapack.a PATH_SUFFIXES lapack)
find_library(ReferenceLAPACK_FORTRAN NAMES libgfortran.so.5 gfortran)
mark_as_advanced(ReferenceLAPACK_LIBRARY ReferenceLAPACK_FORTRAN)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(ReferenceLAPACK REQUIRED_VARS ReferenceLAPACK_LIBRARY ReferenceLAPACK_FORTRAN)

if(ReferenceLAPACK_FOUND AND NOT TARGET ReferenceLAPACK::ReferenceLAPACK)
  add_library(ReferenceLAPACK::ReferenceLAPACK STATIC IMPORTED)
  set_target_properties(ReferenceLAPACK::ReferenceLAPACK PROPERTIES IMPORTED_LOCATION ${ReferenceLAPACK_LIBRARY}
                        INTERFACE_LINK_LIBRARIES "BLIS::BLIS;${ReferenceLAPACK_FORTRAN}")
endif()
