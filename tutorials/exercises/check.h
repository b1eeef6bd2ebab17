// The program that calls what the reader wrote, and the comparison of its answers.
#pragma once

#include <tapegrad/tutorials/exercises/exercise.h>

#include <string>

namespace tapegrad::tasks::exercises {

/// How the program ends when the reader's code threw an exception, whose text it wrote to standard error.
inline constexpr int kThrew = 3;

/// A program that includes the reader's file, which is named by its full path, runs the exercise's check with the
/// tensors in the safetensors file argv[1], and writes the answers into argv[2].
std::string program_of(const Exercise& exercise, std::string_view file);
/// The start of such a program, and the function that has the exercise's check: for programs with several exercises.
std::string start_of_program();
std::string function_of(const Exercise& exercise);

/// Where the answers first differ from what is expected: "weights, row 2, column 3: expected 0.1385, got 0.1421". Rows
/// and columns count from 1. Empty if they agree.
std::string first_difference(const Exercise& exercise, const NamedTensors& answers, Language language);

}  // namespace tapegrad::tasks::exercises
