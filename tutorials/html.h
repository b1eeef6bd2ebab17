// Pages as HTML files that refer only to each other.
#pragma once

#include <tapegrad/tutorials/computed.h>

#include <span>
#include <string>

namespace tapegrad::tasks::tutorial {

/// "003-8.2.5.ko.html"
std::string file_name(const Page& page, Language language);
/// "index.ko.html"
std::string index_name(Language language);

/// What the folder of a page has: the whole site, or only this page in both languages, where other pages are named by
/// their commands instead of links.
enum class Folder { site, page };

/// A complete page. It leads to the index, to the page in the other language, and to the pages before and after it.
std::string html_of(const Computed& made, Language language, Folder folder = Folder::site);
/// The list of all pages, with links.
std::string index_html(std::span<const Page* const> all, Language language);

}  // namespace tapegrad::tasks::tutorial
