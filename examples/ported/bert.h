// The BERT encoder of Hugging Face's transformers with its head for masked words, BertForMaskedLM (Apache License 2.0,
// github.com/huggingface/transformers, version 5.24), with the names of its parameters, so that its weights load.
//
// Devlin et al. 2018.
#pragma once

#include <tapegrad/tapegrad.h>

namespace ported {

namespace nn = tapegrad::nn;
using tapegrad::Tensor;

/// The members of BertConfig that shape the encoder, with the same names and defaults.
struct BertOptions {
  int64_t vocab_size = 30522, hidden_size = 768, num_hidden_layers = 12, num_attention_heads = 12;
  int64_t intermediate_size = 3072, max_position_embeddings = 512, type_vocab_size = 2, pad_token_id = 0;
  double hidden_dropout_prob = 0.1, attention_probs_dropout_prob = 0.1, layer_norm_eps = 1e-12;
};

struct BertEmbeddings {
  BertOptions o;
  nn::Embedding word_embeddings{o.vocab_size, o.hidden_size, o.pad_token_id};
  nn::Embedding position_embeddings{o.max_position_embeddings, o.hidden_size};
  nn::Embedding token_type_embeddings{o.type_vocab_size, o.hidden_size};
  nn::LayerNorm LayerNorm{o.hidden_size, o.layer_norm_eps};
  nn::Dropout dropout{o.hidden_dropout_prob};
  Tensor operator()(const Tensor& ids, const Tensor& types) const {
    const Tensor kinds = token_type_embeddings(types.defined() ? types : zeros_like(ids));
    return dropout(LayerNorm(word_embeddings(ids) + kinds + position_embeddings(tapegrad::arange(ids.size(1)))));
  }
};

struct BertSelfAttention {
  BertOptions o;
  nn::Linear query{o.hidden_size, o.hidden_size}, key{o.hidden_size, o.hidden_size};
  nn::Linear value{o.hidden_size, o.hidden_size};
  nn::Mode training = true;
  Tensor operator()(const Tensor& x, const Tensor& mask) const {
    const auto heads = [&](const Tensor& y) { return unflatten(y, -1, {o.num_attention_heads, -1}).transpose(1, 2); };
    return scaled_dot_product_attention(heads(query(x)), heads(key(x)), heads(value(x)),
                                        {.mask = mask, .dropout = o.attention_probs_dropout_prob, .training = training})
        .transpose(1, 2)
        .flatten(2);
  }
};

struct BertOutput {  // what follows attention and feed-forward layer
  BertOptions o;
  int64_t in = o.hidden_size;
  nn::Linear dense{in, o.hidden_size};
  nn::LayerNorm LayerNorm{o.hidden_size, o.layer_norm_eps};
  nn::Dropout dropout{o.hidden_dropout_prob};
  Tensor operator()(const Tensor& y, const Tensor& x) const { return LayerNorm(dropout(dense(y)) + x); }
};

struct BertAttention {
  BertOptions o;
  BertSelfAttention self{o};
  BertOutput output{o};
  Tensor operator()(const Tensor& x, const Tensor& mask) const { return output(self(x, mask), x); }
};

struct BertIntermediate {
  BertOptions o;
  nn::Linear dense{o.hidden_size, o.intermediate_size};
  Tensor operator()(const Tensor& x) const { return gelu(dense(x)); }
};

struct BertLayer {
  BertOptions o;
  BertAttention attention{o};
  BertIntermediate intermediate{o};
  BertOutput output{o, o.intermediate_size};
  Tensor operator()(const Tensor& x, const Tensor& mask) const {
    const Tensor y = attention(x, mask);
    return output(intermediate(y), y);
  }
};

struct BertEncoder {
  BertOptions o;
  nn::List<BertLayer> layer = nn::repeat<BertLayer>(o.num_hidden_layers, o);
};

/// ids [B, T], types [B, T] or none, mask bool [B, T] or none (true: a word) -> [B, T, hidden_size].
struct Bert {
  BertOptions o;
  BertEmbeddings embeddings{o};
  BertEncoder encoder{o};
  Tensor operator()(const Tensor& ids, const Tensor& types = {}, const Tensor& mask = {}) const {
    Tensor x = embeddings(ids, types);
    const Tensor keys = mask.defined() ? mask(tapegrad::all, tapegrad::newaxis, tapegrad::newaxis) : Tensor();
    for (const BertLayer& layer : encoder.layer) x = layer(x, keys);
    return x;
  }
};

struct BertTransform {
  BertOptions o;
  nn::Linear dense{o.hidden_size, o.hidden_size};
  nn::LayerNorm LayerNorm{o.hidden_size, o.layer_norm_eps};
  Tensor operator()(const Tensor& x) const { return LayerNorm(gelu(dense(x))); }
};

/// The same -> logits [B, T, vocab_size]. The decoder's weight is the table of words.
struct BertForMaskedLM {
  BertOptions o;
  Bert bert{o};
  BertTransform transform{o};
  nn::Parameter bias{tapegrad::zeros({o.vocab_size})};
  Tensor operator()(const Tensor& ids, const Tensor& types = {}, const Tensor& mask = {}) const {
    return linear(transform(bert(ids, types, mask)), bert.embeddings.word_embeddings.weight, bias);
  }
  void visit(auto&& field) {
    field("bert", bert);
    field("cls.predictions.bias", bias);
    field("cls.predictions.transform", transform);
    field("cls.predictions.decoder", bert.embeddings.word_embeddings);
    field("cls.predictions.decoder.bias", bias);
  }
};

}  // namespace ported
