// The affine layer.
#pragma once

#include <tapegrad/autograd/int8.h>
#include <tapegrad/nn/module.h>

namespace tapegrad::nn {

/// A weight in int8, or none: the buffers of a layer that only generates.
struct Int8Weight {
  bool defined() const { return values.defined(); }
  Int8Matrix matrix() const { return {values, scales}; }
  /// Takes the place of `weight` [rows, columns], which has none afterwards. Inside an init::Skip scope the values are
  /// zeros, because others will be loaded.
  void replace(Parameter& weight);

  Buffer values, scales;  // those of an Int8Matrix
};

/// x [..., in] -> x weight^T + bias, [..., out]. Weight and bias are initialised uniformly in +-1/sqrt(in), as in
/// PyTorch.
struct Linear {
  Linear(int64_t in, int64_t out, bool bias = true);  ///< Error unless in and out are positive
  Tensor operator()(const Tensor& x) const;
  void visit(auto&& field) {
    field("weight", weight);
    field("weight_int8", int8.values);
    field("weight_scales", int8.scales);
    field("bias", bias);
  }

  Parameter weight;  // [out, in], or none if it is in int8
  Parameter bias;    // [out], or none
  Int8Weight int8;
};

}  // namespace tapegrad::nn
