// Interactive widgets on pages: a script of this folder and its data.
#pragma once

#include <tapegrad/autograd/io/internal/json_value.h>
#include <tapegrad/train/drawing/page.h>

#include <string>
#include <string_view>

namespace tapegrad::tasks::tutorial {

/// The text of the script <name>.js of this folder. Error for an unknown name.
std::string_view script(std::string_view name);

/// The element of the widget <name>.js with its data, and the scripts that fill it; one per page.
std::string widget_html(std::string_view name, const Json& data);
/// CSS rules for PageOptions::style of a page with a widget.
std::string_view widget_style();
/// The options of a page with a widget, in the language of the locale.
drawing::PageOptions widget_page();

}  // namespace tapegrad::tasks::tutorial
