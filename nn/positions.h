// Positions for attention, which by itself sees a set: which kinds there are, and those that are added to embeddings.
// Relative ones, which work inside of attention, stand in nn/relative_positions.h.
#pragma once

#include <tapegrad/nn/embedding.h>

#include <string_view>

namespace tapegrad::nn {

// How a model is told where a token stands (tutorial, section 8.3 and its deep dive).
//   none        not at all
//   index       the position is added to every element (8.3.1)
//   learned     a learned vector a position is added
//   sinusoidal  sines and cosines are added. Vaswani et al. 2017, section 3.5
//   rope        queries and keys are turned by angles that grow with the position. Su et al. 2021
//   shaw        a learned vector a distance joins the keys. Shaw, Uszkoreit, Vaswani 2018
//   t5          a learned number a head and a range of distances is added to the scores. Raffel et al. 2020
//   alibi       a fixed slope a head is subtracted with the distance. Press, Smith, Lewis 2022
// The last four know distances only: scores of self-attention stay as they are when all positions are shifted.
enum class Positions { none, index, learned, sinusoidal, rope, shaw, t5, alibi };

inline constexpr std::string_view kPositionNames[] = {"none", "index", "learned", "sinusoidal",
                                                      "rope", "shaw",  "t5",      "alibi"};
std::string_view name(Positions positions);
// Error for a name that is not known, with those that are.
Positions positions_named(std::string_view name);
inline bool is_relative(Positions positions) { return positions >= Positions::rope; }

// What the kinds can be told. Each reads its own members alone.
struct PositionOptions {
  // learned: a table of max_positions vectors serves inputs of up to this length, by interpolation; 0: no longer ones.
  int64_t interpolate_to = 0;
  double rope_base = 10000;    // rope: the slowest pair turns once in about 2 pi base positions
  double ntk_scale = 1;        // rope: contexts this many times longer than trained ones (NTK-aware scaling)
  int64_t shaw_distance = 16;  // shaw: distances beyond it count as it
  bool shaw_values = false;    // shaw: vectors for the values, too (the paper's equation 3)
  int64_t t5_buckets = 32;     // t5: ranges of distances that are told apart
  int64_t t5_distance = 128;   // t5: distances from here on share the last range

  // Error that names the first member that cannot be.
  void check() const;
};

// The longest input that a model with a table of max_positions vectors takes; without limit (the largest number) for
// kinds that compute their positions.
int64_t longest_input(Positions positions, int64_t max_positions, const PositionOptions& options);

// A learned vector a position: T -> [T, dim]. Error beyond max_positions.
struct LearnedPositions {
  LearnedPositions() = default;  // none
  LearnedPositions(int64_t max_positions, int64_t dim);
  Tensor operator()(int64_t length, int64_t start = 0) const;  // positions start .. start + length - 1
  // The same where an input of `total` positions is squeezed into the table: position i stands at a i, with
  // a = max_positions / total, between two rows (past the last row: on it). Chen et al. 2023.
  Tensor interpolated(int64_t length, int64_t start, int64_t total) const;
  void visit(auto&& field) { field("weight", weight); }

  Parameter weight;  // [max_positions, dim], N(0, 1)
};

// x [B, T, C] -> x + pe[:T], pe(t, 2i) = sin(t / 10000^(2i/C)), pe(t, 2i+1) = cos of the same. Section 8.3.2.
struct SinusoidalPositions {
  SinusoidalPositions(int64_t max_positions, int64_t dim);
  Tensor operator()(const Tensor& x) const;
  void visit(auto&& field) { field("pe", pe); }

  Buffer pe;  // [max_positions, dim]
};

// The table above, computed in float32 as PyTorch computes it: rows of positions start .. start + length - 1.
Tensor sinusoidal_table(int64_t length, int64_t dim, int64_t start = 0);

// x [..., T, C] plus the position itself, start .. start + T - 1, in every element. Section 8.3.1.
Tensor add_index(const Tensor& x, int64_t start = 0);

// What a model adds to its embeddings: one of index, learned, sinusoidal, or nothing for every other kind.
struct AddedPositions {
  AddedPositions(Positions kind, int64_t max_positions, int64_t dim, const PositionOptions& options = {});
  // x [B, T, C], whose first token stands at `start` -> [B, T, C]. Error beyond longest_input().
  Tensor operator()(const Tensor& x, int64_t start = 0) const;
  void visit(auto&& field) { learned.visit(field); }  // "weight", where positions are learned

  LearnedPositions learned;
  Positions kind;
  int64_t interpolate_to;
};

}  // namespace tapegrad::nn
