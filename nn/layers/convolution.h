// Convolutions of signals, images and volumes as layers, and their transposes.
//
// Weights and biases are initialised uniformly in +-1/sqrt(n), where n is the number of elements of weight[0], as in
// PyTorch. Error unless the channels, kernel sizes and groups are positive and the groups divide both numbers of
// channels.
#pragma once

#include <tapegrad/autograd/convolution.h>
#include <tapegrad/nn/module.h>

namespace tapegrad::nn {

/// x [N, in, L] or [in, L] -> conv1d(x, weight, bias, options).
///
///   const nn::Conv1d half(64, 128, 5, {.stride = 2, .padding = 2});
///   const nn::Conv1d same(64, 128, 5, {.padding = Padding::same, .padding_mode = PadMode::reflect});
struct Conv1d {
  Conv1d(int64_t in, int64_t out, int64_t kernel_size, const ConvOptions& options = {}, bool bias = true);
  Tensor operator()(const Tensor& x) const;
  std::string describe() const;
  void visit(auto&& field) {
    field("weight", weight);
    field("bias", bias);
  }

  Parameter weight;     // [out, in / groups, K]
  Parameter bias;       // [out], or none
  ConvOptions options;  ///< as given
};

/// x [N, in, H, W] or [in, H, W] -> conv2d(x, weight, bias, options). kernel_size is one number or {KH, KW}.
struct Conv2d {
  Conv2d(int64_t in, int64_t out, const PerAxis<int64_t>& kernel_size, const ConvOptions& options = {},
         bool bias = true);
  Tensor operator()(const Tensor& x) const;
  std::string describe() const;
  void visit(auto&& field) {
    field("weight", weight);
    field("bias", bias);
  }

  Parameter weight;     // [out, in / groups, KH, KW]
  Parameter bias;       // [out], or none
  ConvOptions options;  ///< as given
};

/// x [N, in, D, H, W] or [in, D, H, W] -> conv3d(x, weight, bias, options). kernel_size is one number or {KD, KH, KW}.
struct Conv3d {
  Conv3d(int64_t in, int64_t out, const PerAxis<int64_t>& kernel_size, const ConvOptions& options = {},
         bool bias = true);
  Tensor operator()(const Tensor& x) const;
  std::string describe() const;
  void visit(auto&& field) {
    field("weight", weight);
    field("bias", bias);
  }

  Parameter weight;     // [out, in / groups, KD, KH, KW]
  Parameter bias;       // [out], or none
  ConvOptions options;  ///< as given
};

/// x [N, in, L] or [in, L] -> conv_transpose1d(x, weight, bias, options).
struct ConvTranspose1d {
  ConvTranspose1d(int64_t in, int64_t out, int64_t kernel_size, const ConvTransposeOptions& options = {},
                  bool bias = true);
  Tensor operator()(const Tensor& x) const;
  void visit(auto&& field) {
    field("weight", weight);
    field("bias", bias);
  }

  Parameter weight;              // [in, out / groups, K]
  Parameter bias;                // [out], or none
  ConvTransposeOptions options;  ///< as given
};

/// x [N, in, H, W] or [in, H, W] -> conv_transpose2d(x, weight, bias, options).
struct ConvTranspose2d {
  ConvTranspose2d(int64_t in, int64_t out, const PerAxis<int64_t>& kernel_size,
                  const ConvTransposeOptions& options = {}, bool bias = true);
  Tensor operator()(const Tensor& x) const;
  void visit(auto&& field) {
    field("weight", weight);
    field("bias", bias);
  }

  Parameter weight;              // [in, out / groups, KH, KW]
  Parameter bias;                // [out], or none
  ConvTransposeOptions options;  ///< as given
};

/// x [N, in, D, H, W] or [in, D, H, W] -> conv_transpose3d(x, weight, bias, options). kernel_size is one number or {KD,
/// KH, KW}.
struct ConvTranspose3d {
  ConvTranspose3d(int64_t in, int64_t out, const PerAxis<int64_t>& kernel_size,
                  const ConvTransposeOptions& options = {}, bool bias = true);
  Tensor operator()(const Tensor& x) const;
  void visit(auto&& field) {
    field("weight", weight);
    field("bias", bias);
  }

  Parameter weight;              // [in, out / groups, KD, KH, KW]
  Parameter bias;                // [out], or none
  ConvTransposeOptions options;  ///< as given
};

}  // namespace tapegrad::nn
