// The values of an essay that computes a loss by hand.
#pragma once

#include <tapegrad/tasks/language/texts.h>

#include <cstdint>
#include <vector>

namespace tapegrad::tasks {

/// Of probabilities p [B, T, V] that a model predicts, and the right tokens [B, T]: {probabilities}, one line per
/// token; {loss} and {accuracy}; of each sequence its most likely tokens {likely0}, whether they are right {exact0},
/// and -log(p) of its right tokens, {terms0}, with their sum {loss0}. Losses have this number of digits.
std::vector<Value> loss_values(const std::vector<double>& p, const std::vector<int64_t>& right, int64_t batch,
                               int digits);

}  // namespace tapegrad::tasks
