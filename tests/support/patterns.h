// Regular expressions (ECMAScript's). std::regex is instantiated in one file, since it takes a second in each.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tapegrad::tests {

// The text that matches, and its groups. Empty if nothing does.
struct Match : std::vector<std::string> {
  std::size_t position = 0;
};

class Pattern {
 public:
  Pattern(std::string_view pattern);
  std::vector<Match> in(std::string_view text) const;
  Match first(std::string_view text) const;
  bool found(std::string_view text) const { return !first(text).empty(); }
  Match whole(std::string_view text) const;  // of all of the text
  bool matches(std::string_view text) const { return !whole(text).empty(); }
  std::vector<std::string> divided(std::string_view text) const;  // what is between the matches
  std::string replaced(std::string_view text, std::string_view with) const;

 private:
  struct Compiled;
  std::shared_ptr<const Compiled> compiled_;
};

}  // namespace tapegrad::tests
