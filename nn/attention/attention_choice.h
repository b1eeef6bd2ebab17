// The forms of attention that a model can choose: full attention, and those for long inputs.
#pragma once

#include <tapegrad/autograd/tensor.h>
#include <tapegrad/nn/positions.h>

#include <cstdint>
#include <string_view>

namespace tapegrad::nn {

/// Which keys queries attend to (tutorial 003, section 8.2.3).
///   full       every query attends to every key
///   window     keys near the query, and global tokens. Beltagy, Peters, Cohan 2020, Longformer
///   linformer  a fixed number of learned projections of all keys; never causal. Wang et al. 2020
///   performer  all keys, estimated with random features. Choromanski et al. 2020
///   reformer   keys with similar hashes. Kitaev, Kaiser, Levskaya 2020
enum class AttentionKind { full, window, linformer, performer, reformer };

inline constexpr std::string_view kAttentionNames[] = {"full", "window", "linformer", "performer", "reformer"};
std::string_view name(AttentionKind kind);
/// Error for an unknown name; it lists the known ones.
AttentionKind attention_named(std::string_view name);

/// The attention of a model, with the sizes of each form; each form reads its own members only.
struct AttentionChoice {
  AttentionKind kind = AttentionKind::full;
  int64_t window = 256;               ///< window: keys on each side of a query
  int64_t dilation = 1;               ///< window: distance between two of these keys
  int64_t global_tokens = 0;          ///< window: the first tokens attend to all, and all attend to them
  int64_t linformer_rank = 256;       ///< linformer: number of projected keys
  bool linformer_per_head = false;    ///< linformer: separate projections for each head
  int64_t performer_features = 0;     ///< performer: number of random features; 0: D log D for heads of size D
  int64_t reformer_bucket_size = 64;  ///< reformer: tokens per chunk
  int64_t reformer_buckets = 0;       ///< reformer: a power of two; 0: chosen by the length
  int64_t reformer_rounds = 2;        ///< reformer: rounds of hashing
  int64_t length = 0;                 ///< linformer, causal reformer: the longest input; 0: that of the model

  /// Error that names the first invalid member.
  void check() const;
  /// The same, and Error for what this form does not support. Only full attention supports positions that need the
  /// scores of all pairs; only full and window attention, fewer key heads than query heads; Linformer cannot be causal.
  void check(Positions positions, bool causal, bool grouped = false) const;
  /// Whether the form is a separate module (LongSelfAttention).
  bool is_module() const { return kind != AttentionKind::full && kind != AttentionKind::window; }
};

/// The keys that each query attends to in sliding_window_attention: bool [T, S], for the last T of S positions. For
/// pictures and comparisons; attention itself does not use this mask.
Tensor window_mask(int64_t queries, int64_t keys, const AttentionChoice& choice, bool causal);

}  // namespace tapegrad::nn
