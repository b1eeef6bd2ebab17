// Samples of models and of their parts.
#include <tapegrad/checks/cases/case.h>
#include <tapegrad/checks/modules/module_table.h>
#include <tapegrad/tapegrad.h>

namespace tapegrad::tasks {
namespace {

using X = std::span<const Tensor>;

void add_transformer(ModuleTable& table) {
  const nn::TransformerConfig config{.vocab_size = 5,
                                     .hidden_size = 4,
                                     .num_hidden_layers = 1,
                                     .num_attention_heads = 2,
                                     .intermediate_size = 3,
                                     .dropout_prob = 0.1,
                                     .hidden_dropout_prob = 0.1,
                                     .attention_probs_dropout_prob = 0.1,
                                     .max_position_embeddings = 4,
                                     .pad_token_id = 2};  // whose row gets no gradient: it does not occur
  const Tensor source = tensor({{1, 4, 0}}), target = tensor({{1, 3}});
  table.add("Embeddings", "ids [2, 3]", {tensor({{1, 4, 0}, {3, 1, 1}})}, [=] { return nn::Embeddings(config); });
  table.add(
      "TransformerEncoderLayer", "[1, 3, 4]", {spread({1, 3, 4})}, [=] { return nn::TransformerEncoderLayer(config); },
      [=](auto& module, X x) { return module(x[0], {.mask = nn::padding_mask(source)}); });
  table.add(
      "TransformerEncoder", "ids [1, 3]", {source}, [=] { return nn::TransformerEncoder(config); },
      [](auto& module, X x) { return module(x[0], nn::padding_mask(x[0])); });
  table.add(
      "TransformerDecoderLayer", "[1, 2, 4]", {spread({1, 2, 4}), spread({1, 3, 4}, -1, 1)},
      [=] { return nn::TransformerDecoderLayer(config); },
      [=](auto& module, X x) {
        return module(x[0], x[1], {.mask = nn::causal_mask(2)}, {.mask = nn::padding_mask(source)});
      });
  table.add(
      "TransformerDecoder", "ids [1, 2]", {target, spread({1, 3, 4})}, [=] { return nn::TransformerDecoder(config); },
      [=](auto& module, X x) { return module(x[0], x[1], nn::padding_mask(source), nn::causal_mask(2)); });
  table.add(
      "Transformer", "ids [1, 3] and [1, 2]", {source, target}, [=] { return nn::Transformer(config); },
      [](auto& module, X x) { return module(x[0], x[1], nn::padding_mask(x[0]), nn::causal_mask(2)); });
  nn::TransformerConfig post = config;
  post.post_norm = true;
  post.layer_norm_eps = 0.1;  // smaller fourth derivatives, for the finite differences
  post.activation = nn::Activation::gelu;
  table.add(
      "Transformer", "Post-LN with gelu", {source, target}, [=] { return nn::Transformer(post); },
      [](auto& module, X x) { return module(x[0], x[1], nn::padding_mask(x[0]), nn::causal_mask(2)); });
}

// PyTorch's, whose masks are true where a position is hidden.
void add_torch_transformer(ModuleTable& table) {
  const nn::torch::TransformerLayerOptions small{
      .dim_feedforward = 3, .dropout = 0.2, .activation = nn::Activation::gelu, .layer_norm_eps = 0.1};
  nn::torch::TransformerLayerOptions first = small;
  first.batch_first = first.norm_first = true;
  const Tensor later = triu(ones({3, 3}), 1) > 0.0;
  table.add(
      "torch::TransformerEncoderLayer", "norm after, causal", {spread({3, 1, 4})},
      [=] { return nn::torch::TransformerEncoderLayer(4, 2, small); },
      [=](auto& module, X x) { return module(x[0], later); });
  table.add(
      "torch::TransformerEncoderLayer", "norm first, batch first, padding", {spread({1, 3, 4})},
      [=] { return nn::torch::TransformerEncoderLayer(4, 2, first); },
      [](auto& module, X x) {
        return module(x[0], {}, tensor({{0, 0, 1}}) > 0.0);
      });
  table.add(
      "torch::TransformerDecoderLayer", "norm first, batch first", {spread({1, 3, 4}), spread({1, 2, 4}, -1, 1)},
      [=] { return nn::torch::TransformerDecoderLayer(4, 2, first); },
      [=](auto& module, X x) { return module(x[0], x[1], {.tgt_mask = later}); });
  table.add(
      "torch::Transformer", "[2, 1, 4] and [3, 1, 4]", {spread({2, 1, 4}), spread({3, 1, 4}, -1, 1)},
      [=] { return nn::torch::Transformer(4, 2, 1, 1, small); },
      [=](auto& module, X x) { return module(x[0], x[1], {.decoder = {.tgt_mask = later}}); });
}

void add_gpt(ModuleTable& table) {
  const nn::GPTConfig config{.vocab_size = 5,
                             .context_length = 4,
                             .emb_dim = 4,
                             .n_heads = 2,
                             .n_layers = 1,
                             .drop_rate = 0.1,
                             .qkv_bias = true};
  const Tensor ids = tensor({{1, 4, 0}, {3, 1, 2}});
  table.add("GPTFeedForward", "[2, 4]", {spread({2, 4})}, [] { return nn::GPTFeedForward(4); });
  table.add("GPTBlock", "[1, 3, 4]", {spread({1, 3, 4})}, [=] { return nn::GPTBlock(config); });
  table.add("LanguageHead", "[2, 4]", {spread({2, 4})}, [=] { return nn::LanguageHead(5, 4, false); });
  table.add("GPTModel", "ids [2, 3]", {ids}, [=] { return nn::GPTModel(config); });
  nn::GPTConfig tied = config;
  tied.tied_head = true;
  table.add("GPTModel", "tied", {ids}, [=] { return nn::GPTModel(tied); });
}

void add_llama(ModuleTable& table) {
  const nn::LlamaConfig config{.vocab_size = 5,
                               .hidden_size = 4,
                               .intermediate_size = 3,
                               .num_hidden_layers = 1,
                               .num_attention_heads = 2,
                               .num_key_value_heads = 1,
                               .max_position_embeddings = 4,
                               .rms_norm_eps = 0.1,  // smaller fourth derivatives, for the finite differences
                               .attention_dropout = 0.1,
                               .attention_bias = true,
                               .mlp_bias = true,
                               .initializer_range = 0.5};
  const Tensor ids = tensor({{1, 4, 0}, {3, 1, 2}});
  table.add("LlamaMLP", "[2, 4]", {spread({2, 4})}, [=] { return nn::LlamaMLP(config); });
  table.add("LlamaAttention", "[1, 3, 4]", {spread({1, 3, 4})}, [=] { return nn::LlamaAttention(config); });
  table.add("LlamaBlock", "[1, 3, 4]", {spread({1, 3, 4})}, [=] { return nn::LlamaBlock(config); });
  table.add("LlamaModel", "ids [2, 3]", {ids}, [=] { return nn::LlamaModel(config); });
  nn::LlamaConfig tied = config;
  tied.tie_word_embeddings = true;
  tied.rope_scaling = {.kind = nn::RopeScaling::Kind::llama3, .factor = 8, .trained_length = 20};
  table.add("LlamaModel", "tied, scaled RoPE", {ids}, [=] { return nn::LlamaModel(tied); });
}

}  // namespace

void add_model_samples(ModuleTable& table) {
  add_transformer(table);
  add_torch_transformer(table);
  add_gpt(table);
  add_llama(table);
}

}  // namespace tapegrad::tasks
