# Writes a source file with the lines of programs between the marks "// [name]" and "// [/name]", and with whole scripts and
# texts: the parts of the tutorial's pages and exercises that are files of their own.
#   cmake -D SOURCES=. -D OUTPUT=FILE -P cmake/embed.cmake
cmake_minimum_required(VERSION 3.25)
file(GLOB programs ${SOURCES}/tutorials/programs/*.cpp ${SOURCES}/tutorials/programs/*.h)
file(GLOB script_files ${SOURCES}/tasks/widgets/*.js)
file(GLOB text_files RELATIVE ${SOURCES}/tutorials ${SOURCES}/tutorials/sections/*.txt ${SOURCES}/tutorials/exercises/set/*.txt)

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
    string(APPEND snippets "    {\"${name}:${word}\",\n     R\"~~~(${lines})~~~\",\n     \"${program}\"},\n")
  endwhile()
endforeach()

set(scripts "")
foreach(file IN LISTS script_files)
  cmake_path(GET file STEM name)
  file(READ ${file} text)
  string(APPEND scripts "    {\"${name}\",\n     R\"~~~(${text})~~~\"},\n")
endforeach()

set(texts "")
foreach(file IN LISTS text_files)
  file(READ ${SOURCES}/tutorials/${file} text)
  cmake_path(REMOVE_EXTENSION file LAST_ONLY)
  string(APPEND texts "    {\"${file}\",\n     R\"~~~(${text})~~~\"},\n")
endforeach()

file(WRITE ${OUTPUT} "// Written by cmake/embed.cmake.
#include <tapegrad/tasks/widgets/widget.h>
#include <tapegrad/tutorials/sources.h>
#include <tapegrad/tutorials/texts.h>

namespace tapegrad::tasks::tutorial {
namespace {

constexpr Snippet kSnippets[] = {
${snippets}};
constexpr Script kScripts[] = {
${scripts}};
constexpr TextFile kTexts[] = {
${texts}};

}  // namespace

std::span<const Snippet> snippets() { return kSnippets; }
std::span<const Script> scripts() { return kScripts; }
std::span<const TextFile> text_files() { return kTexts; }

}  // namespace tapegrad::tasks::tutorial
")
