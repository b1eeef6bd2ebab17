// A positional encoding: its name, help, options and their limits, and its parts in a model. An encoding is a
// PositionKind in its own file, and one line in position_kinds.cpp.
#pragma once

#include <tapegrad/nn/any_of.h>
#include <tapegrad/nn/fields.h>
#include <tapegrad/nn/kv_cache.h>
#include <tapegrad/nn/position_options.h>

#include <functional>
#include <string>

namespace tapegrad::nn {

/// What a positional encoding may need to know of its model.
struct PositionSizes {
  int64_t width = 0;               ///< of the embeddings
  int64_t max_positions = 0;       ///< vectors of a table
  int64_t heads = 0;               ///< of each attention
  int64_t head_dim = 0;            ///< elements per head
  bool causal = false;             ///< positions do not depend on later tokens
  std::string head_dim_from = {};  ///< for errors, where head_dim comes from, as " (--emb-dim 6 over --n-heads 2)"
};

/// An encoding P that is added to the embeddings. With `causal`, P of a position depends only on the embeddings up to
/// that position. With a cache (which needs `causal`) the tokens continue those in the cache: P equals that of one pass
/// over all tokens, up to rounding. A mask, bool [B, T, 1], is true for tokens and false for padding; it cannot be
/// combined with a cache.
struct AddedEncoding {
  virtual ~AddedEncoding() = default;
  /// x [B, T, C], the embeddings of T > 0 tokens from position `start` on -> P, which broadcasts to x.
  virtual Tensor operator()(const Tensor& x, int64_t start, const Tensor& mask, KVCache* cache) const = 0;
  /// The learned vectors of all positions, which a model may initialise as those of its tokens; nullptr if there are
  /// none.
  virtual Parameter* table() { return nullptr; }
};

/// What every self-attention of a stack receives in one pass, for queries at positions start .. start + T - 1 and keys
/// at 0 .. S - 1.
struct PositionBias {
  Tensor bias = {};        ///< [1, H, T, S], added to the scaled scores
  Tensor cosines = {};     ///< [T, D/2], of the rotation angles of queries and new keys
  Tensor sines = {};       ///< the same
  Tensor pair_scale = {};  ///< composite: one number, which multiplies what AttentionPositions add
  bool halves = false;     ///< the pairs that rotate are elements i and i + D/2, not 2i and 2i + 1
  int64_t start = 0;       ///< position of the first query
};

/// The part that exists once in a stack of layers.
struct RelativeEncoding {
  virtual ~RelativeEncoding() = default;
  /// For T queries from position `start` on and S keys, in the model's type. `scale`, one number, multiplies the
  /// effect, which 0 removes; undefined: 1.
  virtual PositionBias operator()(int64_t queries, int64_t keys, int64_t start, DType dtype,
                                  const Tensor& scale) const = 0;
};

/// The part that each self-attention has.
struct PairEncoding {
  virtual ~PairEncoding() = default;
  /// q [B, H, T, D], from position `start` on -> what is added to the scores before they are scaled, [B, H, T, S].
  virtual Tensor scores(const Tensor& q, int64_t key_count, int64_t start) const = 0;
  /// Whether something is added to the weighted values; and that, [B, H, T, D], for weights [B, H, T, S].
  virtual bool changes_values() const { return false; }
  virtual Tensor values(const Tensor& /*weights*/, int64_t /*start*/) const { return {}; }
};

/// A positional encoding: the row of a table. An encoding overrides what it has.
class PositionKind : NonCopyable {
 public:
  /// Where an encoding acts: on the embeddings, or inside attention.
  enum class Role { neither, added, relative };  ///< composite combines an added kind with a relative one

  PositionKind(std::string_view kind, std::string_view text, Role of) : name(kind), help(text), role(of) {}
  virtual ~PositionKind() = default;

  std::string_view name, help;  ///< as in position_names(), and one line about it
  Role role;                    ///< decides which lists of names have it
  /// The value by which options choose this encoding.
  Positions positions() const { return Positions(name); }
  /// Whether it changes the scores of single pairs, which only full attention computes.
  virtual bool adds_to_scores() const { return false; }
  /// Whether the encoding is a vector for each position, or nothing, whatever the tokens are.
  virtual bool ignores_tokens() const { return false; }

  /// Its members of `options`: names ("conv-width"), help and limits.
  virtual void list(PositionOptions& options, Fields& fields) const { list_stretching(options, fields); }
  /// Those of them that stretch a trained model to longer inputs.
  virtual void list_stretching(PositionOptions& /*options*/, Fields& /*fields*/) const {}

  /// Calls wrong("conv_width", "expected an odd number > 0, got 2") for each option that is invalid within its limits.
  using Wrong = std::function<void(std::string_view option, const std::string& fault)>;
  virtual void check(const PositionOptions& /*options*/, const Wrong& /*wrong*/) const {}
  /// Error "[positions] conv_width: expected an odd number > 0, got 2" for the first invalid option, limits included.
  void require_valid(PositionOptions options) const;
  /// The same as check() for sizes of a model that the encoding does not support; the option is then "positions", or
  /// its own.
  virtual void check_sizes(const PositionSizes& /*sizes*/, const PositionOptions& /*options*/,
                           const Wrong& /*wrong*/) const {}
  virtual int64_t longest_input(int64_t max_positions, const PositionOptions& options) const;

  /// Whether this is the encoding of that name, or has it as a part.
  virtual bool has(std::string_view encoding, const PositionOptions& /*options*/) const { return encoding == name; }
  virtual Positions added_kind(const PositionOptions& options) const;
  virtual Positions relative_kind(const PositionOptions& options) const;

  /// The parts in a model; none by default. added() needs width, max_positions and causal of `sizes`, relative() heads,
  /// head_dim and causal, pairs() head_dim.
  virtual AnyOf<AddedEncoding> added(const PositionSizes& sizes, const PositionOptions& options) const;
  virtual AnyOf<RelativeEncoding> relative(const PositionSizes& sizes, const PositionOptions& options) const;
  virtual AnyOf<PairEncoding> pairs(const PositionSizes& sizes, const PositionOptions& options) const;
};

/// The options of all encodings; those of `positions`, a name, are used.
void list_positions(std::string_view positions, PositionOptions& options, Fields& fields);

/// All encodings, in the order of position_names().
std::span<const PositionKind* const> position_kinds();
const PositionKind& kind_of(Positions positions);

/// The only object of an encoding's class. Its file instantiates it: template const PositionKind&
/// position_kind<AlibiKind>();
template <class Kind>
const PositionKind& position_kind();

}  // namespace tapegrad::nn
