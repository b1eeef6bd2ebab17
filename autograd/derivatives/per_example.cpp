// The check of gradients per example.
// build: -Os
#include <fmt/format.h>
#include <tapegrad/autograd/derivatives/detail/scales.h>
#include <tapegrad/autograd/leaf_names.h>
#include <tapegrad/autograd/per_example.h>

#include <string>

namespace tapegrad {

void require_separate_examples(Tape& tape, const Tensor& losses) {
  const BackwardOptions plain{.retain_graph = true, .per_example = true};
  const Gradients once = tape.backward(losses, plain);
  const Tensor scales = detail::powers_of_two(losses.numel(), losses.dtype());
  const Gradients scaled = tape.backward(losses, {.retain_graph = true, .grad_output = scales, .per_example = true});
  for (std::size_t i = 0; i < once.size(); ++i) {
    const auto& [place, grad] = once.begin()[i];
    const int64_t example = detail::first_not_scaled(grad, scaled.begin()[i].grad, scales);
    if (example < 0) continue;
    const std::string named = detail::leaf_name(place);
    const std::string called = named.empty() ? "" : fmt::format(" \"{}\"", named);
    fail("require_separate_examples",
         fmt::format("the gradient of the leaf{} [{}, ...] for example {} has parts of other losses: rows are not in "
                     "the order of the examples, or the losses depend on several examples",
                     called, losses.numel(), example));
  }
}

}  // namespace tapegrad
