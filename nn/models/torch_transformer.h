// The Transformer layers of PyTorch's torch.nn: their parameters, their arithmetic and their random numbers.
//
// The namespace distinguishes them from the tutorials' nn::TransformerEncoderLayer, which has other names and another
// norm. In evaluation, too, padded positions are computed: PyTorch may leave them out (its nested tensors).
#pragma once

#include <tapegrad/nn/activation.h>
#include <tapegrad/nn/multihead_attention.h>
#include <tapegrad/nn/norm.h>

namespace tapegrad::nn::torch {

using nn::MultiheadAttention;

/// The options of PyTorch's layers.
struct TransformerLayerOptions {
  int64_t dim_feedforward = 2048;            ///< width between linear1 and linear2
  double dropout = 0.1;                      ///< of attention weights, in the feed-forward block and after each block
  Activation activation = Activation::relu;  ///< between linear1 and linear2
  double layer_norm_eps = 1e-5;              ///< of all norms
  bool batch_first = false;                  ///< tensors are [N, T, E], not [T, N, E]
  bool norm_first = false;                   ///< normalise before each block, not after each sum
  bool bias = true;                          ///< of linear layers and norms
};

/// PyTorch's nn.TransformerEncoderLayer: self-attention and a feed-forward block.
struct TransformerEncoderLayer {
  TransformerEncoderLayer(int64_t d_model, int64_t nhead, const TransformerLayerOptions& options = {});
  /// src [S, N, E] -> [S, N, E]; masks as in MultiheadPass, true is hidden: src_mask [S, S] and padding [N, S].
  Tensor operator()(const Tensor& src, const Tensor& src_mask = {}, const Tensor& src_key_padding_mask = {}) const;
  void visit(auto&& field) {
    field("self_attn", self_attn);
    field("linear1", linear1);
    field("dropout", dropout);
    field("linear2", linear2);
    field("norm1", norm1);
    field("norm2", norm2);
    field("dropout1", dropout1);
    field("dropout2", dropout2);
  }

  MultiheadAttention self_attn;         ///< of src to itself
  Linear linear1, linear2;              ///< E -> dim_feedforward -> E
  LayerNorm norm1, norm2;               ///< of the two blocks
  Dropout dropout, dropout1, dropout2;  ///< between the linear layers, and after each block
  Activation activation;                ///< TransformerLayerOptions::activation
  bool norm_first;                      ///< TransformerLayerOptions::norm_first
};

/// PyTorch's nn.TransformerEncoder: num_layers copies of a layer, which all start with its weights, and a norm.
struct TransformerEncoder {
  TransformerEncoder(const TransformerEncoderLayer& layer, int64_t num_layers, Optional<LayerNorm> norm = {});
  /// As TransformerEncoderLayer.
  Tensor operator()(const Tensor& src, const Tensor& mask = {}, const Tensor& src_key_padding_mask = {}) const;
  void visit(auto&& field) {
    field("layers", layers);
    field("norm", norm);
  }

  List<TransformerEncoderLayer> layers;  ///< num_layers of them
  Optional<LayerNorm> norm;              ///< after the last layer, if there is one
};

/// The masks of a decoder, as in MultiheadPass: true is hidden.
struct DecoderMasks {
  Tensor tgt_mask = {};                 ///< [T, T]
  Tensor memory_mask = {};              ///< [T, S]
  Tensor tgt_key_padding_mask = {};     ///< [N, T]
  Tensor memory_key_padding_mask = {};  ///< [N, S]
};

/// PyTorch's nn.TransformerDecoderLayer: self-attention, attention to the memory, and a feed-forward block.
struct TransformerDecoderLayer {
  TransformerDecoderLayer(int64_t d_model, int64_t nhead, const TransformerLayerOptions& options = {});
  /// tgt [T, N, E], memory [S, N, E] -> [T, N, E]
  Tensor operator()(const Tensor& tgt, const Tensor& memory, const DecoderMasks& masks = {}) const;
  void visit(auto&& field) {
    field("self_attn", self_attn);
    field("multihead_attn", multihead_attn);
    field("linear1", linear1);
    field("dropout", dropout);
    field("linear2", linear2);
    field("norm1", norm1);
    field("norm2", norm2);
    field("norm3", norm3);
    field("dropout1", dropout1);
    field("dropout2", dropout2);
    field("dropout3", dropout3);
  }

  MultiheadAttention self_attn, multihead_attn;   ///< of tgt to itself, and to the memory
  Linear linear1, linear2;                        ///< E -> dim_feedforward -> E
  LayerNorm norm1, norm2, norm3;                  ///< of the three blocks
  Dropout dropout, dropout1, dropout2, dropout3;  ///< between the linear layers, and after each block
  Activation activation;                          ///< TransformerLayerOptions::activation
  bool norm_first;                                ///< TransformerLayerOptions::norm_first
};

/// PyTorch's nn.TransformerDecoder: num_layers copies of a layer, which all start with its weights, and a norm.
struct TransformerDecoder {
  TransformerDecoder(const TransformerDecoderLayer& layer, int64_t num_layers, Optional<LayerNorm> norm = {});
  /// As TransformerDecoderLayer.
  Tensor operator()(const Tensor& tgt, const Tensor& memory, const DecoderMasks& masks = {}) const;
  void visit(auto&& field) {
    field("layers", layers);
    field("norm", norm);
  }

  List<TransformerDecoderLayer> layers;  ///< num_layers of them
  Optional<LayerNorm> norm;              ///< after the last layer, if there is one
};

/// The masks of a Transformer.
struct TransformerMasks {
  Tensor src_mask = {};              ///< [S, S]
  Tensor src_key_padding_mask = {};  ///< [N, S]
  DecoderMasks decoder = {};         ///< of the decoder
};

/// PyTorch's nn.Transformer: encoder and decoder, each with a norm at its end. All matrices start xavier-uniform.
struct Transformer {
  explicit Transformer(int64_t d_model = 512, int64_t nhead = 8, int64_t num_encoder_layers = 6,
                       int64_t num_decoder_layers = 6, const TransformerLayerOptions& options = {});
  /// src [S, N, E], tgt [T, N, E] -> [T, N, E]
  Tensor operator()(const Tensor& src, const Tensor& tgt, const TransformerMasks& masks = {}) const;
  void visit(auto&& field) {
    field("encoder", encoder);
    field("decoder", decoder);
  }

  TransformerEncoder encoder;  ///< reads src
  TransformerDecoder decoder;  ///< reads tgt and the encoder's result
};

}  // namespace tapegrad::nn::torch
