// Finds pages by what a reader has in hand: a section, a cell or a word.
#pragma once

#include <tapegrad/tutorials/page.h>

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tapegrad::tasks::tutorial {

using PageList = std::vector<const Page*>;

/// The pages that the words of arguments name: all for no word; a tutorial's for "003" or "3"; the one for "003"
/// "8.2.5" or "003_8.2.5", for "004" "31" (a cell) or "004" "[31]", and for "8.2.5" or "31" alone if one tutorial has
/// it. A section without a page of its own leads to those of its parts: "8.2" to all pages of 8.2. Other words are, in
/// this order: a heading of a tutorial or a name in its code (is_called), a section's number with other words, words of
/// a title in either language, or words anywhere in the texts and the code. BadRequest that names the nearest ones for
/// a tutorial, section, cell or title without a page, and for several sections.
PageList find_pages(std::span<const Page* const> all, std::span<const std::string> arguments);

/// The other pages that are about a part of the page's section: 8.5.1 to 8.5.3 of 8.5.
PageList sections_of(std::span<const Page* const> all, const Page& page);
/// The pages before and after this one; nullptr where there is none.
std::pair<const Page*, const Page*> pages_around(std::span<const Page* const> all, const Page& page);

/// The pages whose titles, texts, terms, code, or headings and names in the tutorial contain this word, in either
/// language; ASCII letters in either case.
PageList pages_with(std::span<const Page* const> all, std::string_view word);

/// Whether the page is about this section or cell itself, not only about a part of it.
bool is_about(const Page& page, std::string_view place);

/// Whether the words name this section or cell of a tutorial, a part of which it is, or the tutorial, as find_pages
/// reads them: "31", "003 8.2.5" and "8.2".
bool names_place(std::string_view words, std::string_view tutorial, std::string_view place);

/// Whether the word is the number of a section, as "8.2.5" or "8.2.3/4.1".
bool is_section(std::string_view word);
/// Whether the word alone names a page: a section, or one with its tutorial, as "003_8.2.5" or "004-31".
bool names_page(std::string_view word);

}  // namespace tapegrad::tasks::tutorial
