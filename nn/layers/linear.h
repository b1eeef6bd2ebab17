// The affine layer.
#pragma once

#include <tapegrad/nn/weight.h>

namespace tapegrad::nn {

/// x [..., in] -> x weight^T + bias, [..., out]. Weight and bias are initialised uniformly in +-1/sqrt(in), as in
/// PyTorch.
struct Linear {
  Linear() = default;                                 ///< without a weight: a layer that a model leaves out
  Linear(int64_t in, int64_t out, bool bias = true);  ///< Error unless in and out are positive
  Tensor operator()(const Tensor& x) const { return weight.product(x, bias); }
  std::string describe() const;  ///< the C++ that makes it, for nn::watch; as of all layers
  void visit(auto&& field) {
    field("weight", weight);
    field("bias", bias);
    if (weight.low_rank) weight.low_rank->visit(field);
  }

  Weight weight;   // [out, in]
  Parameter bias;  // [out], or none
};

}  // namespace tapegrad::nn
