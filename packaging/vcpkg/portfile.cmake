# An overlay port: vcpkg install tapegrad --overlay-ports=packaging/vcpkg, in a checkout of the sources, which it builds.
# vcpkg has no BLIS: tapegrad's own kernels compute all matrix products, with the same results.
get_filename_component(SOURCE_PATH "${CMAKE_CURRENT_LIST_DIR}/../.." ABSOLUTE)
string(COMPARE EQUAL "${VCPKG_LIBRARY_LINKAGE}" dynamic shared)
vcpkg_cmake_configure(
  SOURCE_PATH "${SOURCE_PATH}"
  OPTIONS -DTAPEGRAD_BLIS=OFF -DTAPEGRAD_COMMAND=OFF -DTAPEGRAD_TESTS=OFF -DBUILD_SHARED_LIBS=${shared} -DCMAKE_DISABLE_FIND_PACKAGE_MPI=ON
)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/tapegrad)
vcpkg_fixup_pkgconfig()
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
