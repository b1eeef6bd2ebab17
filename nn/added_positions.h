// What a model adds to its embeddings: positions that are convolved, read by an LSTM, integrated, rotated or computed
// by a network, and AddedPositions, which is any kind of them. Tutorial 003, section 8.3.2, deep dives 3 to 6.
//
// Each takes x [B, T, C], the embeddings of T tokens from position `start` on, and gives P, which is added to them:
// [B, T, C], or [T, C] where P does not depend on x. None has a longest input. With `causal`, P of a position depends
// on the embeddings up to it alone. With a cache (which needs `causal`) the tokens continue what it holds: P is that of
// a pass over all tokens, as far as rounding goes. A mask, bool [B, T, 1], is true where there is a token, not padding;
// without a cache.
#pragma once

#include <tapegrad/nn/convolution.h>
#include <tapegrad/nn/kv_cache.h>
#include <tapegrad/nn/linear.h>
#include <tapegrad/nn/positions.h>
#include <tapegrad/nn/recurrent.h>

namespace tapegrad::nn {

/// P(i) = the sum over k from -K to K of w(k) x(i+k), every channel with its own w; with `causal`, over k from -2K to
/// 0. Beyond the ends x is zero, which tells where they are. Chu et al. 2021, "Conditional Positional Encodings".
struct ConvPositions {
  ConvPositions(int64_t dim, int64_t width, bool causal);  ///< width = 2K + 1
  Tensor operator()(const Tensor& x, const Tensor& mask = {}, KVCache* cache = nullptr) const;
  void visit(auto&& field) { field("weight", weight); }

  Parameter weight;  // [dim, 1, width], uniform in +-1/sqrt(width)
  bool causal;
};

/// P(i) = [Conv3(x)(i), Conv5(x)(i)]: two convolutions over all channels, of widths 3 and 5, each of which makes half
/// of the channels (the first one the larger half).
struct MultiscaleConvPositions {
  MultiscaleConvPositions(int64_t dim, bool causal);
  Tensor operator()(const Tensor& x, const Tensor& mask = {}, KVCache* cache = nullptr) const;
  void visit(auto&& field) {
    field("narrow", narrow);
    field("wide", wide);
  }

  Conv1d narrow, wide;  // without biases
  bool causal;
};

/// h(t) = LSTM(x(t), h(t-1)), P(t) = W h(t). It reads forwards in an encoder, too.
struct LstmPositions {
  LstmPositions(int64_t dim, int64_t size);
  Tensor operator()(const Tensor& x, KVCache* cache = nullptr) const;
  void visit(auto&& field) {
    field("lstm", lstm);
    field("projection", projection);
  }

  LSTM lstm;
  Linear projection;  // W, without bias
};

/// dh/dt = f(h, t), P(i) = the integral of f from time 0 to time i interval, which is h there less h(0); f(h, t) =
/// W2 tanh(W1 h + b1 + t w) + b2, and h(0) is learned. Liu et al. 2020, "Learning to Encode Position for Transformer
/// with Continuous Dynamical Model".
struct OdePositions {
  OdePositions(int64_t dim, const PositionOptions& options);
  Tensor operator()(int64_t length, int64_t start = 0, KVCache* cache = nullptr) const;  ///< [length, dim]
  void visit(auto&& field) {
    field("start", start_value);
    field("w_1", w_1);
    field("time", time);
    field("w_2", w_2);
  }

  Parameter start_value;  // [dim], zeros
  Linear w_1, w_2;
  Parameter time;  // [size], uniform as w_1's bias
  double interval;
  OdeOptions options;
};

/// z(i) = r e^(i phi(i)) for every pair of elements, phi(i) = omega i + theta, with learned amplitude r, frequency
/// omega and phase theta: P(i) holds the real parts at even elements, the imaginary parts at odd ones. r does not
/// depend on the position, so that z(i + j) = z(i) e^(i omega j). Begins as sinusoidal positions with cosines first.
/// Wang et al. 2020, "Encoding Word Order in Complex Embeddings".
struct ComplexPositions {
  explicit ComplexPositions(int64_t dim);                      ///< Error for an odd dim
  Tensor operator()(int64_t length, int64_t start = 0) const;  ///< [length, dim]
  void visit(auto&& field) {
    field("amplitude", amplitude);
    field("frequency", frequency);
    field("phase", phase);
  }

  Parameter amplitude, frequency, phase;  // [dim / 2] each: 1, 10000^(-2k/dim), 0
};

/// P(i) = MLP(i, context): W2 gelu(W1 [s(i), c(i)] + b1) + b2, s being the sinusoidal vector of i, and the context c(i)
/// the mean of the embeddings; with `causal`, of those up to i.
struct DynamicPositions {
  DynamicPositions(int64_t dim, int64_t size, bool causal);
  Tensor operator()(const Tensor& x, int64_t start = 0, const Tensor& mask = {}, KVCache* cache = nullptr) const;
  void visit(auto&& field) {
    field("w_1", w_1);
    field("w_2", w_2);
  }

  Linear w_1, w_2;
  bool causal;
};

/// What a model adds to its embeddings: P of its kind; of composite positions, alpha P of their added kind, where alpha
/// is learned and begins as 1; nothing for relative kinds.
struct AddedPositions {
  AddedPositions(Positions positions, int64_t max_positions, int64_t dim, const PositionOptions& options = {},
                 bool causal = false);
  /// x [B, T, C], whose first token is at position `start` -> x + P. Error beyond longest_input().
  Tensor operator()(const Tensor& x, int64_t start = 0, const Tensor& mask = {}, KVCache* cache = nullptr) const;
  void visit(auto&& field) {
    learned.visit(field);  // "weight"
    field("conv", conv);
    field("conv_multiscale", conv_multiscale);
    field("lstm", lstm);
    field("ode", ode);
    field("complex", complex);
    field("dynamic", dynamic);
    field("alpha", alpha);
  }

  // Those of the kind alone.
  LearnedPositions learned;
  Optional<ConvPositions> conv;
  Optional<MultiscaleConvPositions> conv_multiscale;
  Optional<LstmPositions> lstm;
  Optional<OdePositions> ode;
  Optional<ComplexPositions> complex;
  Optional<DynamicPositions> dynamic;
  Parameter alpha;  // one number, for composite positions
  Positions kind;   // the added one; none if there is none
  int64_t interpolate_to;
};

/// Number of parameters of AddedPositions, without making them.
int64_t added_parameter_count(Positions positions, int64_t max_positions, int64_t dim, const PositionOptions& options);

}  // namespace tapegrad::nn
