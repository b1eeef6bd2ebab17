// The optional inputs and outputs of all attention modules.
#pragma once

#include <tapegrad/autograd/named_tensor.h>
#include <tapegrad/nn/kv_cache.h>
#include <tapegrad/nn/relative_positions.h>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace tapegrad::nn {

/// The vectors whose products are the scores (rotated for RoPE), detached: queries [B, heads, T, D], keys
/// [B, kv_heads, S, D].
struct AttentionVectors {
  Tensor queries, keys;  ///< without gradients
};

/// Optional arguments of an attention module. Every member may be left out.
struct AttentionPass {
  Tensor mask = {};  ///< broadcasts to [B, heads, T, S]; bool: true may be attended to; floating: added to scores
  KVCache* cache = nullptr;                 ///< the inputs continue those in the cache (generation)
  std::size_t layer = 0;                    ///< the module's index in its stack, and so in the cache
  const PositionBias* positions = nullptr;  ///< of the stack's RelativePositions
  Tensor* weights = nullptr;            ///< receives the attention weights [B, heads, T, S] before dropout, detached
  AttentionVectors* vectors = nullptr;  ///< receives queries and keys
  /// Receives true for the keys that no mask hides: bool, broadcasts to [B, heads, T, S]; an empty handle if no key is
  /// hidden. It distinguishes a weight that is 0 by rounding from the weight of a masked key.
  Tensor* seen = nullptr;
  /// Independent sequences (generation): row b of x [B, 1, C] is attended to with each[b] alone, which takes the place
  /// of the other members. Projections read their weights once for all rows. Empty: one pass.
  std::vector<AttentionPass> each = {};
};

/// The attention weights of a forward pass by name: "encoder.layers.0.attention" -> [B, heads, T, S].
struct AttentionMaps : NamedTensors {
  std::vector<AttentionVectors> vectors;  ///< of each map
  std::vector<Tensor> seen;               ///< of each map: AttentionPass::seen
  /// Appends a map [B, heads, T, S], the vectors that it was computed from, and what was not masked.
  void add(std::string name, Tensor weights = {}, AttentionVectors of = {}, Tensor not_masked = {}) {
    push_back({std::move(name), std::move(weights)});
    vectors.push_back(std::move(of));
    seen.push_back(std::move(not_masked));
  }
  /// Makes a pass write into map `index`, which must exist. Run the pass before another map is added.
  void receive(std::size_t index, AttentionPass& pass) {
    pass.weights = &(*this)[index].tensor;
    pass.vectors = &vectors[index];
    pass.seen = &seen[index];
  }
};

}  // namespace tapegrad::nn
