// Tutorial 003, section 8.2.5: the causal mask and the padding mask.
#include <fmt/format.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/nn/mask.h>
#include <tapegrad/tasks/language/messages.h>
#include <tapegrad/tutorials/numbers.h>
#include <tapegrad/tutorials/pages.h>
#include <tapegrad/tutorials/pages/journey.h>
#include <tapegrad/tutorials/show/show.h>

#include <cmath>

namespace tapegrad::tasks::tutorial {
namespace {

Tensor scores_of_words() {
  return tensor({{0.9, 0.7, 0.3, 0.2}, {0.6, 0.8, 0.9, 0.4}, {0.2, 0.5, 0.7, 0.9}, {0.4, 0.3, 0.8, 0.6}});
}

std::vector<Number> numbers_of_masks() {
  const Tensor scores = scores_of_words(), past = nn::causal_mask(4);
  const Tensor masked = masked_fill(scores, !past, -INFINITY);
  const Tensor as_added = masked_fill(ones({4, 4}), !past, -INFINITY);
  const Tensor words = nn::padding_mask(tensor({{1, 2, 3, 4}, {1, 2, 5, 0}, {3, 4, 6, 7}, {8, 9, 10, 11}}));
  const Tensor kept = masked_fill(scores, !words[0][0], -INFINITY);
  return {
      same("1. Original attention score matrix", rows_of(scores, 2)),
      same("2. Lower triangular mask (1: allowed, 0: blocked)", rows_of(past.to(kFloat32), 2)),
      same("3. Mask converted to -inf", exponent_rows_of(as_added, 1)),
      same("4. Attention scores with mask applied", rows_of(scores + as_added, 1)),
      same("5. Final attention weights (after softmax)", rows_of(softmax(masked), 2)),
      same("2. Create padding mask (1: valid token, 0: padding token)", numpy_rows(words.reshape({4, 4}).to(kFloat32))),
      same("3. Original attention scores (first sentence)", rows_of(scores, 2)),
      same("4. Scores with padding mask applied (first sentence)", exponent_rows_of(kept, 1)),
      same("5. Final attention weights (first sentence)", rows_of(softmax(kept), 2)),
  };
}

std::vector<Figure> figures_of_masks() {
  return {{{}, show_causal_mask({}).drawings}, {{}, show_padding_mask({}).drawings}};
}

std::string words_as_mask() {
  return fmt::format(
      "{{\"tokens\":[\"I\",\"love\",\"deep\",\"learning\"],\"scores\":{},\"allowed\":{},\"when\":\"before\"}}",
      json_of(scores_of_words()), json_of(tril(ones({4, 4}))));
}

// The weights with 1 added to allowed scores, and without.
std::string same_weights() {
  const Tensor scores = scores_of_words(), past = nn::causal_mask(4);
  const Tensor plainly = softmax(masked_fill(scores, !past, -INFINITY));
  const Tensor added = softmax(scores + masked_fill(ones({4, 4}), !past, -INFINITY));
  return said("largest difference of a weight: {:.1e}\n", amax(abs(plainly - added)).item());
}

}  // namespace

const Computation k003_8_2_5{.section = "003-8.2.5",
                             .numbers = numbers_of_masks,
                             .figures = figures_of_masks,
                             .touch = {words_as_mask},
                             .proofs = {same_weights}};

}  // namespace tapegrad::tasks::tutorial
