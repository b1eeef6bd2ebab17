// Figures of attention maps (tutorial 003, section 8.2.3, deep dive): singular values, entropy, frequencies, distances,
// and attention as an update of a Hopfield network.
#pragma once

#include <tapegrad/autograd/tensor.h>

#include <cstdint>
#include <vector>

namespace tapegrad::tasks {

/// The singular values of x [M, N] in double, the largest first: min(M, N) numbers.
std::vector<double> singular_values(const Tensor& x);

/// |F(x)|^2 of x [M, N], float64: F(x)_kl = sum x_mn e^(-2 pi i (mk / M + nl / N)), by products with sines and cosines.
Tensor power_spectrum(const Tensor& x);

/// What one map of weights [T, S] looks like; n is the smaller of T and S.
struct MapFigures {
  std::vector<double> singular_values;
  int64_t rank = 0;            // singular values above rounding in float32, as numpy.linalg.matrix_rank
  double effective_rank = 0;   // e^H of the singular values over their sum. Roy, Vetterli 2007
  double first_tenth = 0;      // share of the sum of squares that the first n / 10 singular values hold (at least one)
  int64_t for_most = 0;        // singular values that hold 0.9 of the sum of squares
  double entropy = 0;          // of a row, the mean over the rows, in nats
  double information = 0;      // of query and key about each other: entropy of the mean row less the mean entropy; nats
  double low_frequencies = 0;  // share of the spectrum up to a quarter of the highest frequency, in both directions
  double low_if_flat = 0;      // the same share of a flat spectrum
  double distance = 0;         // |i - j| between query i and key j, the mean with the weights
};
MapFigures figures_of(const Tensor& weights);

/// Attention as the update of a modern Hopfield network (Ramsauer et al. 2021): the state is a query, the patterns are
/// the keys that it sees (those with a weight), beta = 1 / sqrt(D). An update replaces the state with
/// sum_j softmax_j(beta <state, key_j>) key_j, and the energy
/// -lse(beta K state) / beta + |state|^2 / 2 + log(patterns) / beta + max |key|^2 / 2 never rises.
struct HopfieldFigures {
  std::vector<double> energies;  // before the first update and after each, the mean over the queries
  double energy_falls = 0;       // share of the queries whose energy falls at every update, up to rounding
  double distance_falls = 0;     // share whose distance to the last state falls at every update, up to rounding
  double step = 0;               // mean length of the last update: 0 at a fixed point
};
/// Twelve updates. queries [T, D], keys [S, D], seen [T, S]: bool, which keys are not masked.
HopfieldFigures hopfield_figures(const Tensor& queries, const Tensor& keys, const Tensor& seen);

/// |q - k|: the mean over all pairs that are not masked, and the mean with the weights. What is attended to is nearer
/// where the second is smaller.
struct PairDistances {
  double all = 0, attended = 0;
};
PairDistances pair_distances(const Tensor& queries, const Tensor& keys, const Tensor& weights, const Tensor& seen);

}  // namespace tapegrad::tasks
