// Whether a model knows the order of its words.
#pragma once

#include <tapegrad/nn/positions.h>

namespace tapegrad::tasks::tutorial {

/// How much the outputs of an untrained encoder with these positions change when two words are exchanged, beyond being
/// exchanged themselves: the largest difference. Close to 0 where the model does not know the order.
double change_of_order(nn::Positions positions);

}  // namespace tapegrad::tasks::tutorial
