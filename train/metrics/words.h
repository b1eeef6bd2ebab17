// Splits texts into words, as the metrics count them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace tapegrad::metrics {

/// The parts of a text between white space, as Python's str.split() cuts it.
std::vector<std::string> split_at_spaces(std::string_view text);
/// The text without white space at its end, as Python's str.rstrip().
std::string_view without_spaces_at_end(std::string_view text);
/// A to Z become a to z; other characters stay.
std::string ascii_lower(std::string_view text);

/// How often each sequence of `order` words occurs; the words of a key are joined by spaces.
using Counts = std::unordered_map<std::string, int64_t>;
Counts count_ngrams(const std::vector<std::string>& words, std::size_t order);
/// Over all keys, the sum of the smaller of the two counts.
int64_t shared_count(const Counts& a, const Counts& b);

/// Precision and recall with their harmonic mean; 0 where both are 0.
struct Overlap {
  double precision = 0;  ///< 0 to 1, as the others
  double recall = 0;     ///< of the reference
  double f1 = 0;         ///< their harmonic mean
};
/// With the F1 that follows from both.
Overlap overlap_of(double precision, double recall);

}  // namespace tapegrad::metrics
