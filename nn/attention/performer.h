// Attention estimated with positive random features. Choromanski et al. 2020, Performer (FAVOR+).
#pragma once

#include <tapegrad/nn/attention.h>

#include <optional>

namespace tapegrad::nn {

/// Directions of random features, [count, head_dim]: blocks of head_dim orthogonal vectors (the factor Q of a normal
/// matrix), each with the length of an independent normal vector. Without a generator, from the default one.
Tensor orthogonal_features(int64_t count, int64_t head_dim, DType dtype = kFloat32, Generator* generator = nullptr);

struct PerformerOptions {
  Tensor mask = {};     ///< bool [..., 1, S], of the keys; true: may be attended to
  bool causal = false;  ///< the last of T queries attends to all S keys, the previous one to all but one, ...
  std::optional<double> scale = {};  ///< of the scores; 1 / sqrt(D) if left out
};
/// An estimate of softmax(q k^T scale) v with O(T M) time and memory, forward and backward: with phi(x) = exp(w x -
/// |x|^2 / 2) for the M rows w of `features` [M, D], the mean of phi(q) . phi(k) is exp(q . k). query [..., T, D], key
/// [..., S, D], value [..., S, E] -> [..., T, E]; leading axes broadcast. The error decreases as M^-1/2. If causal,
/// prefix sums run in blocks (causal_product), and results do not depend on later keys. Exponents are relative to the
/// largest one (if causal, of the keys so far), which cancels, so nothing overflows. Zeros where a query has no key,
/// and where no feature is large for both the query and one of its keys: a sum of products below 1e-19 (float64:
/// 1e-154).
Tensor performer_attention(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& features,
                           const PerformerOptions& options = {});

/// Performer as a form of attention.
struct PerformerAttention {
  int64_t features = 0;  ///< M, number of random features; 0: D log D for heads of size D, rounded up
  int64_t redraw = 0;    ///< steps of training after which features are sampled again; 0: never

  /// As FormOptions requires.
  AttentionTraits traits() const;
  void list(Fields& f);
  std::unique_ptr<AttentionForm> make(const AttentionSizes& sizes) const;
};

/// Sizes of PerformerSelfAttention.
struct PerformerConfig {
  int64_t d_in = 768;          ///< width of the input
  int64_t d_out = 768;         ///< width of queries, keys, values and the output; a multiple of num_heads
  int64_t num_heads = 12;      ///< each head has D = d_out / num_heads elements
  int64_t context_length = 0;  ///< the longest input; 0: any length
  int64_t num_features = 0;    ///< M; 0: D log D, as in the paper, rounded up
  bool qkv_bias = false;       ///< of the projections of query, key and value
  bool causal = true;          ///< position t attends to 0 .. t

  /// Error that names the first invalid member.
  void check() const;
};

/// Self-attention with random features, which all heads share and which are saved with the model: in addition to the
/// parameters of MultiHeadSelfAttention, it has the buffer "features" [M, D]. redraw() samples new ones. The pass may
/// have a bool mask of keys, rope, and a cache; its weights receive the estimated ones. Error for positions that add a
/// bias.
struct PerformerSelfAttention : MultiHeadAttention {
  explicit PerformerSelfAttention(const PerformerConfig& config);
  /// Empty: its members do not say what C++ makes it.
  std::string describe() const { return {}; }
};

}  // namespace tapegrad::nn
