// The module of a chosen form of attention that has its own projections.
#pragma once

#include <tapegrad/nn/attention_choice.h>
#include <tapegrad/nn/linformer.h>
#include <tapegrad/nn/module.h>
#include <tapegrad/nn/performer.h>
#include <tapegrad/nn/reformer.h>

#include <vector>

namespace tapegrad::nn {

/// Linformer, Performer or Reformer, or none if the choice is another form. Full and window attention are functions of
/// queries, keys and values; these are modules.
struct LongSelfAttention {
  struct Sizes {
    int64_t d_in, d_out, num_heads;
    double dropout;  ///< of Linformer; the others have none
    bool qkv_bias, causal;
  };
  LongSelfAttention() = default;  ///< none
  LongSelfAttention(const AttentionChoice& choice, const Sizes& sizes);
  bool defined() const { return linformer || performer || reformer; }

  Tensor operator()(const Tensor& x, const AttentionPass& pass = {}) const;  ///< [B, T, d_in] -> [B, T, d_out]
  void redraw();                                                             ///< Performer: draws new features
  void visit(auto&& field) {
    field("linformer", linformer);
    field("performer", performer);
    field("reformer", reformer);
  }

  Optional<LinformerSelfAttention> linformer;
  Optional<PerformerSelfAttention> performer;
  Optional<ReformerSelfAttention> reformer;
};

}  // namespace tapegrad::nn
