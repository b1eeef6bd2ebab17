// A language model whose head has the weights of its embedding.
#pragma once

#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/random.h>
#include <tapegrad/nn/embedding.h>
#include <tapegrad/nn/linear.h>

namespace tapegrad::tests {

struct Language {
  nn::Embedding table{5, 3};
  nn::Linear middle{3, 3}, head{3, 5};
  Tensor operator()(const Tensor& ids) const { return head(tanh(middle(table(ids)))); }
};

inline Language tied_language() {
  manual_seed(4);
  Language model;
  nn::tie(model.table.weight, model.head.weight);
  return model;
}

}  // namespace tapegrad::tests
