// Edit distance, and the sentences made from it.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <tapegrad/tasks/settings/nearest.h>

#include <algorithm>
#include <cstddef>
#include <utility>

namespace tapegrad::tasks {
namespace {

constexpr std::size_t kMostSuggestions = 3;
constexpr std::size_t kLongList = 40;  // from which nobody reads it for a word that looks like theirs

// Edits that turn a into b: a letter inserted, deleted or changed, or two neighbours exchanged (optimal string
// alignment).
std::size_t distance(std::string_view a, std::string_view b) {
  const std::size_t width = b.size() + 1;
  std::vector<std::size_t> edits((a.size() + 1) * width);  // [i, j]: from the first i letters to the first j
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      std::size_t& here = edits[i * width + j];
      here = i + j;
      if (i == 0 || j == 0) continue;
      const std::size_t* const above = &here - width;
      here = std::min({above[-1] + (a[i - 1] == b[j - 1] ? 0 : 1), above[0] + 1, (&here)[-1] + 1});
      const bool exchanged = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (exchanged) here = std::min(here, above[-2 - static_cast<std::ptrdiff_t>(width)] + 1);
    }
  }
  return edits.back();
}

// "num", "epochs" of --num-epochs, or --num_epochs.
std::vector<std::string> words_of(std::string_view option) {
  std::vector<std::string> words(1);
  for (const char c : option) {
    if (c != '-' && c != '_') {
      words.back() += c;
    } else if (!words.back().empty()) {
      words.emplace_back();
    }
  }
  if (words.back().empty()) words.pop_back();
  return words;
}

// Whether all of `some` are in `words`.
bool includes(const std::vector<std::string>& words, const std::vector<std::string>& some) {
  return !some.empty() && std::ranges::all_of(some, [&](const std::string& word) {
    return std::ranges::find(words, word) != words.end();
  });
}

}  // namespace

std::vector<std::string> nearest(std::string_view word, const std::vector<std::string>& known) {
  std::vector<std::pair<std::size_t, std::string>> near;
  for (const std::string& one : known) {
    const std::size_t edits = distance(word, one);
    const bool inside = word.size() > 2 && one.find(word) != std::string::npos;
    if (edits <= std::max<std::size_t>(1, word.size() / 3) || inside) near.emplace_back(edits, one);
  }
  std::ranges::stable_sort(near, {}, [](const auto& one) { return one.first; });
  near.resize(std::min(near.size(), kMostSuggestions));
  std::vector<std::string> words;
  for (auto& [edits, one] : near) words.push_back(std::move(one));
  return words;
}

std::string listed(const std::vector<std::string>& words, std::string_view conjunction) {
  std::string out;
  for (std::size_t i = 0; i < words.size(); ++i)
    out += (i == 0 ? "" : i + 1 < words.size() ? ", " : fmt::format(" {} ", conjunction)) + words[i];
  return out;
}

std::vector<std::string> nearest_options(std::string_view option, const std::vector<std::string>& known) {
  std::vector<std::string> near = nearest(option, known);
  const std::vector<std::string> words = words_of(option);
  std::string initials;
  for (const std::string& word : words) initials += word[0];
  for (const std::string& one : known) {
    const std::vector<std::string> its = words_of(one);
    const bool alike = !words.empty() && (includes(its, words) || includes(words, its) ||
                                          (words.size() > 1 && its.size() == 1 && its[0] == initials));
    if (alike && near.size() < kMostSuggestions && std::ranges::find(near, one) == near.end()) near.push_back(one);
  }
  return near;
}

std::string did_you_mean(const std::vector<std::string>& near) {
  return near.empty() ? "" : fmt::format(" (did you mean {}?)", listed(near, "or"));
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& known) {
  return did_you_mean(nearest(word, known));
}

std::string unknown(std::string_view kind, std::string_view word, const std::vector<std::string>& known) {
  std::string hint = did_you_mean(word, known);
  if (hint.empty() && known.size() > kLongList) {
    hint =
        fmt::format(" (did you mean {}?)",
                    *std::ranges::min_element(known, {}, [&](const std::string& one) { return distance(word, one); }));
  }
  return fmt::format("unknown {} \"{}\"{}; choose from {}", kind, word, hint, fmt::join(known, ", "));
}

std::string expected_one_of(const std::vector<std::string>& words, std::string_view got) {
  return fmt::format("expected one of {}, got \"{}\"{}", fmt::join(words, ", "), got, did_you_mean(got, words));
}

}  // namespace tapegrad::tasks
