// Widgets on pages that are not the tutorial's.
#pragma once

#include <tapegrad/train/drawing/page.h>

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace tapegrad::tasks::tutorial {

/// The element of the widget touch/<name>.js with its data, and the scripts that fill it; one per page.
std::string widget_html(std::string_view name, const nlohmann::ordered_json& data);
/// CSS rules for PageOptions::style of a page with a widget.
std::string_view widget_style();
/// The options of a page with a widget, in the language of the locale.
drawing::PageOptions widget_page();

}  // namespace tapegrad::tasks::tutorial
