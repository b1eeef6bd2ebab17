// What becomes of tokens in a deep encoder.
#pragma once

#include <tapegrad/autograd/tensor.h>
#include <tapegrad/tasks/drawing/svg.h>

#include <string>

namespace tapegrad::tasks::tutorial {

/// A chart over the layers of an untrained encoder of 24 layers, with a curve for Pre-LN and one for Post-LN: what
/// `measure` finds in the numbers x [4, 24, 64] before the first layer and after each, four sequences of 24 tokens.
drawing::Drawing chart_by_layer(std::string title, std::string y_label, double (*measure)(const Tensor& x));

}  // namespace tapegrad::tasks::tutorial
