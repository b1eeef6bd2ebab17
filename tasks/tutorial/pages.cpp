// The list of pages.
#include <tapegrad/tasks/tutorial/pages.h>

namespace tapegrad::tasks::tutorial {
namespace {

constexpr const Page* kPages[] = {
    &k003_8_1,     &k003_8_2_2,   &k003_8_2_3,   &k003_8_2_3_1, &k003_8_2_3_2, &k003_8_2_3_3, &k003_8_2_3_4,
    &k003_8_2_3_5, &k003_8_2_3_7, &k003_8_2_4,   &k003_8_2_5,   &k003_8_2_6,   &k003_8_3_1,   &k003_8_3_2,
    &k003_8_3_2_1, &k003_8_3_2_3, &k003_8_3_2_7, &k003_8_4_1,   &k003_8_4_2,   &k003_8_4_3,   &k003_8_4_4,
};

}  // namespace

std::span<const Page* const> pages() { return kPages; }

}  // namespace tapegrad::tasks::tutorial
