// Compares sections as texts and cells as numbers.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <tapegrad/tasks/settings/bad_request.h>
#include <tapegrad/tasks/settings/nearest.h>
#include <tapegrad/tasks/tutorial/find.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <optional>
#include <utility>

namespace tapegrad::tasks::tutorial {
namespace {

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
PageList pages_where(const PageList& all, const Matches& matches) {
  PageList found;
  for (const Page* page : all) {
    const std::vector<std::string_view> places = places_of(*page);
    if (std::any_of(places.begin(), places.end(), matches)) found.push_back(page);
  }
  return found;
}

std::vector<std::string> tutorials_of(const PageList& all) {
  std::vector<std::string> names;
  for (const Page* page : all)
    if (names.empty() || names.back() != page->tutorial) names.emplace_back(page->tutorial);
  return names;
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
  const std::vector<std::string> close = nearest(asked, places);
  return close.empty() ? "" : fmt::format(" (the nearest are {})", listed(close, "and"));
}

// ASCII letters in lower case.
std::string lowered(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

// All of a page's texts for readers.
std::string words_of(const Page& page) {
  std::string out = fmt::format("{}\n{}\n{}\n", page.section, page.terms, page.commands);
  const auto add = [&](const Text& text) { out += fmt::format("{}\n{}\n", text.ko, text.en); };
  add(page.title);
  add(page.about);
  for (const Lines& one : page.lines) add(one.what), out += fmt::format("{}\n", one.pytorch);
  for (const Touch& one : page.touch) add(one.what);
  for (const Fault& one : page.faults) add(one.claim), add(one.proof);
  for (const Exercise& one : page.exercises) add(one.question), add(one.answer);
  return out;
}

}  // namespace

PageList find_pages(std::span<const Page* const> all, std::span<const std::string> words) {
  PageList found(all.begin(), all.end());
  require(words.size() <= 2, kVerb,
          fmt::format("expected a tutorial and a section, got {} words: {}", words.size(), fmt::join(words, " ")));
  if (words.empty()) return found;
  const std::vector<std::string> tutorials = tutorials_of(found);
  const bool named = std::find(tutorials.begin(), tutorials.end(), words[0]) != tutorials.end();
  if (!named && (words.size() == 2 || !is_section(words[0]))) bad_request(kVerb, unknown(kVerb, words[0], tutorials));
  if (named) std::erase_if(found, [&](const Page* page) { return page->tutorial != words[0]; });
  if (named && words.size() == 1) return found;

  const std::string& asked = words.back();
  PageList here = pages_where(found, [&](std::string_view place) { return is_at(place, asked); });
  if (here.empty()) here = pages_where(found, [&](std::string_view place) { return is_within(place, asked); });
  if (!here.empty()) return here;
  bad_request(kVerb, fmt::format("there is no page about {}{}{}", named ? words[0] + " " : "", asked,
                                 nearest_places(found, asked)));
}

PageList pages_with(std::span<const Page* const> all, std::string_view word) {
  PageList found;
  for (const Page* page : all)
    if (lowered(words_of(*page)).find(lowered(word)) != std::string::npos) found.push_back(page);
  return found;
}

bool is_about(const Page& page, std::string_view place) {
  const std::vector<std::string_view> places = places_of(page);
  return std::any_of(places.begin(), places.end(), [&](std::string_view one) { return is_at(one, place); });
}

bool is_section(std::string_view word) {
  const std::size_t slash = std::min(word.find('/'), word.size());
  const std::string_view section = word.substr(0, slash);
  return !section.empty() && section.find_first_not_of("0123456789.") == std::string_view::npos &&
         section.find('.') != std::string_view::npos && section.front() != '.' &&
         section.find("..") == std::string_view::npos;
}

}  // namespace tapegrad::tasks::tutorial
