// Positions for attention, which by itself does not know the order of its inputs: the kinds, their options, and tables.
// What a model adds to its embeddings is in nn/added_positions.h, what acts inside attention in
// nn/relative_positions.h.
#pragma once

#include <tapegrad/nn/module.h>
#include <tapegrad/nn/ode.h>

#include <string_view>

namespace tapegrad::nn {

/// How a model represents positions (tutorial 003, section 8.3 and its deep dive).
///   none        not at all
///   index       adds the position to every element (8.3.1)
///   learned     adds one learned vector per position
///   sinusoidal  adds sines and cosines. Vaswani et al. 2017, section 3.5
///   rope        rotates queries and keys by angles that grow with the position. Su et al. 2021
///   shaw        adds one learned vector per distance to the keys. Shaw, Uszkoreit, Vaswani 2018
///   t5          adds one learned number per head and bucket of distances to the scores. Raffel et al. 2020
///   alibi       subtracts the distance times a fixed slope per head from the scores. Press, Smith, Lewis 2022
///   conv        adds a depthwise convolution of the embeddings. Chu et al. 2021
///   conv_multiscale  adds two convolutions, of widths 3 and 5
///   lstm        adds a projection of the states of an LSTM that reads the embeddings
///   ode         adds the solution of a learned differential equation. Liu et al. 2020
///   complex     adds waves of learned amplitude, frequency and phase. Wang et al. 2020
///   composite   adds alpha times an added kind, and beta times what a relative kind does; alpha and beta are learned
///   dynamic     adds what a network makes of the position and of its context
/// rope, shaw, t5 and alibi are relative: shifting all positions leaves the scores of self-attention unchanged. The
/// others, except for composite, are added to the embeddings.
enum class Positions {
  none,
  index,
  learned,
  sinusoidal,
  rope,
  shaw,
  t5,
  alibi,
  conv,
  conv_multiscale,
  lstm,
  ode,
  complex,
  composite,
  dynamic
};

inline constexpr std::string_view kPositionNames[] = {"none", "index", "learned", "sinusoidal", "rope",
                                                      "shaw", "t5",    "alibi",   "conv",       "conv-multiscale",
                                                      "lstm", "ode",   "complex", "composite",  "dynamic"};
/// The kinds that composite makes a pair of.
inline constexpr std::string_view kAddedPositionNames[] = {
    "index", "learned", "sinusoidal", "conv", "conv-multiscale", "lstm", "ode", "complex", "dynamic"};
inline constexpr std::string_view kRelativePositionNames[] = {"rope", "shaw", "t5", "alibi"};
std::string_view name(Positions positions);
/// Error for an unknown name; it lists the known ones.
Positions positions_named(std::string_view name);

/// Options of the kinds; each kind reads its own members only.
struct PositionOptions {
  /// learned: the table of max_positions vectors is interpolated to inputs of up to this length; 0: no interpolation.
  int64_t interpolate_to = 0;
  double rope_base = 10000;    ///< rope: the slowest pair rotates once in about 2 pi base positions
  double ntk_scale = 1;        ///< rope: contexts this many times longer than trained ones (NTK-aware scaling)
  int64_t shaw_distance = 16;  ///< shaw: larger distances are clamped to it
  bool shaw_values = false;    ///< shaw: vectors for the values, too (the paper's equation 3)
  int64_t t5_buckets = 32;     ///< t5: number of buckets of distances
  int64_t t5_distance = 128;   ///< t5: distances from here on share the last bucket
  int64_t conv_width = 3;      ///< conv: number of embeddings that a position sees; odd
  int64_t lstm_size = 0;       ///< lstm: size of the states; 0: the width of the model
  int64_t ode_size = 0;        ///< ode: hidden units of the slope's network; 0: the width of the model
  double ode_interval = 0.1;   ///< ode: time from one position to the next
  OdeOptions ode = {};         ///< ode: the solver; steps are those between two positions
  int64_t dynamic_size = 0;    ///< dynamic: hidden units of the network; 0: the width of the model
  Positions composite_added = Positions::sinusoidal;  ///< composite: what alpha weights, one of kAddedPositionNames
  Positions composite_relative = Positions::rope;     ///< composite: what beta weights, of kRelativePositionNames

  /// Error that names the first invalid member.
  void check() const;
};

/// The kind that is added to the embeddings, and the one that acts inside attention: the two of a composite; otherwise
/// `positions` itself and none.
Positions added_kind(Positions positions, const PositionOptions& options);
Positions relative_kind(Positions positions, const PositionOptions& options);

/// The longest input of a model with a table of max_positions vectors; the largest int64 for kinds that compute their
/// positions, as these have no limit.
int64_t longest_input(Positions positions, int64_t max_positions, const PositionOptions& options);

/// One learned vector per position: T -> [T, dim]. Error beyond max_positions.
struct LearnedPositions {
  LearnedPositions() = default;  ///< none
  LearnedPositions(int64_t max_positions, int64_t dim);
  Tensor operator()(int64_t length, int64_t start = 0) const;  ///< positions start .. start + length - 1
  /// The same for an input of `total` positions that is scaled down to the table: position i is read at row
  /// i max_positions / total, between two rows (beyond the last row: at it). Chen et al. 2023.
  Tensor interpolated(int64_t length, int64_t start, int64_t total) const;
  void visit(auto&& field) { field("weight", weight); }

  Parameter weight;  // [max_positions, dim], N(0, 1)
};

/// x [B, T, C] -> x + pe[:T], pe(t, 2i) = sin(t / 10000^(2i/C)), pe(t, 2i+1) = cos of the same. Tutorial 003, section
/// 8.3.2.
struct SinusoidalPositions {
  SinusoidalPositions(int64_t max_positions, int64_t dim);
  Tensor operator()(const Tensor& x) const;
  void visit(auto&& field) { field("pe", pe); }

  Buffer pe;  // [max_positions, dim]
};

/// The table above for positions start .. start + length - 1, computed in float32 as PyTorch does.
Tensor sinusoidal_table(int64_t length, int64_t dim, int64_t start = 0);

/// x [..., T, C] plus the position itself, start .. start + T - 1, in every element. Tutorial 003, section 8.3.1.
Tensor add_index(const Tensor& x, int64_t start = 0);

}  // namespace tapegrad::nn
