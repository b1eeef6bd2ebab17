// What several pages share: the sentence of tutorial 004, and data for widgets.
#pragma once

#include <tapegrad/autograd/tensor.h>

#include <string>
#include <vector>

namespace tapegrad::tasks::tutorial {

/// "Your journey starts with one step": six words, and their vectors [6, 3].
const std::vector<std::string>& journey_words();
Tensor journey_vectors();

/// The scores [6, 6] of cells 28 to 36, not scaled: queries and keys come from linear layers, seed 789.
Tensor journey_scores();

/// Finite numbers as JSON, nested as the tensor's axes are, with up to four digits after the point; and texts.
std::string json_of(const Tensor& x);
std::string json_of(const std::vector<std::string>& texts);

}  // namespace tapegrad::tasks::tutorial
