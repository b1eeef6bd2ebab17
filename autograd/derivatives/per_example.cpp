// The check of gradients per example.
#include <tapegrad/autograd/detail/per_example.h>
#include <tapegrad/autograd/per_example.h>

namespace tapegrad {

void require_separate_examples(Tape& tape, const Tensor& losses) {
  const Gradients once = tape.backward(losses, {.retain_graph = true, .per_example = true});
  const Tensor scales = detail::powers_of_two(losses.numel(), losses.dtype());
  const Gradients scaled = tape.backward(losses, {.retain_graph = true, .grad_output = scales, .per_example = true});
  detail::require_separate("require_separate_examples", once, scaled, scales);
}

}  // namespace tapegrad
