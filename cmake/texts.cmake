# Writes a source file with the texts of files, whose names are those in the folder: what the command prints or makes that
# is content, not code.
#   cmake -D FOLDER=tasks -D OUTPUT=FILE -P cmake/texts.cmake
cmake_minimum_required(VERSION 3.25)
file(GLOB_RECURSE files RELATIVE ${FOLDER} ${FOLDER}/*.txt ${FOLDER}/*.css)
set(texts "")
foreach(file IN LISTS files)
  file(READ ${FOLDER}/${file} text)
  string(APPEND texts "    {\"${file}\",\n     R\"~~~(${text})~~~\"},\n")
endforeach()
file(WRITE ${OUTPUT} "// Written by cmake/texts.cmake.
#include <tapegrad/tasks/language/texts.h>

namespace tapegrad::tasks {
namespace {

constexpr TextFile kTexts[] = {
${texts}};

}  // namespace

std::span<const TextFile> text_files() { return kTexts; }

}  // namespace tapegrad::tasks
")
