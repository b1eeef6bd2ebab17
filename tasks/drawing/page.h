// HTML pages of one look, light or dark as the reader's browser is, that need nothing from outside.
#pragma once

#include <tapegrad/tasks/drawing/svg.h>

#include <string>
#include <string_view>

namespace tapegrad::drawing {

// A whole page around `body`. Its style knows the classes card, facts and fact, maps (cards side by side, as many as
// fit), wrong and good.
std::string page(std::string_view title, std::string_view body);

// A drawing in a frame of its own. On narrow screens it shrinks a little, then scrolls.
void card(std::string& out, const Drawing& drawing);

}  // namespace tapegrad::drawing
