// Positional encodings, without which attention ignores the order of its inputs: the kinds, their options, and tables.
// nn/positions/added_positions.h has the kinds that are added to the embeddings, nn/positions/relative_positions.h
// those that act inside attention.
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
///   lstm        adds a projection of the hidden states of an LSTM over the embeddings
///   ode         adds the solution of a learned differential equation. Liu et al. 2020
///   complex     adds waves of learned amplitude, frequency and phase. Wang et al. 2020
///   composite   combines an added kind, times a learned alpha, with a relative kind, times a learned beta
///   dynamic     adds the output of a network that reads the position and its context
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
/// The kinds that composite combines.
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
  double ntk_scale = 1;        ///< rope: factor by which contexts are longer than in training (NTK-aware)
  int64_t shaw_distance = 16;  ///< shaw: larger distances are clamped to it
  bool shaw_values = false;    ///< shaw: also add vectors to the values (the paper's equation 3)
  int64_t t5_buckets = 32;     ///< t5: number of buckets of distances
  int64_t t5_distance = 128;   ///< t5: distances of at least this share the last bucket
  int64_t conv_width = 3;      ///< conv: width of the convolution; odd
  int64_t lstm_size = 0;       ///< lstm: size of the hidden states; 0: the width of the model
  int64_t ode_size = 0;        ///< ode: hidden units of the network for dh/dt; 0: the width of the model
  double ode_interval = 0.1;   ///< ode: time between two positions
  OdeOptions ode = {};         ///< ode: the solver; steps are those between two positions
  int64_t dynamic_size = 0;    ///< dynamic: hidden units of the network; 0: the width of the model
  Positions composite_added = Positions::sinusoidal;  ///< composite: weighted by alpha; of kAddedPositionNames
  Positions composite_relative = Positions::rope;     ///< composite: weighted by beta; of kRelativePositionNames

  /// Error that names the first invalid member.
  void check() const;
};

/// The kind that is added to the embeddings, and the kind that acts inside attention. Composite has both; for the other
/// kinds one of the two is `positions` itself, and the other is none.
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
