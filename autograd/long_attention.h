// Attention that costs less than the square of the length: what nn/performer.h and nn/reformer.h are made of.
#pragma once

#include <tapegrad/autograd/tensor.h>

#include <optional>

namespace tapegrad {

/// Logarithms of factors: the pair of position s and a later or equal position t is multiplied by
/// exp(earlier[s] - later[t]). Both are [..., T] of the operands' type, or none; constants without a gradient. Nothing
/// overflows if `later` does not fall along T and earlier[s] <= later[s].
struct CausalLevels {
  Tensor earlier = {}, later = {};
};
/// y[t] = sum over s <= t of (a[t] . b[s]) c[s]: a and b [..., T, M], c [..., T, E] -> [..., T, E]; with `reverse`,
/// over s >= t. float32 or float64 of one type; leading axes broadcast. Blocks of rows follow each other with a running
/// sum of b[s] c[s]^T, so nothing of size T x T and nothing per row but a, b and c is in memory, in backward, too.
/// y[t] is the same bits whatever the finite values that it does not sum. Katharopoulos et al. 2020.
Tensor causal_product(const Tensor& a, const Tensor& b, const Tensor& c, bool reverse = false,
                      const CausalLevels& levels = {});

struct LshAttentionOptions {
  int64_t chunk_length = 64;         ///< tokens that attend together
  bool causal = false;               ///< query t attends to the keys 0 .. t
  bool within_buckets = false;       ///< every bucket has chunks of its own, cut from its first token on
  Tensor mask = {};                  ///< bool, of the keys: broadcasts to [..., 1, T]; true may be attended to
  std::optional<double> scale = {};  ///< of the scores; 1 / sqrt(D) if left out
};
/// Attention to the tokens that hash rounds put close: query and key [..., T, D], value [..., T, E], int64 buckets
/// [R, ..., T] -> [..., T, E]. In each of R rounds the tokens are sorted by bucket (stable; masked ones last) and cut
/// into chunks; a token attends to the tokens of its chunk and of the one before. The result is softmax attention over
/// all that a token attends to in any round; each key counts once. A token attends to itself only if to nothing else,
/// and is zero if it may not attend to itself either. The order of tokens is a constant. Chunks that cross buckets
/// depend on the hashes of all tokens; those within_buckets (a bucket's first chunk has none before) on earlier tokens
/// alone, so that what follows changes causal results by rounding at most. Without pairs in memory, in backward, too; a
/// backward that is itself recorded takes T x T. Kitaev, Kaiser, Levskaya 2020.
Tensor lsh_attention(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& buckets,
                     const LshAttentionOptions& options = {});

}  // namespace tapegrad
