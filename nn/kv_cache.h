// Keys and values of the tokens that a model has read, so that the next token costs one position only.
#pragma once

#include <tapegrad/autograd/tensor.h>

#include <vector>

namespace tapegrad::nn {

// One a sequence (or batch of sequences that are equally long). The first pass decides batch, heads and type.
class KVCache {
 public:
  int64_t length() const { return length_; }  // tokens read
  int64_t batch() const;                      // sequences; 0 before the first pass
  // Row i goes on from what row rows[i] has read; rows [B'] int64, B' may differ from the batch. For beams.
  void reorder(const Tensor& rows);
  // Forgets all but the first `length` tokens.
  void truncate(int64_t length);

  // --- for models ---
  struct Layer {
    Tensor keys, values;  // [B, heads, room, head_dim]
  };
  // Puts keys and values [B, heads, T, head_dim] behind what the layer holds and returns all of them as views, which
  // hold until the next pass.
  Layer append(std::size_t layer, const Tensor& keys, const Tensor& values);
  // After the last layer of a pass over T tokens.
  void advance(int64_t tokens) { length_ += tokens; }

 private:
  std::vector<Layer> layers_;
  int64_t length_ = 0;
};

}  // namespace tapegrad::nn
