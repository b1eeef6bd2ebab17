// Exchanges two words of a sentence.
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/random.h>
#include <tapegrad/nn/transformer.h>
#include <tapegrad/tasks/tutorial/pages/order.h>

namespace tapegrad::tasks::tutorial {

double change_of_order(nn::Positions positions) {
  manual_seed(0);
  const nn::TransformerEncoder encoder({.vocab_size = 20,
                                        .hidden_size = 32,
                                        .num_hidden_layers = 2,
                                        .num_attention_heads = 4,
                                        .intermediate_size = 64,
                                        .dropout_prob = 0,
                                        .hidden_dropout_prob = 0,
                                        .attention_probs_dropout_prob = 0,
                                        .max_position_embeddings = 8,
                                        .positions = positions});
  const Tensor there = tensor({0, 4, 2, 3, 1, 5});  // exchanges the words 1 and 4
  const Tensor ids = tensor({{3, 7, 11, 5, 13, 2}});
  const Tensor straight = encoder(ids), exchanged = encoder(index_select(ids, 1, there));
  return amax(abs(index_select(exchanged, 1, there) - straight)).item();
}

}  // namespace tapegrad::tasks::tutorial
