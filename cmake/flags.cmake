# tapegrad_flags: how everything here is compiled. Results must not depend on the compiler's liberties with floating point.
find_program(CCACHE ccache)
mark_as_advanced(CCACHE)
if(CCACHE AND PROJECT_IS_TOP_LEVEL AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE})
endif()

add_library(tapegrad_flags INTERFACE)
target_compile_features(tapegrad_flags INTERFACE cxx_std_20)
target_compile_options(tapegrad_flags INTERFACE -Wall -Wextra $<$<BOOL:${TAPEGRAD_WERROR}>:-Werror>
                       $<$<CXX_COMPILER_ID:Clang>:-Wno-error=deprecated-declarations>  # Clang 19 finds one in GCC's <algorithm>
                       -ffp-contract=off -fvisibility-inlines-hidden -ffunction-sections -fdata-sections)
if(TAPEGRAD_UNITY AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")  # 5 - 10 % of GCC's time is its search for memory to free
  target_compile_options(tapegrad_flags INTERFACE --param=ggc-min-heapsize=2000000)
endif()
# Code without loops over elements is compiled without passes of GCC that take a fifth of its time, for 1 % more code; what nobody waits
# for (the command, programs, tests) without further ones.
set(quick_passes "")
set(quickest_passes "")
if(TAPEGRAD_UNITY AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND NOT TAPEGRAD_SANITIZE)
  set(quick_passes -fira-algorithm=priority -fno-code-hoisting -fno-gcse -fno-ipa-cp -fno-ipa-icf -fno-ipa-modref -fno-ipa-profile
      -fno-ipa-pure-const -fno-ipa-reference -fno-ipa-sra -fno-schedule-insns2 -fno-tree-pre -fno-tree-pta -fno-tree-sink -fno-tree-slsr
      -fno-tree-switch-conversion)
  set(quickest_passes ${quick_passes} -fira-region=one -fno-cprop-registers -fno-forward-propagate -fno-guess-branch-probability
      -fno-reorder-blocks -fno-split-wide-types -fno-thread-jumps -fno-tree-dominator-opts -fno-tree-dse -fno-tree-sra -fno-tree-vrp)
  list(TRANSFORM quick_passes REPLACE "(.+)" "$<$<CONFIG:Release>:\\1>")
  list(TRANSFORM quickest_passes REPLACE "(.+)" "$<$<CONFIG:Release>:\\1>")
endif()
target_link_options(tapegrad_flags INTERFACE -Wl,--gc-sections -Wl,--as-needed)
if(TAPEGRAD_SANITIZE)
  target_compile_options(tapegrad_flags INTERFACE -fsanitize=${TAPEGRAD_SANITIZE} -fno-omit-frame-pointer -g1)
  target_link_options(tapegrad_flags INTERFACE -fsanitize=${TAPEGRAD_SANITIZE})
  if(TAPEGRAD_SANITIZE MATCHES "undefined")  # with conversions of numbers that int64 cannot hold
    target_compile_options(tapegrad_flags INTERFACE -fsanitize=float-cast-overflow
                           -fno-sanitize-recover=undefined,float-cast-overflow)
  endif()
endif()

# tapegrad_hardened: for the command and tapegrad_train, which read files of others, and have no loops over elements that
# would become slower. Not where sanitizers find more; the C library checks nothing without optimisation.
add_library(tapegrad_hardened INTERFACE)
target_link_libraries(tapegrad_hardened INTERFACE tapegrad_flags)
if(NOT TAPEGRAD_SANITIZE)
  target_compile_options(tapegrad_hardened INTERFACE -fstack-protector-strong
                         $<$<CONFIG:Release,RelWithDebInfo,MinSizeRel>:-U_FORTIFY_SOURCE;-D_FORTIFY_SOURCE=2>)
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    target_compile_options(tapegrad_hardened INTERFACE -fcf-protection)
  endif()
  target_link_options(tapegrad_hardened INTERFACE -Wl,-z,relro,-z,now)
endif()

# tapegrad_marks(VARIABLE KIND FILE)   the words of the line "// KIND: words" among the first lines of a source: how it is
# built ("// build: -O2") or tested ("// ctest: threads families").
function(tapegrad_marks variable kind file)
  file(STRINGS ${file} line LIMIT_COUNT 8 REGEX "^// ${kind}: ")
  string(REGEX REPLACE "^// ${kind}: " "" words "${line}")
  string(REPLACE " " ";" words "${words}")
  set(${variable} "${words}" PARENT_SCOPE)
endfunction()

# tapegrad_optimised(VARIABLE OPTION DEFAULT FILE...)   those of the files that a release compiles with OPTION: their line
# "// build: -O..." says so, or they have no such line and DEFAULT is OPTION.
function(tapegrad_optimised variable option default)
  set(found "")
  foreach(file IN LISTS ARGN)
    tapegrad_marks(words build ${file})
    list(FILTER words INCLUDE REGEX "^-O")
    if("${words}" STREQUAL "${option}" OR (NOT words AND "${default}" STREQUAL "${option}"))
      list(APPEND found ${file})
    endif()
  endforeach()
  set(${variable} "${found}" PARENT_SCOPE)
endfunction()
