// The example with which a section explains a loss, computed by hand for `explain`.
#pragma once

#include <tapegrad/autograd/tensor.h>

#include <cstdint>
#include <string>
#include <vector>

namespace tapegrad::tasks {

/// Probabilities p [B, T, V] that a model predicts, float64, and the right tokens [B, T].
struct LossExample {
  LossExample(const std::vector<double>& p, const std::vector<int64_t>& right, int64_t batch);

  std::string probabilities() const;                      ///< one line per token
  std::string likely(int64_t sequence) const;             ///< the most likely tokens: "[0, 1, 2]"
  std::string exact(int64_t sequence) const;              ///< whether these are right: "True"
  std::string accuracy() const;                           ///< the share of such sequences
  std::string terms(int64_t sequence, int digits) const;  ///< -log(p) of its right tokens: "0.105 + 0.223"
  std::string sum_of_terms(int64_t sequence) const;       ///< with three digits
  std::string loss(int digits) const;

  Tensor p, target;
};

}  // namespace tapegrad::tasks
