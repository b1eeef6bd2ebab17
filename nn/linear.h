// The affine layer.
#pragma once

#include <tapegrad/nn/module.h>

namespace tapegrad::nn {

/// x [..., in] -> x weight^T + bias, [..., out]. Weight and bias are initialised uniformly in +-1/sqrt(in), as in
/// PyTorch.
struct Linear {
  Linear(int64_t in, int64_t out, bool bias = true);  ///< Error unless in and out are positive
  Tensor operator()(const Tensor& x) const;
  void visit(auto&& field) {
    field("weight", weight);
    field("bias", bias);
  }

  Parameter weight;  // [out, in]
  Parameter bias;    // [out], or none
};

}  // namespace tapegrad::nn
