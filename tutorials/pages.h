// The pages, each a constant in pages/<tutorial>_<group>.cpp, and the list of them.
#pragma once

#include <tapegrad/tutorials/page.h>

#include <span>

namespace tapegrad::tasks::tutorial {

/// In the order of the tutorials.
std::span<const Page* const> pages();

// --- one line per page, here and in pages.cpp ---
extern const Page k000_1;
extern const Page k000_2;
extern const Page k000_3;
extern const Page k000_4;
extern const Page k001_2_1;
extern const Page k001_2_2;
extern const Page k001_3;
extern const Page k001_4;
extern const Page k002_1;
extern const Page k002_2;
extern const Page k003_8_1;
extern const Page k003_8_2_2;
extern const Page k003_8_2_3;
extern const Page k003_8_2_3_1;
extern const Page k003_8_2_3_2;
extern const Page k003_8_2_3_3;
extern const Page k003_8_2_3_4;
extern const Page k003_8_2_3_5;
extern const Page k003_8_2_3_7;
extern const Page k003_8_2_4;
extern const Page k003_8_2_5;
extern const Page k003_8_2_6;
extern const Page k003_8_3_1;
extern const Page k003_8_3_2;
extern const Page k003_8_3_2_1;
extern const Page k003_8_3_2_3;
extern const Page k003_8_3_2_7;
extern const Page k003_8_4_1;
extern const Page k003_8_4_2;
extern const Page k003_8_4_3;
extern const Page k003_8_4_4;
extern const Page k003_8_5;
extern const Page k003_8_5_1;
extern const Page k003_8_5_2;
extern const Page k003_8_5_3;
extern const Page k003_exercises;
extern const Page k004_1;
extern const Page k004_9;
extern const Page k004_15;
extern const Page k004_21;
extern const Page k004_28;
extern const Page k004_34;
extern const Page k004_37;

}  // namespace tapegrad::tasks::tutorial
