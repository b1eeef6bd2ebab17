// The pages: the texts in sections/, with what pages/<tutorial>_<group>.cpp computes for them.
#pragma once

#include <tapegrad/tutorials/page.h>

#include <span>

namespace tapegrad::tasks::tutorial {

/// In the order of the tutorials.
std::span<const Page* const> pages();

/// What is computed for a section, in the order of the entries of its file.
struct Computation {
  std::string_view section = {};  ///< the name of the file: "003-8.2.5"
  std::vector<Number> (*numbers)() = nullptr;
  std::vector<Figure> (*figures)() = nullptr;
  std::vector<std::string (*)()> touch = {}, proofs = {};  ///< nullptr, or nothing at the end: none
};

// --- a name here, and a line in pages.cpp ---
extern const Computation k000_1, k000_2, k000_3, k000_4;
extern const Computation k001_2_1, k001_2_2, k001_3, k001_4;
extern const Computation k002_1, k002_2;
extern const Computation k003_8_1;
extern const Computation k003_8_2_2, k003_8_2_3, k003_8_2_3_1, k003_8_2_3_2, k003_8_2_3_3, k003_8_2_3_4, k003_8_2_3_5,
    k003_8_2_3_7, k003_8_2_4, k003_8_2_5, k003_8_2_6;
extern const Computation k003_8_3_1, k003_8_3_2, k003_8_3_2_1, k003_8_3_2_3, k003_8_3_2_7;
extern const Computation k003_8_4, k003_8_4_1, k003_8_4_2, k003_8_4_3, k003_8_4_4;
extern const Computation k003_8_5;
extern const Computation k003_8_5_1, k003_8_5_2, k003_8_5_3;
extern const Computation k003_exercises;
extern const Computation k004_1, k004_9, k004_15, k004_21, k004_28, k004_34, k004_37;

}  // namespace tapegrad::tasks::tutorial
