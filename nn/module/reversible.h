// Reversible residual layers: backward computes their inputs from their outputs, so that no activations are kept.
// Gomez, Ren, Urtasun, Grosse 2017, The Reversible Residual Network; used by Reformer.
#pragma once

#include <tapegrad/nn/module.h>
#include <tapegrad/nn/recompute.h>

#include <vector>

namespace tapegrad::nn {

/// The two residual streams, of one shape.
struct Halves {
  Tensor first, second;  ///< x1 and x2, or y1 and y2
};

/// One layer: y1 = x1 + f(x2), y2 = x2 + g(y1). f and g keep the shape. Its inverse is x2 = y2 - g(y1), x1 = y1 -
/// f(x2).
struct ReversibleFunctions {
  Recomputed f, g;  ///< both keep the shape
};

/// Runs the layers one after another as one operation that keeps only the results: backward goes from the last layer
/// to the first, computes the inputs of each one by its inverse, and runs f and g again with the same random numbers
/// (dropout drops the same elements). Memory does not grow with the number of layers. Gradients equal those of plain
/// layers up to rounding, also with respect to all tensors that f and g use, as for recompute(). Objects that f and g
/// refer to must outlive the tape. Cannot be differentiated twice.
Halves reversible(const Halves& x, std::vector<ReversibleFunctions> layers);

/// A layer of two modules from a tensor to a tensor of its shape: attention and feed-forward with their norms.
template <class F, class G>
struct ReversibleBlock {
  ReversibleBlock(F first, G second) : f(std::move(first)), g(std::move(second)) {}
  Halves operator()(const Halves& x) const {
    const Tensor first = x.first + f(x.second);
    return {first, x.second + g(first)};
  }
  /// The inputs that give y, up to rounding.
  Halves inverse(const Halves& y) const {
    const Tensor second = y.second - g(y.first);
    return {y.first - f(second), second};
  }
  void visit(auto&& field) {
    field("f", f);
    field("g", g);
  }

  F f;  ///< added to the first stream
  G g;  ///< added to the second stream
};

/// A stack of such layers. With `store_activations` they are plain layers: faster, differentiable twice, and memory for
/// each layer.
template <class F, class G>
struct ReversibleStack {
  Halves operator()(const Halves& x) const {
    if (store_activations) {
      Halves y = x;
      for (const auto& layer : layers) y = layer(y);
      return y;
    }
    std::vector<ReversibleFunctions> functions;
    functions.reserve(layers.size());
    for (const auto& layer : layers) {
      functions.push_back({[&layer](const Tensor& half) { return layer.f(half); },
                           [&layer](const Tensor& half) { return layer.g(half); }});
    }
    return reversible(x, std::move(functions));
  }
  /// Both halves begin as x; the result is their mean.
  Tensor operator()(const Tensor& x) const {
    const Halves y = (*this)(Halves{x, x});
    return (y.first + y.second) / 2;
  }
  void visit(auto&& field) { field("layers", layers); }

  List<ReversibleBlock<F, G>> layers;  ///< in the order of forward
  bool store_activations = false;      ///< false: backward recomputes the inputs of the layers
};

}  // namespace tapegrad::nn
