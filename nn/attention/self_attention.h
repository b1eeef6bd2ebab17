// Multi-head self-attention whose input and output may differ in width. Tutorials 000, 002 and 004.
#pragma once

#include <tapegrad/nn/attention.h>

namespace tapegrad::nn {

/// MultiHeadAttention of tutorials 000 and 004, with their names, shapes and random numbers: "W_query", "W_key",
/// "W_value" and "out_proj".
struct MultiHeadSelfAttention : MultiHeadAttention {
  explicit MultiHeadSelfAttention(const SelfAttentionConfig& sizes) : MultiHeadAttention(sizes, kSelfAttentionNames) {}
  /// The C++ that makes it, for nn::watch.
  std::string describe() const { return describe_as("MultiHeadSelfAttention"); }
};

}  // namespace tapegrad::nn
