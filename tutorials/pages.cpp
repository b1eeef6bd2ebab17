// The list of pages, and how they are read from their files.
#include <fmt/format.h>
#include <tapegrad/autograd/error.h>
#include <tapegrad/tasks/language/texts.h>
#include <tapegrad/tutorials/find.h>
#include <tapegrad/tutorials/numbers.h>
#include <tapegrad/tutorials/pages.h>
#include <tapegrad/tutorials/texts.h>

namespace tapegrad::tasks::tutorial {
namespace {

constexpr const Computation* kComputations[] = {
    &k000_1,       &k000_2,         &k000_3,       &k000_4,       &k001_2_1,     &k001_2_2,     &k001_3,
    &k001_4,       &k002_1,         &k002_2,       &k003_8_1,     &k003_8_2_2,   &k003_8_2_3,   &k003_8_2_3_1,
    &k003_8_2_3_2, &k003_8_2_3_3,   &k003_8_2_3_4, &k003_8_2_3_5, &k003_8_2_3_7, &k003_8_2_4,   &k003_8_2_5,
    &k003_8_2_6,   &k003_8_3_1,     &k003_8_3_2,   &k003_8_3_2_1, &k003_8_3_2_3, &k003_8_3_2_7, &k003_8_4,
    &k003_8_4_1,   &k003_8_4_2,     &k003_8_4_3,   &k003_8_4_4,   &k003_8_5,     &k003_8_5_1,   &k003_8_5_2,
    &k003_8_5_3,   &k003_exercises, &k004_1,       &k004_9,       &k004_15,      &k004_21,      &k004_28,
    &k004_34,      &k004_37,
};

constexpr Text kNoFault{"이 절에서는 바로잡을 곳을 찾지 못했습니다.", "We have found nothing to mend in this section."};

std::string_view without_end(std::string_view lines) { return lines.substr(0, lines.find_last_not_of('\n') + 1); }

std::vector<std::string> words_in(std::string_view text) {
  const std::vector<std::string_view> words = parts_of(text, ' ');
  return {words.begin(), words.end()};
}

void read_numbers(EntryReader& file, Page& page) {
  for (;;) {
    const Entry* const number = file.take_if("number");
    if (number == nullptr && file.take_if("own") == nullptr) return;
    page.printed.emplace_back();
    if (number != nullptr) page.printed.back() = {.label = number->value, .printed = plain(number->lines)};
    if (const Entry* const rows = file.take_if("rows")) page.printed.back().rows = words_in(rows->text);
    if (const Entry* const columns = file.take_if("columns")) page.printed.back().columns = words_in(columns->text);
    page.printed.back().why = number == nullptr ? file.take_text() : file.take_text_if();
  }
}

using Function = std::string (*)();
Function function_at(const std::vector<Function>& all, std::size_t i) { return i < all.size() ? all[i] : nullptr; }

void read_claims(EntryReader& file, Page& page, const Computation& computation) {
  while (const Entry* const touch = file.take_if("touch")) {
    const Text what = file.take_text();
    page.touch.push_back({touch->text, what, function_at(computation.touch, page.touch.size())});
  }
  while (file.take_if("claim") != nullptr) {
    const Text claim = file.take_text();
    file.take("proof");
    page.faults.push_back({claim, file.take_text(), function_at(computation.proofs, page.faults.size())});
  }
  if (file.take_if("faults") != nullptr) {  // "none", and why if the page says more about it than that
    const Text why = file.take_text_if();
    page.without = {{Part::faults, why.empty() ? kNoFault : why}};
  }
  if (computation.touch.size() > page.touch.size() || computation.proofs.size() > page.faults.size())
    fail("tutorial", fmt::format("{}: expected a \"touch\" or \"claim\" for each function", computation.section));
}

// The exercises in exercises/set whose names begin with one of the page's places: 003-8.4.1-pre-ln.
std::vector<Programming> programming_of(const Page& page) {
  constexpr std::string_view kFolder = "tutorials/exercises/set/";
  std::vector<Programming> found;
  for (const EmbeddedFile& file : embedded_files()) {
    if (!file.name.starts_with(kFolder)) continue;
    const std::string_view id = file.name.substr(kFolder.size(), file.name.rfind('.') - kFolder.size());
    const std::string_view place = id.substr(4);
    if (id.starts_with(page.tutorial) && is_about(page, place.substr(0, place.find('-'))))
      found.push_back({id, EntryReader(fmt::format("exercises/set/{}", id)).take_text()});
  }
  return found;
}

Page page_of(const Computation& computation) {
  EntryReader file(fmt::format("sections/{}", computation.section));
  Page page{.numbers = computation.numbers, .figures = computation.figures};
  const std::vector<std::string_view> place = parts_of(file.take("place").text, ' ');
  page.tutorial = place.at(0), page.section = place.at(1);
  if (const Entry* const also = file.take_if("also")) page.also = parts_of(also->text, ' ');
  page.title = file.take_text();
  file.take("about");
  page.about = file.take_text();
  while (const Entry* const lines = file.take_if("lines")) {
    const Text what = file.take_text();
    page.lines.push_back({what, without_end(file.take("pytorch").lines), lines->text});
  }
  read_numbers(file, page);
  while (file.take_if("figure") != nullptr) page.captions.push_back(file.take_text());
  read_claims(file, page, computation);
  while (file.take_if("question") != nullptr) {
    const Text question = file.take_text();
    file.take("answer");
    page.exercises.push_back({question, file.take_text()});
  }
  while (const Entry* const experiment = file.take_if("break")) {
    page.experiments.push_back({experiment->text, file.take_text()});
    if (file.take_if("table") == nullptr) continue;
    const std::string_view korean = file.take("ko").lines;
    page.experiments.back().table = {korean, file.take("en").lines};
  }
  page.programming = programming_of(page);
  page.commands = without_end(file.take("commands").lines);
  page.terms = file.take("terms").text;
  file.expect_end();
  return page;
}

}  // namespace

std::span<const Page* const> pages() {
  static const std::vector<Page> kPages = [] {
    std::vector<Page> all;
    for (const Computation* computation : kComputations) all.push_back(page_of(*computation));
    return all;
  }();
  static const std::vector<const Page*> kPointers = [] {
    std::vector<const Page*> all;
    for (const Page& page : kPages) all.push_back(&page);
    return all;
  }();
  return kPointers;
}

}  // namespace tapegrad::tasks::tutorial
