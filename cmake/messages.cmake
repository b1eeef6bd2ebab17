# Writes a source file with the messages of a catalogue (gettext's .po) as a table of English and Korean.
#   cmake -D CATALOGUE=ko.po -D OUTPUT=FILE -P cmake/messages.cmake
cmake_minimum_required(VERSION 3.25)
file(READ ${CATALOGUE} text)
string(REGEX REPLACE "\n#[^\n]*" "" text "\n${text}\n")
string(REPLACE "\nmsgid " "),\n    message(" text "${text}")
string(REPLACE "\nmsgstr " ",\n     " text "${text}")
string(REGEX REPLACE "^[ \n]*\\),\n" "" text "${text}")  # before the first one
file(WRITE ${OUTPUT} "// Written by cmake/messages.cmake.
#include <tapegrad/tasks/language/messages.h>

namespace tapegrad::tasks {
namespace {

constexpr Text message(std::string_view en, std::string_view ko) { return {.ko = ko, .en = en}; }

constexpr Text kMessages[] = {
${text})};

}  // namespace

std::span<const Text> all_messages() { return std::span(kMessages).subspan(1); }  // the first is the header

}  // namespace tapegrad::tasks
")
