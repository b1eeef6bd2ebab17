// Tutorial 003, sections 8.3 and 8.4, as a program: embeddings with positions, masks, one encoder layer, one decoder
// layer, and the whole Transformer, with every shape; and the learning rate of Noam.
#include <tapegrad/tapegrad.h>

#include <iomanip>
#include <iostream>
#include <string>

#include "transformer_classes.h"

namespace tg = tapegrad;
namespace nn = tapegrad::nn;

namespace {

void print(const std::string& name, const tg::Tensor& x) {
  std::cout << "  " << name << std::string(30 - name.size(), ' ') << tg::str(x.shape()) << "\n";
}

// 8.4.4: small sizes, and no dropout, so that all lines below give the same numbers.
nn::TransformerConfig small_config() {
  // [config]
  nn::TransformerConfig config{.vocab_size = 20,
                               .hidden_size = 16,
                               .num_hidden_layers = 2,
                               .num_attention_heads = 4,
                               .intermediate_size = 32,
                               .dropout_prob = 0,
                               .hidden_dropout_prob = 0,
                               .attention_probs_dropout_prob = 0,
                               .max_position_embeddings = 8};
  // [/config]
  return config;
}

void positions() {
  std::cout << "8.3.1: positions\n";
  const tg::Tensor words = tg::randn({3, 4});
  // [index]
  const tg::Tensor index = tg::arange(3).to(tg::kFloat32).unsqueeze(1);  // [3, 1]: 0, 1, 2
  const tg::Tensor with_index = words + index;                           // the same number in every feature
  const nn::LayerNormStd norm(4);
  const tg::Tensor before = norm(words), after = norm(with_index);
  // [/index]
  print("words with their index", with_index);
  std::cout << "  layer normalisation removes the index: " << std::boolalpha << tg::allclose(before, after, 1e-4, 1e-5)
            << "\n";
  // [learned]
  const nn::Embedding table(8, 4);  // one trained vector per position, 8 at most
  const tg::Tensor with_learned = words + table(tg::arange(3));
  // [/learned]
  print("words with learned positions", with_learned);
  // [sinusoidal]
  const tg::Tensor waves = nn::sinusoidal_table(50, 4);  // sin, cos, sin, cos; any length
  const tg::Tensor with_waves = words + tg::narrow(waves, 0, 0, 3);
  // [/sinusoidal]
  print("words with sines and cosines", with_waves);
}

void parts(const nn::TransformerConfig& config, const tg::Tensor& ids) {
  std::cout << "8.4.1, 8.4.2: the parts of an encoder layer\n";
  // [embeddings]
  const nn::Embeddings embeddings(config);
  const tg::Tensor x = embeddings(ids);  // [B, S] -> [B, S, C]: normalised token + position
  // [/embeddings]
  print("ids", ids);
  print("embeddings", x);
  // [mask]
  const tg::Tensor mask = nn::padding_mask(ids);  // [B, 1, 1, S]: true where there is a word
  // [/mask]
  print("padding mask", mask);
  // [norm]
  const nn::LayerNormStd norm(config.hidden_size, config.layer_norm_eps);
  const tg::Tensor normal = norm(x);
  // [/norm]
  // [attention]
  const nn::MultiHeadAttention attention(config.hidden_size, config.num_attention_heads);
  tg::Tensor weights;
  const tg::Tensor attended = attention(normal, normal, normal, {.mask = mask, .weights = &weights});
  // [/attention]
  print("weights by head", weights);
  print("attended", attended);
  // [feed_forward]
  const nn::FeedForward feed_forward(config.hidden_size, config.intermediate_size);
  const tg::Tensor wide = tg::relu(feed_forward.w_1(attended));  // C -> 2 C here, 4 C in the paper
  const tg::Tensor fed = feed_forward.w_2(wide);
  // [/feed_forward]
  print("inside of feed-forward", wide);
  print("feed-forward", fed);
}

void layers(const nn::TransformerConfig& config, const tg::Tensor& src, const tg::Tensor& tgt) {
  std::cout << "8.4.1, 8.4.3: one encoder layer and one decoder layer\n";
  const nn::Embeddings of_source(config), of_target(config, /*causal=*/true);
  // [encoder_layer]
  const nn::TransformerEncoderLayer encoder_layer(config);
  const tg::Tensor memory = encoder_layer(of_source(src), {.mask = nn::padding_mask(src)});
  // [/encoder_layer]
  print("memory", memory);
  // [decoder_layer]
  const nn::TransformerDecoderLayer decoder_layer(config);
  tg::Tensor self, cross;
  const tg::Tensor hidden =
      decoder_layer(of_target(tgt), memory, {.mask = nn::causal_mask(tgt.size(1)), .weights = &self},
                    {.mask = nn::padding_mask(src), .weights = &cross});
  // [/decoder_layer]
  print("self-attention's weights", self);
  print("cross-attention's weights", cross);
  print("hidden", hidden);
}

void whole(const nn::TransformerConfig& config, const tg::Tensor& src, const tg::Tensor& tgt) {
  std::cout << "8.4.4: the whole Transformer\n";
  // [whole]
  const nn::Transformer model(config);
  const tg::Tensor src_mask = nn::padding_mask(src);                        // [B, 1, 1, S]
  const tg::Tensor tgt_mask = nn::causal_mask(tgt.size(1));                 // [T, T]
  const tg::Tensor memory = model.encode(src, src_mask);                    // [B, S, C]
  const tg::Tensor hidden = model.decode(memory, src_mask, tgt, tgt_mask);  // [B, T, C]
  const tg::Tensor log_probs = model.predict(hidden);                       // [B, T, V]
  // [/whole]
  print("encoder's output", memory);
  print("decoder's output", hidden);
  print("log-probabilities", log_probs);
  std::cout << "  the model in one call gives the same: "
            << tg::allclose(log_probs, model(src, tgt, src_mask, tgt_mask)) << "\n";
  std::cout << "  parameters: " << nn::count_parameters(model)
            << ", as the configuration says: " << (nn::count_parameters(model) == config.parameter_count()) << "\n";
  // [generate]
  tg::Tensor text = tg::zeros({src.size(0), 1}, tg::kInt64);  // the start token 0
  while (text.size(1) < 5) {
    const tg::Tensor next = model.predict(model.decode(memory, src_mask, text, nn::causal_mask(text.size(1))));
    text = tg::cat({text, tg::argmax(next.select(1, -1), -1, true)}, 1);  // greedy: the most likely token
  }
  // [/generate]
  print("generated ids", text);
}

void noam(const nn::TransformerConfig& config, const tg::Tensor& src, const tg::Tensor& tgt) {
  std::cout << "8.4: the learning rate of Noam\n" << std::fixed << std::setprecision(4);
  // [noam]
  nn::Transformer model(config);
  tg::optim::NoamOpt optimizer(nn::parameters(model), {.hidden_size = 16, .factor = 1, .warmup = 3});
  for (int step = 1; step <= 5; ++step) {
    tg::Tape tape;
    const tg::Tensor log_probs = model(src, tgt, nn::padding_mask(src), nn::causal_mask(tgt.size(1)));
    optimizer.step(tape.backward(nn::sequence_loss(log_probs, tgt)));  // the rate of this step, then Adam
    std::cout << "  step " << step << ": rate " << optimizer.rate() << "\n";
  }
  // [/noam]
}

void classes(const nn::TransformerConfig& config, const tg::Tensor& src, const tg::Tensor& tgt) {
  // [classes]
  const tg::Tensor src_mask = nn::padding_mask(src), tgt_mask = nn::causal_mask(tgt.size(1));
  tg::manual_seed(1);
  const nn::Transformer model(config);
  tg::manual_seed(1);
  const tg::tasks::tutorial003::Transformer written(config);  // the tutorial's classes, written out
  const tg::Tensor ours = model(src, tgt, src_mask, tgt_mask), theirs = written(src, tgt, src_mask, tgt_mask);
  std::cout << "the tutorial's classes give the same log-probabilities: " << tg::allclose(ours, theirs, 1e-4, 1e-5)
            << "\n";
  // [/classes]
}

}  // namespace

int main() {
  tg::manual_seed(0);
  const nn::TransformerConfig config = small_config();
  const tg::Tensor src = tg::tensor({{7, 4, 9, 0, 0}, {3, 8, 2, 6, 5}});  // 0: padding
  const tg::Tensor tgt = tg::tensor({{0, 7, 4, 9}, {0, 3, 8, 2}});        // 0: start
  positions();
  parts(config, src);
  layers(config, src, tgt);
  whole(config, src, tgt);
  noam(config, src, tgt);
  classes(config, src, tgt);
}
