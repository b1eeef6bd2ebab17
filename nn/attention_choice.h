// The forms of attention that a model can choose: full attention, and those for long inputs.
#pragma once

#include <tapegrad/autograd/tensor.h>
#include <tapegrad/nn/positions.h>

#include <cstdint>
#include <string_view>

namespace tapegrad::nn {

/// How queries find their keys (tutorial 003, section 8.2.3).
///   full    every query sees every key
///   window  keys near the query, and global tokens. Beltagy, Peters, Cohan 2020, Longformer
enum class AttentionKind { full, window };

inline constexpr std::string_view kAttentionNames[] = {"full", "window"};
std::string_view name(AttentionKind kind);
/// Error for an unknown name; it lists the known ones.
AttentionKind attention_named(std::string_view name);

/// The attention of a model, with the sizes of each form; each form reads its own members only.
struct AttentionChoice {
  AttentionKind kind = AttentionKind::full;
  int64_t window = 256;       ///< window: keys on each side of a query
  int64_t dilation = 1;       ///< window: distance between two of these keys
  int64_t global_tokens = 0;  ///< window: the first tokens of the input see all, and are seen by all

  /// Error that names the first invalid member.
  void check() const;
  /// The same, and Error for positions that need the scores of all pairs: only full attention has these.
  void check(Positions positions) const;
};

/// The keys that queries see in a window, as sliding_window_attention has them: bool [T, S], for the last T of S
/// positions. For pictures and comparisons; attention itself needs no such mask.
Tensor window_mask(int64_t queries, int64_t keys, const AttentionChoice& choice, bool causal);

}  // namespace tapegrad::nn
