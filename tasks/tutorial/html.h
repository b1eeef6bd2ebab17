// Pages as HTML files that refer only to each other.
#pragma once

#include <tapegrad/tasks/tutorial/computed.h>

#include <span>
#include <string>

namespace tapegrad::tasks::tutorial {

/// "003-8.2.5.ko.html"
std::string file_name(const Page& page, Language language);
/// "index.ko.html"
std::string index_name(Language language);

/// A complete page, with links to the index and to the page in the other language.
std::string html_of(const Computed& made, Language language);
/// The list of all pages, with links.
std::string index_html(std::span<const Page* const> all, Language language);

}  // namespace tapegrad::tasks::tutorial
