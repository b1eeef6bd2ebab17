// Lists, prints and writes pages.
#include <fmt/format.h>
#include <tapegrad/tasks/settings/bad_request.h>
#include <tapegrad/tasks/settings/output.h>
#include <tapegrad/tasks/settings/verb_options.h>
#include <tapegrad/train/files.h>
#include <tapegrad/tutorials/find.h>
#include <tapegrad/tutorials/html.h>
#include <tapegrad/tutorials/pages.h>
#include <tapegrad/tutorials/terminal.h>
#include <tapegrad/tutorials/tutorial.h>

#include <filesystem>

namespace tapegrad::tasks::tutorial {

namespace fs = std::filesystem;
namespace {

constexpr std::string_view kFolder = "out/tutorial";

fs::path folder_for_pages(const std::string& out) {
  const fs::path folder = out.empty() ? fs::path(kFolder) : fs::path(out);
  as_bad_request("--out", [&] { train::create_folder(folder); });
  return folder;
}

int write_site(const std::string& out) {
  const fs::path folder = folder_for_pages(out);
  const auto total = static_cast<int64_t>(2 * pages().size());
  int64_t done = 0;
  for (const Language language : {Language::ko, Language::en}) {
    for (const Page* page : pages()) {
      train::replace_file({folder, file_name(*page, language)}, html_of(computed(*page, language), language));
      note_progress(++done, total, "pages");
    }
    train::replace_file({folder, index_name(language)}, index_html(pages(), language));
  }
  train::replace_file({folder, "index.html"}, index_html(pages(), language_of_locale()));
  print_text(fmt::format("{} pages in two languages: {}\n", pages().size(), (folder / "index.html").string()));
  return 0;
}

int show_page(const Page& page, Language language, const std::string& out) {
  const fs::path folder = folder_for_pages(out), file = folder / file_name(page, language);
  for (const Language one : {Language::ko, Language::en}) {
    const Computed made = computed(page, one);
    train::replace_file({folder, file_name(page, one)}, html_of(made, one, Folder::page));
    if (one == language) print_text(text_of(made, one));
  }
  print_text(
      fmt::format("\n{}: {}\n", Text{"그림이 있는 페이지", "The page, with figures"}.in(language), file.string()));
  return 0;
}

}  // namespace

void Request::list(Fields& f) {
  Options add(f);
  add("tutorial-and-section", "a tutorial (000 to 004), and a section or cell: 003 8.2.5, 004 31", words)
      .type("TUTORIAL [SECTION]")
      .positional();
  add("find", "list the pages with this word, Korean or English", find).type("WORD");
  add("lang", "language of the pages", language).choices(kLanguageCodes).otherwise("by the locale");
  add("out", "folder for the page; without a section, for the whole site", out)
      .type("DIR")
      .otherwise("out/tutorial for a page");
}

int run(const Request& request) {
  const Language language = language_named(request.language.value_or(""));
  if (!request.find.empty()) {
    require(request.words.empty(), "--find", "looks through all tutorials, and cannot be combined with a section");
    const PageList found = pages_with(pages(), request.find);
    require(!found.empty(), "--find", fmt::format("no page contains \"{}\"", request.find));
    print_text(list_of(found, language));
    return 0;
  }
  if (request.words.empty() && !request.out.empty()) return write_site(request.out);
  const PageList found = find_pages(pages(), request.words);
  if (found.size() == 1 && !request.words.empty()) return show_page(*found.front(), language, request.out);
  print_text(request.words.empty() ? list_of(found, language) : sections_text(found, language));
  return 0;
}

}  // namespace tapegrad::tasks::tutorial
