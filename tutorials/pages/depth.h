// What becomes of tokens in a deep encoder.
#pragma once

#include <tapegrad/autograd/tensor.h>
#include <tapegrad/train/drawing/svg.h>

#include <string>
#include <vector>

namespace tapegrad::tasks::tutorial {

/// What `measure` finds in the numbers x [4, 24, 64] of an untrained encoder, four sequences of 24 tokens, before the
/// first of its 24 layers and after each.
std::vector<double> by_layer(bool post_norm, double (*measure)(const Tensor& x));
/// A chart of these, with a curve for Pre-LN and one for Post-LN.
drawing::Drawing chart_by_layer(std::string title, std::string y_label, double (*measure)(const Tensor& x));

}  // namespace tapegrad::tasks::tutorial
