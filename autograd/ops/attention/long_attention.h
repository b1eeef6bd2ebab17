// Operations for attention with less than quadratic cost, which nn/attention/performer.h and nn/attention/reformer.h
// use.
#pragma once

#include <tapegrad/autograd/tensor.h>

#include <optional>

namespace tapegrad {

/// Logarithms of factors: the pair of position s and a position t >= s is multiplied by exp(earlier[s] - later[t]).
/// Both are [..., T] of the operands' type, or none. They are constants: Error if they need a gradient. Nothing
/// overflows if `later` does not decrease along T and earlier[s] <= later[s].
struct CausalLevels {
  Tensor earlier = {}, later = {};  ///< exponents: a term of s in row t is multiplied by exp(earlier[s] - later[t])
};
/// y[t] = sum over s <= t of (a[t] . b[s]) c[s]: a and b [..., T, M], c [..., T, E] -> [..., T, E]; with `reverse`,
/// over s >= t. All float32 or all float64; leading axes broadcast. Blocks of rows run one after another with a running
/// sum of b[s] c[s]^T, so neither forward nor backward allocates T x T elements, or more per row than a, b and c have.
/// y[t] is bit-identical for any finite values at positions that it does not sum. Katharopoulos et al. 2020.
Tensor causal_product(const Tensor& a, const Tensor& b, const Tensor& c, bool reverse = false,
                      const CausalLevels& levels = {});

struct LshAttentionOptions {
  int64_t chunk_length = 64;         ///< tokens per chunk
  bool causal = false;               ///< query t attends to the keys 0 .. t
  bool within_buckets = false;       ///< every bucket is divided into chunks separately
  Tensor mask = {};                  ///< bool, of the keys: broadcasts to [..., 1, T]; true: may be attended to
  std::optional<double> scale = {};  ///< of the scores; 1 / sqrt(D) if left out
};
/// Attention between tokens with similar hashes: query and key [..., T, D], value [..., T, E], int64 buckets
/// [R, ..., T] -> [..., T, E]. In each of R rounds the tokens are sorted by bucket (stable; masked ones last) and
/// divided into chunks; a token attends to its own chunk and to the previous one. The result is softmax attention over
/// all keys found in any round; each key counts once. A token attends to itself only if it finds no other key; if it
/// may not attend to itself either, the result is zero. The sorted order has no gradient. Chunks that cross buckets
/// depend on the hashes of all tokens. Chunks within_buckets (a bucket's first one has no previous one) depend only on
/// earlier tokens: causal results depend on the number of later tokens by rounding alone, on their values not at all.
/// Neither forward nor backward allocates T x T elements, unless backward is itself recorded. Kitaev, Kaiser, Levskaya
/// 2020.
Tensor lsh_attention(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& buckets,
                     const LshAttentionOptions& options = {});

}  // namespace tapegrad
