// Pages as text for a terminal of 80 columns, in which Hangul is two columns wide.
#pragma once

#include <tapegrad/tutorials/computed.h>
#include <tapegrad/tutorials/find.h>

#include <string>

namespace tapegrad::tasks::tutorial {

/// The whole page but its figures and widgets, of which it gives the captions.
std::string text_of(const Computed& made, Language language);
/// One line per page: the command that shows it, title.
std::string sections_text(const PageList& list, Language language);
/// One line per page: tutorial, section, title.
std::string list_of(const PageList& list, Language language);

}  // namespace tapegrad::tasks::tutorial
