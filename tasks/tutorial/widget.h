// Widgets on pages that are not the tutorial's.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace tapegrad::tasks::tutorial {

/// The element of the widget touch/<name>.js with its data, and the scripts that fill it; one per page.
std::string widget_html(std::string_view name, const nlohmann::ordered_json& data);
/// CSS rules for PageOptions::style of a page with a widget.
std::string_view widget_style();

}  // namespace tapegrad::tasks::tutorial
