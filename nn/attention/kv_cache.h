// Keys and values of the tokens that a model has read, so that the next token costs one position only.
#pragma once

#include <tapegrad/autograd/tensor.h>

#include <vector>

namespace tapegrad::nn {

/// Keys and values of one attention, split into heads.
struct KeysAndValues {
  Tensor keys, values;  // [B, heads, S, head_dim]
};

/// The cache of one sequence, or of a batch of sequences of equal length. The first pass sets batch and dtype, and in
/// every layer heads and widths; an Error names what differs in a later pass, for example one of another model. Copies
/// are cheap and independent: they share memory until one of them is written to, so a generation can branch.
class KVCache {
 public:
  int64_t length() const { return length_; }  ///< tokens read
  int64_t batch() const;                      ///< sequences; 0 before the first pass
  /// Row i continues from row rows[i]; rows [B'] int64, where B' may differ from the batch. For beam search.
  void reorder(const Tensor& rows);
  /// Keeps the first `length` tokens only.
  void truncate(int64_t length);

  // --- for models ---
  /// Appends keys and values [B, heads, T, head_dim] of T new tokens to those of `layer`, where the head_dim of the
  /// values may differ. Returns views of all of them; they keep their values, and the next pass is cheaper if they no
  /// longer exist. The first pass appends to layer 0, 1, ... in order.
  KeysAndValues append(std::size_t layer, const KeysAndValues& fresh);
  /// To be called after the last layer of a pass over `tokens` tokens, at most as many as every layer appended.
  void advance(int64_t tokens);
  /// Like append(), for the state that added positions keep per token, [B, 1, T, width]; `values` may be empty.
  KeysAndValues append_history(const KeysAndValues& fresh);
  /// Positions that do not depend on the tokens, computed once; an empty handle at first.
  Tensor& table() { return table_; }

 private:
  // What one layer keeps, and how many tokens of it are written: those read, and those of a pass that has not ended.
  struct Held {
    KeysAndValues all;
    int64_t written = 0;
  };
  KeysAndValues append_to(Held& held, const KeysAndValues& fresh) const;

  std::vector<Held> layers_;  // [B, heads, capacity, head_dim]
  Held history_;              // [B, 1, capacity, width], or none
  Tensor table_;
  int64_t length_ = 0;
};

}  // namespace tapegrad::nn
