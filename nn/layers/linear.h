// The affine layer.
#pragma once

#include <tapegrad/autograd/int8.h>
#include <tapegrad/nn/dropout.h>
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

/// What training adds to a frozen weight [out, in]: scale B A with few rows in A. Hu et al. 2021 (LoRA). lora.h adds it
/// to the layers of a model.
struct LowRank {
  /// A starts as the weight of a Linear, B with zeros. Error unless in, out, rank and alpha are positive, and for a
  /// dropout that is not a probability.
  LowRank(int64_t in, int64_t out, int64_t rank, double alpha, double dropout = 0, DType dtype = kFloat32);
  Tensor operator()(const Tensor& x) const;  ///< [..., in] -> scale dropout(x) A^T B^T, [..., out]
  Tensor product() const;                    ///< scale B A, [out, in]
  void visit(auto&& field) {
    field("lora_A.weight", a);  // PEFT's names
    field("lora_B.weight", b);
    field("lora_dropout", dropout);
  }

  Parameter a;   // [rank, in]
  Parameter b;   // [out, rank]
  double scale;  // alpha / rank
  Dropout dropout;
};

/// x [..., in] -> x weight^T + bias, [..., out]. Weight and bias are initialised uniformly in +-1/sqrt(in), as in
/// PyTorch.
struct Linear {
  Linear(int64_t in, int64_t out, bool bias = true);  ///< Error unless in and out are positive
  Tensor operator()(const Tensor& x) const;
  void visit(auto&& field) {
    if constexpr (requires { field.linear(*this); }) field.linear(*this);
    field("weight", weight);
    field("weight_int8", int8.values);
    field("weight_scales", int8.scales);
    field("bias", bias);
    if (low_rank) low_rank->visit(field);
  }

  Parameter weight;  // [out, in], or none if it is in int8
  Parameter bias;    // [out], or none
  Int8Weight int8;
  Optional<LowRank> low_rank;  // added to the product with the weight, or none
};

}  // namespace tapegrad::nn
