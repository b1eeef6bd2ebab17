# The libraries: tapegrad, tapegrad_distributed for several processes, tapegrad_train for training runs.
file(GLOB_RECURSE sources CONFIGURE_DEPENDS autograd/*.cpp nn/*.cpp optim/*.cpp)
# Code that only reads files or calls operations is compiled for size.
set(composed_sources ${sources})
list(FILTER composed_sources INCLUDE REGEX "^${PROJECT_SOURCE_DIR}/(autograd/io|nn|optim)/")
set(kernel_sources ${sources})
list(REMOVE_ITEM kernel_sources ${composed_sources})
tapegrad_optimised(small_of_composed -Os -Os ${composed_sources})
tapegrad_optimised(small_of_kernels -Os -O3 ${kernel_sources})
tapegrad_optimised(medium_sources -O2 -O3 ${sources})
list(REMOVE_ITEM sources ${small_of_composed} ${small_of_kernels} ${medium_sources})
tapegrad_join_kernels(sources kernels)
tapegrad_join_kernels(medium_sources medium)
tapegrad_join_kernels(small_of_kernels small)
# One object library per level: GCC compiles a source with the options of its precompiled headers.
add_library(tapegrad_small OBJECT ${small_of_composed} ${small_of_kernels})
target_compile_options(tapegrad_small PRIVATE $<$<CONFIG:Release>:-Os>)
add_library(tapegrad_medium OBJECT ${medium_sources})
target_compile_options(tapegrad_medium PRIVATE $<$<CONFIG:Release>:-O2>)
add_library(tapegrad ${sources} $<TARGET_OBJECTS:tapegrad_small> $<TARGET_OBJECTS:tapegrad_medium>)
add_library(tapegrad::tapegrad ALIAS tapegrad)
target_compile_features(tapegrad PUBLIC cxx_std_20)
target_include_directories(tapegrad PUBLIC $<BUILD_INTERFACE:${include_dir}> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
foreach(target tapegrad_small tapegrad_medium)
  target_include_directories(${target} PRIVATE ${include_dir})
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON)
endforeach()
tapegrad_group(tapegrad_small 24 ${small_of_composed} ${small_of_kernels})
tapegrad_group(tapegrad 24 ${sources})
set(blis_kernels "")
if(TARGET BLIS::kernels AND CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")  # for which it has kernels that we use
  set(blis_kernels $<IF:$<TARGET_EXISTS:BLIS::BLIS>,BLIS::BLIS,BLIS::kernels>)
  set_source_files_properties(${PROJECT_SOURCE_DIR}/autograd/kernels/product/blas_blis.cpp ${PROJECT_SOURCE_DIR}/autograd/kernels/family.cpp
                              PROPERTIES COMPILE_DEFINITIONS TAPEGRAD_BLIS COMPILE_OPTIONS "-isystem;${BLIS_INCLUDE_DIR}")
endif()
if(NOT TARGET BLIS::BLIS)
  set_source_files_properties(${PROJECT_SOURCE_DIR}/autograd/kernels/linalg/lapack.cpp PROPERTIES COMPILE_DEFINITIONS TAPEGRAD_ANY_BLAS)
endif()
foreach(target tapegrad tapegrad_small tapegrad_medium)
  target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:tapegrad_flags> $<BUILD_INTERFACE:nlohmann_json::nlohmann_json>
                        TBB::tbb hwy::hwy ReferenceLAPACK::ReferenceLAPACK ${blis_kernels} fmt::fmt xxhash::xxhash ZLIB::ZLIB Threads::Threads)
  tapegrad_precompile(${target} <fmt/format.h> <tapegrad/autograd/op.h> <tapegrad/autograd/ops.h> <tapegrad/autograd/parallel.h>)
endforeach()
# LAPACK's functions and BLIS's kernels stay inside: a program may have others of the same names.
target_link_options(tapegrad PRIVATE -Wl,-Bsymbolic-functions -Wl,--exclude-libs,liblapack.a:libblis.a
                    -Wl,--version-script=${PROJECT_SOURCE_DIR}/cmake/tapegrad.map)
set_property(TARGET tapegrad APPEND PROPERTY LINK_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/tapegrad.map)
set_target_properties(tapegrad PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
                      POSITION_INDEPENDENT_CODE ON INSTALL_RPATH "${BLIS_LIBRARY_DIR}")

file(GLOB distributed_sources CONFIGURE_DEPENDS distributed/*.cpp)
list(REMOVE_ITEM distributed_sources ${PROJECT_SOURCE_DIR}/distributed/mpi.cpp)
set(mpi_folder tapegrad-${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})  # of libtapegrad_mpi.so: one for each soname
add_library(tapegrad_distributed ${distributed_sources})
add_library(tapegrad::distributed ALIAS tapegrad_distributed)
target_link_libraries(tapegrad_distributed PUBLIC tapegrad PRIVATE $<BUILD_INTERFACE:tapegrad_flags> fmt::fmt ${CMAKE_DL_LIBS})
set_target_properties(tapegrad_distributed PROPERTIES EXPORT_NAME distributed VERSION ${PROJECT_VERSION}
                      SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR} POSITION_INDEPENDENT_CODE ON
                      BUILD_RPATH "$ORIGIN" INSTALL_RPATH "$ORIGIN;$ORIGIN/${mpi_folder}")
if(MPI_CXX_FOUND)  # loaded by processes that a launcher of MPI has started; nothing links it
  add_library(tapegrad_mpi MODULE distributed/mpi.cpp)
  target_compile_features(tapegrad_mpi PRIVATE cxx_std_20)
  target_include_directories(tapegrad_mpi PRIVATE ${include_dir})
  target_link_libraries(tapegrad_mpi PRIVATE tapegrad_flags MPI::MPI_CXX)
  target_compile_definitions(tapegrad_distributed PRIVATE TAPEGRAD_MPI_FOLDER="${CMAKE_INSTALL_FULL_LIBDIR}/${mpi_folder}")
  add_dependencies(tapegrad_distributed tapegrad_mpi)
endif()

file(GLOB_RECURSE train_sources CONFIGURE_DEPENDS train/*.cpp)
# Styles and script of pages: functions that return the texts of the files.
set(texts "#include <string_view>\n\nnamespace tapegrad::drawing {\n\n")
foreach(text drawing_style:drawing.css page_style:page.css page_script:page.js)
  string(REPLACE ":" ";" text ${text})
  list(GET text 0 function)
  list(GET text 1 file)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/train/drawing/${file})
  file(READ ${PROJECT_SOURCE_DIR}/train/drawing/${file} contents)
  string(APPEND texts "std::string_view ${function}();\nstd::string_view ${function}() {\n  return R\"~~~(${contents})~~~\";\n}\n\n")
endforeach()
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/page_texts.cpp CONTENT "${texts}}  // namespace tapegrad::drawing\n" @ONLY)
add_library(tapegrad_train ${train_sources} ${PROJECT_BINARY_DIR}/page_texts.cpp)
add_library(tapegrad::train ALIAS tapegrad_train)
target_link_libraries(tapegrad_train PUBLIC tapegrad tapegrad_distributed PRIVATE $<BUILD_INTERFACE:tapegrad_hardened> fmt::fmt
                                     $<BUILD_INTERFACE:nlohmann_json::nlohmann_json> $<BUILD_INTERFACE:utf8::cpp> Threads::Threads)
foreach(format PNG JPEG)
  if(${format}_FOUND)
    target_link_libraries(tapegrad_train PRIVATE ${format}::${format})
    target_compile_definitions(tapegrad_train PRIVATE TAPEGRAD_${format})
  endif()
endforeach()
target_compile_options(tapegrad_train PRIVATE $<$<CONFIG:Release>:-O1>)  # few loops over elements; compiles faster
target_compile_definitions(tapegrad_train INTERFACE $<BUILD_INTERFACE:TAPEGRAD_DATA_FOLDER="${PROJECT_SOURCE_DIR}/examples">)
set_target_properties(tapegrad_train PROPERTIES EXPORT_NAME train VERSION ${PROJECT_VERSION}
                      SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR} POSITION_INDEPENDENT_CODE ON INSTALL_RPATH "$ORIGIN")
tapegrad_group(tapegrad_train 16 ${train_sources})
