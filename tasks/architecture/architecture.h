// The architecture of a model at hand: its parts in the order of the computation, with the shapes that flow between
// them, their parameters, and the C++ that makes each. It follows from one watched pass (nn::watch), for any model.
#pragma once

#include <tapegrad/nn/gpt.h>
#include <tapegrad/nn/llama.h>
#include <tapegrad/nn/transformer.h>
#include <tapegrad/nn/watch.h>
#include <tapegrad/train/drawing/flow.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tapegrad::tasks::architecture {

/// A part of a model: a box, or a sum.
struct Part {
  drawing::FlowStep step;  ///< its name, its C++ and its output's shape; rows: modules inside, with their parameters
  std::string input = {};  ///< the shape, "[B, T, 768]"
  int64_t count = 0;       ///< parameters, in one layer
  int64_t all = 0;         ///< parameters, in all layers
  bool is_attention = false;
};

/// Layers of the same parts, which are drawn once.
struct Layers {
  std::size_t first = 0, last = 0;  ///< the parts of one layer
  int64_t times = 0;                ///< the number of layers
};

/// A stack from its input to its output: an encoder, a decoder, or a whole model.
struct Stack {
  std::string name = {}, input = {}, output = {};  ///< "Encoder", "source ids", "memory"
  std::string letters = {};                        ///< what the letters of its shapes mean
  char letter = 0;                                 ///< of the length in its shapes; 0: shapes are numbers
  std::string input_shape = {};
  std::vector<Part> parts = {};
  std::vector<Layers> layers = {};
};

struct Architecture {
  std::string title;
  int64_t parameters = 0;  ///< of the model, as nn::count_parameters counts
  std::vector<Stack> stacks = {};
  /// What the pass gave for `inputs`, in eval mode.
  Tensor result = {};
  std::vector<Tensor> inputs = {};
};

/// The parts that ran in a watched pass. A layer of nn is a part, and so is a module inside of a list's element that
/// has several layers; other modules are opened. Operations between parts are parts, too, unless they only rearrange
/// axes; one that adds the input of an earlier part is a sum. The model has a stack for each of its modules that have
/// lists, or one; `stacks` are their names and letters, and `inputs` what they read. Error if a parameter of the model
/// is in no part. The modules must be where they were in the pass.
Architecture architecture_of(const nn::Watched& seen, std::string_view title, std::vector<Tensor> inputs = {},
                             std::vector<Stack> stacks = {});
/// The same of a pass on a small batch; the model's mode is restored.
Architecture architecture_of(nn::Transformer& model, std::string_view title = "Transformer");
Architecture architecture_of(nn::GPTModel& model, std::string_view title = "GPT");
Architecture architecture_of(nn::LlamaModel& model, std::string_view title = "Llama");
Architecture architecture_of(nn::AnyDecoder& model);

/// Inserts a part next to the flow that acts in the stack's first attention, and with it in all.
void insert_beside(Stack& stack, Part part);
/// Parameters in all parts of a stack, in all layers.
int64_t parameters_of(const Stack& stack);
/// Its title with its parameters, and what the letters in its shapes mean.
std::string title_of(const Architecture& model);
std::string letters_of(const Architecture& model);
/// "1,024 parameters"; and parameters of one layer, where all are alike.
std::string counted(int64_t count);
std::string note_of(const Stack& stack, const Layers& layers);
/// The drawing of all stacks, and of each.
drawing::FlowChart chart_of(const Architecture& model);
/// A section of a page: a heading, and folded the whole drawing, or its stacks one by one on narrow pages.
std::string section_of(const Architecture& model);

}  // namespace tapegrad::tasks::architecture
