// Edit distance, and the sentences made from it.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <tapegrad/tasks/settings/nearest.h>

#include <algorithm>
#include <numeric>
#include <utility>

namespace tapegrad::tasks {
namespace {

constexpr std::size_t kMostSuggestions = 3;

// Levenshtein distance: insertions, deletions and changes of one letter that turn a into b.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({change, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

std::vector<std::string> nearest(std::string_view word, const std::vector<std::string>& known) {
  std::vector<std::pair<std::size_t, std::string>> near;
  for (const std::string& one : known) {
    const std::size_t edits = distance(word, one);
    const bool inside = word.size() > 2 && one.find(word) != std::string::npos;
    if (edits <= std::max<std::size_t>(1, word.size() / 3) || inside) near.emplace_back(edits, one);
  }
  std::stable_sort(near.begin(), near.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
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

std::string did_you_mean(std::string_view word, const std::vector<std::string>& known) {
  const std::vector<std::string> near = nearest(word, known);
  return near.empty() ? "" : fmt::format(" (did you mean {}?)", listed(near, "or"));
}

std::string unknown(std::string_view kind, std::string_view word, const std::vector<std::string>& known) {
  return fmt::format("unknown {} \"{}\"{}; choose from {}", kind, word, did_you_mean(word, known),
                     fmt::join(known, ", "));
}

std::string must_be_one_of(const std::vector<std::string>& words, std::string_view got) {
  return fmt::format("must be one of {}, got \"{}\"{}", fmt::join(words, ", "), got, did_you_mean(got, words));
}

}  // namespace tapegrad::tasks
