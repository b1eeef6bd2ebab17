// Cuts a text at its special tokens.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tapegrad::data::detail {

// Calls ordinary(part, position) for what is between special tokens, which may be empty, and special(id) for each of
// these, `specials` of `tokens`. The leftmost one is taken, of these the longest.
template <class Ordinary, class Special>
void for_each_part(std::string_view text, const std::vector<std::string>& tokens, const std::vector<int64_t>& specials,
                   Ordinary ordinary, Special special) {
  std::vector<std::size_t> next(specials.size(), 0);  // the next position of each special token
  bool first = true;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t begin = text.size(), length = 0;
    int64_t id = -1;
    for (std::size_t i = 0; i < next.size(); ++i) {
      const std::string& token = tokens[static_cast<std::size_t>(specials[i])];
      if (first || next[i] < at) next[i] = std::min(text.find(token, at), text.size());
      if (next[i] < begin || (next[i] == begin && begin < text.size() && token.size() > length)) {
        begin = next[i];
        length = token.size();
        id = specials[i];
      }
    }
    first = false;
    ordinary(text.substr(at, begin - at), at);
    if (id >= 0) special(id);
    at = begin + length;
  }
}

}  // namespace tapegrad::data::detail
