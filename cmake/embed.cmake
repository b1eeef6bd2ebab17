# Writes a source file with the lines of programs between the marks "// [name]" and "// [/name]", and with whole files: what is
# content, not code. FILES, paths in SOURCES, are those files.
#   cmake -D SOURCES=. -D FILES=PATH,PATH -D OUTPUT=FILE -P cmake/embed.cmake
cmake_minimum_required(VERSION 3.25)
file(GLOB programs ${SOURCES}/tutorials/programs/*.cpp ${SOURCES}/tutorials/programs/*.h)

set(snippets "")
foreach(file IN LISTS programs)
  cmake_path(GET file STEM name)
  set(program ${name})
  if(file MATCHES "[.]h$")
    cmake_path(GET file FILENAME name)
    foreach(user IN LISTS programs)
      file(STRINGS ${user} included REGEX "^#include \"${name}\"")
      if(included)
        cmake_path(GET user STEM program)
      endif()
    endforeach()
  endif()
  file(READ ${file} text)
  set(rest "${text}")
  while(TRUE)
    string(REGEX MATCH "// [[]([a-z0-9_.]+)[]]\n" mark "${rest}")
    if(mark STREQUAL "")
      break()
    endif()
    set(word "${CMAKE_MATCH_1}")
    string(FIND "${rest}" "${mark}" begin)
    string(LENGTH "${mark}" length)
    math(EXPR begin "${begin} + ${length}")
    string(SUBSTRING "${rest}" ${begin} -1 rest)
    string(FIND "${rest}" "// [/${word}]\n" end)
    if(end LESS 0)
      message(FATAL_ERROR "${file}: expected the line \"// [/${word}]\" after \"// [${word}]\"")
    endif()
    string(SUBSTRING "${rest}" 0 ${end} lines)
    string(APPEND snippets "    {\"${name}:${word}\",\n     R\"~~~(${lines})~~~\"sv,\n     \"${program}\"},\n")
  endwhile()
endforeach()

set(contents "")
string(REPLACE "," ";" files "${FILES}")
foreach(file IN LISTS files)
  file(READ ${SOURCES}/${file} text)
  string(APPEND contents "    {\"${file}\",\n     R\"~~~(${text})~~~\"sv},\n")
endforeach()

file(WRITE ${OUTPUT} "// Written by cmake/embed.cmake.
#include <tapegrad/tasks/language/texts.h>
#include <tapegrad/tutorials/sources.h>

using namespace std::string_view_literals;  // a text knows its length: no compiler has to count it

namespace tapegrad::tasks {
namespace {

constexpr EmbeddedFile kFiles[] = {
${contents}};
constexpr tutorial::Snippet kSnippets[] = {
${snippets}};

}  // namespace

std::span<const EmbeddedFile> embedded_files() { return kFiles; }
std::span<const tutorial::Snippet> tutorial::snippets() { return kSnippets; }

}  // namespace tapegrad::tasks
")
