// Attention between tokens with similar hashes. Kitaev, Kaiser, Levskaya 2020, Reformer.
#pragma once

#include <tapegrad/autograd/long_attention.h>
#include <tapegrad/nn/attention.h>

namespace tapegrad::nn {

/// Hashes x [..., T, D] by random rotations, `rounds` times: int64 [rounds, ..., T] in [0, count). With `count` buckets
/// a rotation R is normal [D, count / 2], and the bucket is the argmax of [x R, -x R]; more than 32 buckets combine
/// several hashes with at most 32 each, so that the time is O(T log count). Error unless count is a power of
/// two. Rotations come from `generator`, or from the default one; one bucket needs none. No gradient.
Tensor lsh_buckets(const Tensor& x, int64_t count, int64_t rounds = 1, Generator* generator = nullptr);

/// lsh_attention with shared queries and keys: keys are query_key [..., T, D] / |query_key|. With one chunk, T <=
/// chunk_length, it is full attention, except that a token attends to itself only if there is no other token.
Tensor reformer_attention(const Tensor& query_key, const Tensor& value, const Tensor& buckets,
                          const LshAttentionOptions& options = {});

/// Reformer as a form of attention: queries and keys have one projection.
struct ReformerAttention {
  int64_t bucket_size = 64;  ///< tokens per chunk; each chunk also attends to the previous one
  int64_t buckets = 0;       ///< a power of two; 0: chosen by the length, if causal by the longest one
  int64_t rounds = 2;        ///< of hashing
  uint64_t seed = 0;         ///< of the rotations in evaluation

  /// As FormOptions requires.
  AttentionTraits traits() const;
  void list(Fields& f);
  void check() const;
  std::unique_ptr<AttentionForm> make(const AttentionSizes& sizes) const;
};

/// Sizes of ReformerSelfAttention.
struct ReformerConfig {
  int64_t d_in = 768;      ///< width of the input
  int64_t d_out = 768;     ///< width of shared queries and keys, of values and of the output; a multiple of num_heads
  int64_t num_heads = 12;  ///< each head has d_out / num_heads elements
  int64_t context_length = 0;  ///< the longest input; 0: any length
  int64_t chunk_length = 64;   ///< tokens per chunk; each chunk also attends to the previous one
  int64_t num_buckets = 0;     ///< a power of two; 0: buckets_for(T), or of context_length if set and causal
  int64_t rounds = 2;          ///< of hashing
  uint64_t seed = 0;           ///< of the rotations in evaluation
  bool qkv_bias = false;       ///< of both projections, and of the values'
  bool causal = true;          ///< position t attends to 0 .. t

  /// Error that names the first invalid member.
  void check() const;
};

/// Self-attention by hashing: O(T log T). In training each pass samples rotations from the default generator; in
/// evaluation they are those of config.seed, so that results are repeatable. With `causal`, chunks do not cross
/// buckets, so results don't depend on the values of later tokens, and on their number only by rounding. Otherwise an
/// input of one chunk is not hashed. The projection of queries and keys is "W_query_key". The pass may have a bool mask
/// of keys, rope, a cache (of shared queries and keys, all of which every pass hashes again), and weights. Error for
/// positions that add a bias, and for a cache if the number of buckets depends on the length: results would differ from
/// those without a cache.
struct ReformerSelfAttention : MultiHeadAttention {
  explicit ReformerSelfAttention(const ReformerConfig& config);
  /// Empty: its members do not say what C++ makes it.
  std::string describe() const { return {}; }
  /// The smallest power of two that is at least 2 T / chunk_length.
  static int64_t buckets_for(int64_t length, int64_t chunk_length);
};

}  // namespace tapegrad::nn
