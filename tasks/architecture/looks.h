// What a part of a model looks like: its title, its C++ and its colour.
#pragma once

#include <tapegrad/nn/watch.h>
#include <tapegrad/train/drawing/flow.h>

#include <string>
#include <vector>

namespace tapegrad::tasks::architecture {

/// What a look depends on in addition to the module.
struct Context {
  bool masked = false;                     ///< an attention that a mask of the pass makes causal
  bool reads_other = false;                ///< an attention to another stack
  std::vector<std::string> dropouts = {};  ///< the C++ of those that follow
};

/// Title, C++, colour, and of an attention its heads; `module` is one of a watched model.
drawing::FlowStep look_of(const nn::WatchedMember& module, const Context& context);
/// Of an operation that belongs to no part.
drawing::FlowStep look_of(const nn::WatchedOperation& operation);
/// Of a part next to the flow: RelativePositions, in a stack of this length whose letter in shapes is `letter`.
drawing::FlowStep look_beside(const nn::WatchedMember& module, int64_t length, char letter);
/// Of Llama's rotations, which are no module.
drawing::FlowStep look_of_rope(const nn::PositionBias& angles, char letter);

/// Whether the module is an attention of nn.
bool is_attention(const nn::WatchedMember& module);

}  // namespace tapegrad::tasks::architecture
