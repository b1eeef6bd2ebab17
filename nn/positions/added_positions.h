// Positional encodings that are added to the embeddings: by convolutions, an LSTM, a differential equation, complex
// waves or a network; and AddedPositions, which is one of any kind. Tutorial 003, section 8.3.2, deep dives 3 to 6.
//
// Each takes x [B, T, C], the embeddings of T tokens from position `start` on, and returns P, which is added to them:
// [B, T, C], or [T, C] if P does not depend on x. The length of inputs is unlimited. With `causal`, P of a position
// depends only on the embeddings up to that position. With a cache (which needs `causal`) the tokens continue those in
// the cache: P equals that of one pass over all tokens, up to rounding. A mask, bool [B, T, 1], is true for tokens and
// false for padding; it cannot be combined with a cache.
#pragma once

#include <tapegrad/nn/convolution.h>
#include <tapegrad/nn/kv_cache.h>
#include <tapegrad/nn/linear.h>
#include <tapegrad/nn/positions.h>
#include <tapegrad/nn/recurrent.h>

namespace tapegrad::nn {

/// P(i) = sum over k from -K to K of w(k) x(i+k), with a separate w for every channel; with `causal`, over k from -2K
/// to 0. Zero padding makes the ends recognisable. Chu et al. 2021, "Conditional Positional Encodings".
struct ConvPositions {
  ConvPositions(int64_t dim, int64_t width, bool causal);  ///< width = 2K + 1
  Tensor operator()(const Tensor& x, const Tensor& mask = {}, KVCache* cache = nullptr) const;
  void visit(auto&& field) { field("weight", weight); }

  Parameter weight;  // [dim, 1, width], uniform in +-1/sqrt(width)
  bool causal;
};

/// P(i) = [Conv3(x)(i), Conv5(x)(i)]: two convolutions over all channels, of widths 3 and 5. Each produces half of the
/// channels; if their number is odd, the first one produces one more.
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

/// h(t) = LSTM(x(t), h(t-1)), P(t) = W h(t). It runs forwards in an encoder, too.
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

/// dh/dt = f(h, t), P(i) = h(i interval) - h(0), the integral of f from time 0 to i interval, with f(h, t) =
/// W2 tanh(W1 h + b1 + t w) + b2 and a learned h(0). Liu et al. 2020, "Learning to Encode Position for Transformer
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
/// omega and phase theta: P(i) has the real parts at even indices and the imaginary parts at odd ones. r does not
/// depend on the position, so z(i + j) = z(i) e^(i omega j). Initially: sinusoidal positions with cosines first.
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

/// P(i) = MLP(i, context) = W2 gelu(W1 [s(i), c(i)] + b1) + b2, where s(i) is the sinusoidal vector of i, and the
/// context c(i) is the mean of the embeddings; with `causal`, of those up to i.
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

/// Adds the P of its kind to the embeddings; for composite positions, alpha times the P of their added kind, with a
/// learned alpha that is 1 initially; for relative kinds, nothing.
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

  // Only those of the kind are defined.
  LearnedPositions learned;
  Optional<ConvPositions> conv;
  Optional<MultiscaleConvPositions> conv_multiscale;
  Optional<LstmPositions> lstm;
  Optional<OdePositions> ode;
  Optional<ComplexPositions> complex;
  Optional<DynamicPositions> dynamic;
  Parameter alpha;  // one number, for composite positions
  Positions kind;   // the added kind, or none
  int64_t interpolate_to;
};

/// Number of parameters of AddedPositions, without constructing it.
int64_t added_parameter_count(Positions positions, int64_t max_positions, int64_t dim, const PositionOptions& options);

}  // namespace tapegrad::nn
