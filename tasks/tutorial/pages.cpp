// The list of pages.
#include <tapegrad/tasks/tutorial/pages.h>

namespace tapegrad::tasks::tutorial {
namespace {

constexpr const Page* kPages[] = {
    &k003_8_1,
    &k003_8_2_2,
    &k003_8_2_3,
    &k003_8_2_5,
    &k003_8_3_1,
    &k003_8_3_2,
    &k003_8_4_1,
    &k003_8_4_2,
};

}  // namespace

std::span<const Page* const> pages() { return kPages; }

}  // namespace tapegrad::tasks::tutorial
