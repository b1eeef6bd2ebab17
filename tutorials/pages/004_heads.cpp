// Tutorial 004, cells 37 to 42: batches, several heads, and products of stacks of matrices.
#include <tapegrad/tapegrad.h>
#include <tapegrad/tasks/language/messages.h>
#include <tapegrad/tutorials/numbers.h>
#include <tapegrad/tutorials/pages.h>
#include <tapegrad/tutorials/pages/journey.h>
#include <tapegrad/tutorials/programs/attention.h>
#include <tapegrad/tutorials/show/show.h>

namespace tapegrad::tasks::tutorial {
namespace {

Tensor journey_batch() { return stack({given::journey(), given::journey()}); }

nn::MultiHeadSelfAttention attention_of_cell_40() {
  manual_seed(123);
  return nn::MultiHeadSelfAttention({.d_in = 3, .d_out = 2, .num_heads = 2, .context_length = 6});
}

std::vector<Number> numbers_of_head_cells() {
  const Tensor batch = journey_batch(), a = given::two_heads();
  manual_seed(123);
  const Tensor one = CausalAttention(3, 2, 6, 0)(batch);
  manual_seed(123);
  const Tensor two = MultiHeadAttentionWrapper(3, 2, 6, 0, 2)(batch);
  const Tensor joined = attention_of_cell_40()(batch);
  return {same("cell 37: batch.shape", plain_shape(batch)),
          same("cell 38: CausalAttention", rows_of(one, 4)),
          same("cell 38: context_vecs.shape", plain_shape(one)),
          same("cell 39: MultiHeadAttentionWrapper", rows_of(two, 4)),
          same("cell 39: context_vecs.shape", plain_shape(two)),
          same("cell 40: MultiHeadAttention", rows_of(joined, 4)),
          same("cell 40: context_vecs.shape", plain_shape(joined)),
          same("cell 41: rows of a that PyTorch echoes", rows_of(a.reshape({6, 4}).slice(0, 1, 6), 4)),
          same("cell 41: a @ a.transpose(2, 3)", rows_of(matmul(a, a.transpose(2, 3)), 4)),
          same("cell 41: a.shape", plain_shape(a)),
          same("cell 42: the first head", rows_of(matmul(a[0][0], a[0][0].t()), 4)),
          same("cell 42: the second head", rows_of(matmul(a[0][1], a[0][1].t()), 4))};
}

// [2, heads, 6, 6]
Tensor weights_of_cell_40() {
  const nn::MultiHeadSelfAttention attention = attention_of_cell_40();
  Tensor weights;
  static_cast<void>(attention(journey_batch(), {.weights = &weights}));
  return weights;
}

std::string cell_40_as_player() {
  return json_of_heads(weights_of_cell_40()[0], {"40번 셀", "cell 40"}, journey_words(), journey_words());
}

std::vector<Figure> figures_of_head_cells() {
  const std::vector<std::string>& words = journey_words();
  const Tensor a = given::two_heads(), products = matmul(a, a.transpose(2, 3)), weights = weights_of_cell_40();
  const std::vector<std::string> tokens{"1", "2", "3"};
  return {{.panels = {draw_matrix(said("First head"), products[0][0], tokens, tokens, 0, 2.5),
                      draw_matrix(said("Second head"), products[0][1], tokens, tokens, 0, 2.5)}},
          {.panels = {draw_matrix(said("Head {}", 0), weights[0][0], words, words, 0, 1),
                      draw_matrix(said("Head {}", 1), weights[0][1], words, words, 0, 1)}}};
}

// A shorter sentence, and the cost of both ways.
std::string shorter_sentence() {
  manual_seed(123);
  const CausalAttention attention(3, 2, 6, 0);
  const Tensor batch = journey_batch(), all = attention(batch), first = attention(narrow(batch, 1, 0, 4));
  return said("largest change of the first 4 contexts: {:.0e}\n", amax(abs(narrow(all, 1, 0, 4) - first)).item());
}

}  // namespace

const Computation k004_37{
    "004-37-42", numbers_of_head_cells, figures_of_head_cells, {cell_40_as_player}, {shorter_sentence}};

}  // namespace tapegrad::tasks::tutorial
