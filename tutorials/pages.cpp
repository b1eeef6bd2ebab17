// The list of pages.
#include <tapegrad/tutorials/pages.h>

namespace tapegrad::tasks::tutorial {
namespace {

constexpr const Page* kPages[] = {
    &k000_1,         &k000_2,       &k000_3,       &k000_4,       &k001_2_1,     &k001_2_2,     &k001_3,
    &k001_4,         &k002_1,       &k002_2,       &k003_8_1,     &k003_8_2_2,   &k003_8_2_3,   &k003_8_2_3_1,
    &k003_8_2_3_2,   &k003_8_2_3_3, &k003_8_2_3_4, &k003_8_2_3_5, &k003_8_2_3_7, &k003_8_2_4,   &k003_8_2_5,
    &k003_8_2_6,     &k003_8_3_1,   &k003_8_3_2,   &k003_8_3_2_1, &k003_8_3_2_3, &k003_8_3_2_7, &k003_8_4_1,
    &k003_8_4_2,     &k003_8_4_3,   &k003_8_4_4,   &k003_8_5,     &k003_8_5_1,   &k003_8_5_2,   &k003_8_5_3,
    &k003_exercises, &k004_1,       &k004_9,       &k004_15,      &k004_21,      &k004_28,      &k004_34,
    &k004_37,
};

}  // namespace

std::span<const Page* const> pages() { return kPages; }

}  // namespace tapegrad::tasks::tutorial
