// Compares sections as texts and cells as numbers.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <tapegrad/tasks/settings/bad_request.h>
#include <tapegrad/tasks/settings/nearest.h>
#include <tapegrad/train/metrics/words.h>
#include <tapegrad/tutorials/find.h>
#include <tapegrad/tutorials/originals.h>
#include <tapegrad/tutorials/sources.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <optional>
#include <utility>

namespace tapegrad::tasks::tutorial {
namespace {

using metrics::ascii_lower;

constexpr std::string_view kVerb = "tutorial";

std::optional<int> whole_number(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return {};
  return value;
}

// The cells "30-33", or "31" alone; nothing for a section.
std::optional<std::pair<int, int>> cells_of(std::string_view text) {
  const std::size_t dash = std::min(text.find('-'), text.size());
  const std::optional<int> first = whole_number(text.substr(0, dash));
  const std::optional<int> last = dash == text.size() ? first : whole_number(text.substr(dash + 1));
  if (!first || !last) return {};
  return std::pair(*first, *last);
}

std::vector<std::string_view> places_of(const Page& page) {
  std::vector<std::string_view> places = page.also;
  places.insert(places.begin(), page.section);
  return places;
}

// Whether the place is the wanted one: the same section, or cells that include it.
bool is_at(std::string_view place, std::string_view asked) {
  if (place == asked) return true;
  const auto here = cells_of(place), wanted = cells_of(asked);
  return here && wanted && here->first <= wanted->first && wanted->second <= here->second;
}

// Whether the place is a part of the wanted one: 8.2.5 of 8.2.
bool is_within(std::string_view place, std::string_view asked) {
  return place.starts_with(asked) && place.size() > asked.size() &&
         (place[asked.size()] == '.' || place[asked.size()] == '/');
}

template <class Matches>
PageList pages_where(PageList pages, const Matches& matches) {
  std::erase_if(pages, [&](const Page* page) {
    const std::vector<std::string_view> places = places_of(*page);
    return std::none_of(places.begin(), places.end(), matches);
  });
  return pages;
}

std::vector<std::string> tutorials_of(const PageList& all) {
  std::vector<std::string> names;
  for (const Page* page : all)
    if (names.empty() || names.back() != page->tutorial) names.emplace_back(page->tutorial);
  return names;
}

// The numbers of a section: 8, 2, 3, 4 and 1 of 8.2.3/4.1; none of a place with other words.
std::vector<int> section_numbers(std::string_view place) {
  std::vector<int> numbers;
  while (!place.empty()) {
    const std::size_t end = std::min(place.find_first_of("./"), place.size());
    const std::optional<int> number = whole_number(place.substr(0, end));
    if (!number) return {};
    numbers.push_back(*number);
    place.remove_prefix(std::min(end + 1, place.size()));
  }
  return numbers;
}

constexpr std::size_t kMostClose = 5;  // places that an error names

// The sections between which the asked one would be.
std::vector<std::string> neighbours(std::vector<std::string> places, std::string_view asked) {
  const std::vector<int> wanted = section_numbers(asked);
  std::erase_if(places, [](const std::string& place) { return section_numbers(place).empty(); });
  if (wanted.empty() || places.empty()) return {};
  const auto before = [](const std::string& a, const std::string& b) {
    return section_numbers(a) < section_numbers(b);
  };
  std::sort(places.begin(), places.end(), before);
  const auto next = std::lower_bound(places.begin(), places.end(), std::string(asked), before);
  const auto first = next - std::min<std::ptrdiff_t>(2, next - places.begin());
  return {first, next == places.end() ? next : next + 1};
}

// The places of these pages that are closest: of cells by number, of sections by their digits.
std::string nearest_places(const PageList& all, std::string_view asked) {
  std::vector<std::string> places;
  for (const Page* page : all)
    for (const std::string_view place : places_of(*page)) places.emplace_back(place);
  if (const auto wanted = cells_of(asked)) {
    std::erase_if(places, [](const std::string& place) { return !cells_of(place); });
    const auto distance = [&](const std::string& place) {
      const auto [first, last] = *cells_of(place);
      return std::max({0, first - wanted->first, wanted->first - last});
    };
    std::stable_sort(places.begin(), places.end(),
                     [&](const auto& a, const auto& b) { return distance(a) < distance(b); });
    places.resize(std::min<std::size_t>(places.size(), 3));
    return places.empty() ? "" : fmt::format(" (the nearest are {})", listed(places, "and"));
  }
  std::vector<std::string> close = neighbours(places, asked);
  for (std::string& one : nearest(asked, places))
    if (close.size() < kMostClose && std::find(close.begin(), close.end(), one) == close.end())
      close.push_back(std::move(one));
  return close.empty() ? "" : fmt::format(" (the nearest are {})", listed(close, "and"));
}

// Between a tutorial and a section in one word: 003_8.2.5, 003-8.2.5, 004:31, and the tutorials' files.
constexpr std::string_view kMarks = "_-:/";

// A section or a cell, without a tutorial.
bool is_place(std::string_view word) { return is_section(word) || (!word.starts_with('0') && cells_of(word)); }

// The tutorial and the section in the words, as pages name them: "[31]", "cell 31", "8.2.5절" and "003_8.2.5" are
// "31", "31", "8.2.5", and "003" with "8.2.5"; 3 is 003.
std::vector<std::string> place_words(std::span<const std::string> asked, const std::vector<std::string>& tutorials) {
  constexpr std::string_view kNouns[] = {"section", "sections", "cell", "cells",   "tutorial",
                                         "in",      "절",       "셀",   "튜토리얼"};
  const auto is_tutorial = [&](std::string_view word) {
    return std::find(tutorials.begin(), tutorials.end(), word) != tutorials.end();
  };
  std::vector<std::string> words;
  for (std::string_view word : asked) {
    if (std::find(std::begin(kNouns), std::end(kNouns), ascii_lower(word)) != std::end(kNouns)) continue;
    for (const std::string_view sign : {"§", "In", "["})
      if (word.starts_with(sign)) word.remove_prefix(sign.size());
    for (const std::string_view sign : {":", "]", "절", "번", "셀", "장", "."})
      if (word.ends_with(sign)) word.remove_suffix(sign.size());
    const std::size_t mark = word.find_first_of(kMarks);
    if (mark != std::string_view::npos && is_tutorial(word.substr(0, mark))) {
      words.emplace_back(word.substr(0, mark));
      word.remove_prefix(mark + 1);
      if (!is_place(word)) continue;  // the name of a file: 003-birth-of-the-transformer
    }
    const bool short_name = words.empty() && word.size() == 1 && is_tutorial(fmt::format("00{}", word));
    words.push_back(short_name ? fmt::format("00{}", word) : std::string(word));
  }
  return words;
}

// The pages whose texts, as `texts_of` gives them, have all of the words.
template <class Texts>
PageList pages_with_all(PageList pages, std::span<const std::string> words, const Texts& texts_of) {
  std::erase_if(pages, [&](const Page* page) {
    const std::string texts = ascii_lower(texts_of(*page));
    return std::any_of(words.begin(), words.end(),
                       [&](const std::string& word) { return texts.find(ascii_lower(word)) == texts.npos; });
  });
  return pages;
}

std::string title_of(const Page& page) { return fmt::format("{}\n{}", page.title.ko, page.title.en); }

// BadRequest that names tutorials and words of titles that are close.
[[noreturn]] void unknown_words(const PageList& all, const std::string& asked,
                                const std::vector<std::string>& tutorials) {
  std::vector<std::string> known = tutorials;
  for (const Page* page : all) {
    const std::string title = ascii_lower(title_of(*page));
    for (std::size_t at = 0, end = 0; at < title.size(); at = end + 1) {
      end = std::min(title.find_first_of(" \n,:()", at), title.size());
      std::string word = title.substr(at, end - at);
      if (word.size() > 2 && std::find(known.begin(), known.end(), word) == known.end())
        known.push_back(std::move(word));
    }
  }
  bad_request(kVerb, fmt::format("unknown {} \"{}\"{}; choose from {}, give a section (8.2.5) or words of a title, or "
                                 "search all texts: tapegrad tutorial --find \"{}\"",
                                 kVerb, asked, did_you_mean(asked, known), fmt::join(tutorials, ", "), asked));
}

// The pages about what the tutorials call so, or define under this name.
PageList pages_called(const PageList& all, std::string_view words) {
  PageList found;
  for (const Page* page : all)
    for (const OriginalPlace& place : original_of(page->tutorial).places)
      if ((place.section.empty() || is_about(*page, place.section)) && is_called(place, words)) {
        found.push_back(page);
        break;
      }
  return found;
}

// All of a page's texts for readers, its code, and the tutorial's names in it.
std::string words_of(const Page& page) {
  std::string out = fmt::format("{}\n{}\n{}\n", page.section, page.terms, page.commands);
  const auto add = [&](const Text& text) { out += fmt::format("{}\n{}\n", text.ko, text.en); };
  add(page.title);
  add(page.about);
  for (const Lines& one : page.lines) add(one.what), out += fmt::format("{}\n{}\n", one.pytorch, snippet(one.snippet));
  for (const OriginalPlace& place : original_of(page.tutorial).places)
    if (is_about(page, place.section))
      out += fmt::format("{}\n{}\n", fmt::join(place.headings, "\n"), fmt::join(place.names, " "));
  for (const Touch& one : page.touch) add(one.what);
  for (const Fault& one : page.faults) add(one.claim), add(one.proof);
  for (const Exercise& one : page.exercises) add(one.question), add(one.answer);
  for (const Without& one : page.without) add(one.why);
  return out;
}

// The page of this section or cell; without one, the pages of its parts.
PageList pages_at(const PageList& all, std::string_view asked) {
  PageList here = all;
  std::erase_if(here, [&](const Page* page) { return !is_at(page->section, asked); });
  if (!here.empty()) return here;
  return pages_where(all, [&](std::string_view place) { return is_at(place, asked) || is_within(place, asked); });
}

// The words of arguments, each of which may be several: "003 8.2.5".
std::vector<std::string> words_in(std::span<const std::string> arguments) {
  return metrics::split_at_spaces(fmt::format("{}", fmt::join(arguments, " ")));
}

}  // namespace

PageList find_pages(std::span<const Page* const> all, std::span<const std::string> arguments) {
  PageList found(all.begin(), all.end());
  std::vector<std::string> asked_words = words_in(arguments);
  if (asked_words.empty()) return found;
  const auto joined = [&] { return fmt::format("{}", fmt::join(asked_words, " ")); };
  if (PageList called = pages_called(found, joined()); !called.empty()) return called;
  const std::vector<std::string> tutorials = tutorials_of(found), words = place_words(asked_words, tutorials);
  const bool named = !words.empty() && std::find(tutorials.begin(), tutorials.end(), words[0]) != tutorials.end();
  if (named) {
    std::erase_if(found, [&](const Page* page) { return page->tutorial != words[0]; });
    if (words.size() == 1) return found;
    const auto number = std::find_if(asked_words.begin(), asked_words.end(), [&](const std::string& word) {
      return place_words(std::vector{word}, tutorials) == std::vector{words[0]};
    });
    if (number != asked_words.end()) asked_words.erase(asked_words.begin(), number + 1);
    if (PageList called = pages_called(found, joined()); !called.empty()) return called;
  }
  const std::span<const std::string> places = std::span(words).subspan(named ? 1 : 0);
  const bool only_places = !places.empty() && std::all_of(places.begin(), places.end(), is_place);
  require(!only_places || places.size() == 1, kVerb,
          fmt::format("expected a tutorial and a section, got {} words: {}", words.size(), fmt::join(words, " ")));
  const bool one = places.size() == 1 && (only_places || !cells_of(places[0]));
  if (one || (!places.empty() && is_section(places[0])))  // with other words after it
    if (PageList here = pages_at(found, places[0]); !here.empty()) return here;
  if (only_places)
    bad_request(kVerb, fmt::format("there is no page about {}{}{}", named ? words[0] + " " : "", places[0],
                                   nearest_places(found, places[0])));
  if (PageList titled = pages_with_all(found, asked_words, title_of); !titled.empty()) return titled;
  const std::string asked = joined();
  if (asked.find_first_not_of("0123456789. ") != asked.npos)
    for (const std::vector<std::string>& parts : {std::vector{asked}, asked_words})
      if (PageList with = pages_with_all(found, parts, words_of); !with.empty()) return with;
  unknown_words(found, asked, tutorials);
}

PageList sections_of(std::span<const Page* const> all, const Page& page) {
  PageList found(all.begin(), all.end());
  std::erase_if(found, [&](const Page* one) { return one == &page || one->tutorial != page.tutorial; });
  return pages_where(found, [&](std::string_view place) { return is_within(place, page.section); });
}

std::pair<const Page*, const Page*> pages_around(std::span<const Page* const> all, const Page& page) {
  const auto here = std::find(all.begin(), all.end(), &page);
  if (here == all.end()) return {nullptr, nullptr};
  return {here == all.begin() ? nullptr : *(here - 1), here + 1 == all.end() ? nullptr : *(here + 1)};
}

PageList pages_with(std::span<const Page* const> all, std::string_view word) {
  return pages_with_all({all.begin(), all.end()}, std::vector{std::string(word)}, words_of);
}

bool is_about(const Page& page, std::string_view place) {
  const std::vector<std::string_view> places = places_of(page);
  return std::any_of(places.begin(), places.end(), [&](std::string_view one) { return is_at(one, place); });
}

bool names_place(std::string_view words, std::string_view tutorial, std::string_view place) {
  std::vector<std::string> tutorials;
  for (const Original& one : originals()) tutorials.emplace_back(one.tutorial);
  const std::vector<std::string> argument{std::string(words)}, named = place_words(words_in(argument), tutorials);
  const bool of_one = !named.empty() && std::find(tutorials.begin(), tutorials.end(), named[0]) != tutorials.end();
  if (of_one && named[0] != tutorial) return false;
  if (named.size() != (of_one ? 2 : 1)) return of_one && named.size() == 1;
  return is_at(place, named.back()) || is_at(named.back(), place) || is_within(place, named.back());
}

bool names_page(std::string_view word) {
  if (is_section(word)) return true;
  const std::size_t mark = word.find_first_of(kMarks);
  return mark == 3 && word.starts_with("00") && is_place(word.substr(mark + 1));
}

bool is_section(std::string_view word) {
  const std::size_t slash = std::min(word.find('/'), word.size());
  const std::string_view section = word.substr(0, slash);
  return !section.empty() && section.find_first_not_of("0123456789.") == std::string_view::npos &&
         section.find('.') != std::string_view::npos && section.front() != '.' &&
         section.find("..") == std::string_view::npos;
}

}  // namespace tapegrad::tasks::tutorial
