// The feed-forward block and the residual connection around a block.
#include <fmt/format.h>
#include <tapegrad/nn/feed_forward.h>
#include <tapegrad/nn/init.h>

namespace tapegrad::nn {

FeedForward::FeedForward(int64_t hidden_size, int64_t intermediate_size, double dropout_prob, Activation activation)
    : w_1(hidden_size, intermediate_size),
      w_2(intermediate_size, hidden_size),
      dropout(dropout_prob),
      activation(activation) {
  init::xavier_uniform(w_1.weight);
  init::xavier_uniform(w_2.weight);
  init::zeros(w_1.bias);
  init::zeros(w_2.bias);
}

Tensor FeedForward::operator()(const Tensor& x) const { return w_2(dropout(activate(activation, w_1(x)))); }

std::string FeedForward::describe() const {
  return fmt::format("nn::FeedForward({}, {}, {:g}{})", w_1.weight.inputs(), w_1.weight.outputs(), dropout.p,
                     activation == Activation::relu ? "" : ", " + nn::describe(activation));
}

SublayerConnection::SublayerConnection(int64_t hidden_size, double dropout_prob, double layer_norm_eps, bool post_norm)
    : norm(hidden_size, layer_norm_eps), dropout(dropout_prob), post_norm(post_norm) {}

}  // namespace tapegrad::nn
