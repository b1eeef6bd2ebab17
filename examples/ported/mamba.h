// Mamba as in johnma2006/mamba-minimal (Apache License 2.0, github.com/johnma2006/mamba-minimal), with the names of its
// parameters, so that its weights, which are those of state-spaces/mamba without the prefix "backbone.", load.
//
// A selective state space model: a linear recurrence whose coefficients depend on the input. Gu, Dao 2023.
#pragma once

#include <tapegrad/tapegrad.h>

namespace ported {

namespace nn = tapegrad::nn;
using tapegrad::Tensor;

/// The arguments of ModelArgs in Python, with the same names and defaults.
struct MambaOptions {
  int64_t d_model, n_layer, vocab_size, d_state = 16, expand = 2, dt_rank = (d_model + 15) / 16, d_conv = 4;
  int64_t pad_vocab_size_multiple = 8;
  bool conv_bias = true, bias = false;
  int64_t padded_vocab_size() const {
    return (vocab_size + pad_vocab_size_multiple - 1) / pad_vocab_size_multiple * pad_vocab_size_multiple;
  }
};

struct MambaBlock {
  MambaOptions options;
  int64_t d_inner = options.expand * options.d_model;
  nn::Linear in_proj{options.d_model, 2 * d_inner, options.bias};
  nn::Conv1d conv1d{
      d_inner, d_inner, options.d_conv, {.padding = options.d_conv - 1, .groups = d_inner}, options.conv_bias};
  nn::Linear x_proj{d_inner, options.dt_rank + 2 * options.d_state, false}, dt_proj{options.dt_rank, d_inner};
  nn::Parameter A_log{
      log(tapegrad::arange(1, double(options.d_state + 1), 1, tapegrad::kFloat32)).expand({d_inner, options.d_state})};
  nn::Parameter D{tapegrad::ones({d_inner})};
  nn::Linear out_proj{d_inner, options.d_model, options.bias};

  Tensor operator()(const Tensor& x) const {  // [B, L, d_model] -> the same shape
    const auto parts = chunk(in_proj(x), 2, -1);
    const Tensor u = silu(conv1d(parts[0].t())(tapegrad::ellipsis, tapegrad::range(0, x.size(1)))).t();
    return out_proj(state_space(u) * silu(parts[1]));
  }
  Tensor state_space(const Tensor& u) const {  // [B, L, d_inner] -> the same shape
    const auto parts = split(x_proj(u), {options.dt_rank, options.d_state, options.d_state}, -1);
    return selective_scan(u, softplus(dt_proj(parts[0])), -exp(A_log), parts[1], parts[2], D);
  }
};

struct MambaResidual {
  MambaOptions options;
  MambaBlock mixer{options};
  nn::RMSNorm norm{options.d_model, 1e-5};
  Tensor operator()(const Tensor& x) const { return mixer(norm(x)) + x; }
};

/// ids [B, L] -> logits [B, L, padded_vocab_size]. The head is the table of embeddings.
struct Mamba {
  MambaOptions options;
  nn::Embedding embedding{options.padded_vocab_size(), options.d_model};
  nn::List<MambaResidual> layers = nn::repeat<MambaResidual>(options.n_layer, options);
  nn::RMSNorm norm_f{options.d_model, 1e-5};

  Tensor operator()(const Tensor& ids) const {
    Tensor x = embedding(ids);
    for (const MambaResidual& layer : layers) x = layer(x);
    return linear(norm_f(x), embedding.weight);
  }
  void visit(auto&& field) {
    field("embedding", embedding);
    field("layers", layers);
    field("norm_f", norm_f);
    field("lm_head", embedding);
  }
};

}  // namespace ported
