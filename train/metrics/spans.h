// Answers that are parts of a text: exact match and F1, by SQuAD's rule. Rajpurkar et al. 2016.
#pragma once

#include <string>
#include <string_view>

namespace tapegrad::metrics {

/// The text in lower case without ASCII punctuation, without the words a, an and the, and with single spaces, as
/// SQuAD's evaluate-v1.1.py compares answers. Letters beyond ASCII keep their case.
std::string normalized_answer(std::string_view text);

/// Whether the normalised texts are equal.
bool exact_answer(std::string_view prediction, std::string_view reference);
/// F1 of the words of the normalised texts, counted with repetition; 0 where they share none.
double answer_f1(std::string_view prediction, std::string_view reference);

}  // namespace tapegrad::metrics
