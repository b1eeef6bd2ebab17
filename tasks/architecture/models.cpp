// The passes that are watched to draw the models of this library.
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/nn/mask.h>
#include <tapegrad/tasks/architecture/architecture.h>
#include <tapegrad/tasks/architecture/looks.h>
#include <tapegrad/tasks/language/messages.h>

#include <algorithm>
#include <utility>

namespace tapegrad::tasks::architecture {
namespace {

Tensor some_ids(int64_t length, int64_t longest, int64_t vocab_size) {
  return full({2, std::min(length, longest)}, vocab_size - 1, kInt64);
}

// One stack, from ids to logits; its blocks run once each, also if training runs them again in backward.
template <class Model>
Architecture decoder_of(Model& model, std::string_view title) {
  const Tensor ids = some_ids(3, model.longest_input(), model.vocab_size());
  const bool recompute = std::exchange(model.recompute_blocks, false);
  const nn::Watched seen = nn::watch(model, [&] { return model(ids); });
  model.recompute_blocks = recompute;
  return architecture_of(seen, title, {ids},
                         {{.name = "",
                           .input = said("token ids"),
                           .output = said("logits"),
                           .letters = said("B: sequences, T: tokens"),
                           .letter = 'T'}});
}

}  // namespace

Architecture architecture_of(nn::Transformer& model, std::string_view title) {
  const nn::TransformerConfig& c = model.config;
  const Tensor source = some_ids(4, c.longest_input(), c.vocab_size);
  const Tensor target = some_ids(3, c.longest_input(), c.vocab_size), mask = nn::causal_mask(target.size(1));
  const nn::Watched seen = nn::watch(model, [&] { return model(source, target, {}, mask); });
  return architecture_of(seen, title, {source, target},
                         {{.name = said("Encoder"),
                           .input = said("source ids"),
                           .output = said("memory"),
                           .letters = said("B: sequences, S: tokens of the source"),
                           .letter = 'S'},
                          {.name = said("Decoder"),
                           .input = said("target ids"),
                           .output = said("log-probabilities"),
                           .letters = said("T: tokens of the target so far"),
                           .letter = 'T'}});
}

Architecture architecture_of(nn::GPTModel& model, std::string_view title) { return decoder_of(model, title); }

// Its rotations are no module: what acts in all attentions is added next to the flow.
Architecture architecture_of(nn::LlamaModel& model, std::string_view title) {
  Architecture drawn = decoder_of(model, title);
  Stack& stack = drawn.stacks[0];
  drawing::FlowStep rope = look_of_rope(model.positions(drawn.inputs[0].size(1), 0, kFloat32), stack.letter);
  insert_beside(stack, {.step = std::move(rope)});
  return drawn;
}

Architecture architecture_of(nn::AnyDecoder& model) {
  if (auto* const gpt = model.as<nn::GPTModel>()) return architecture_of(*gpt);
  if (auto* const llama = model.as<nn::LlamaModel>()) return architecture_of(*llama);
  fail("architecture", "expected a GPT or a Llama, got {}", model->names().model);
}

}  // namespace tapegrad::tasks::architecture
