// Suggestions for mistyped words.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tapegrad::tasks {

/// Up to three words of `known` that resemble `word`, the closest first: few edits away, or with `word` inside.
std::vector<std::string> nearest(std::string_view word, const std::vector<std::string>& known);
/// "copy, addition and parser"; the last word follows `conjunction`.
std::string listed(const std::vector<std::string>& words, std::string_view conjunction);
/// The same of options: also those with all words of `option`, or its initials, as --lr for --learning_rate.
std::vector<std::string> nearest_options(std::string_view option, const std::vector<std::string>& known);
/// " (did you mean copy or parser?)"; empty if there are none.
std::string did_you_mean(const std::vector<std::string>& near);
/// " (did you mean copy or parser?)"; empty if no known word resembles it.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& known);
/// `unknown task "copi" (did you mean copy?); choose from copy, addition, parser`
std::string unknown(std::string_view kind, std::string_view word, const std::vector<std::string>& known);
/// `must be one of constant, noam, got "nom" (did you mean noam?)`
std::string expected_one_of(const std::vector<std::string>& words, std::string_view got);

}  // namespace tapegrad::tasks
