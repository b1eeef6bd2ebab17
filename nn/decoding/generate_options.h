// Options and results of generation.
#pragma once

#include <tapegrad/autograd/inplace_function.h>
#include <tapegrad/autograd/tensor.h>

#include <optional>
#include <span>
#include <vector>

namespace tapegrad {
class Generator;
}

namespace tapegrad::nn {

/// Greedy by default; sampling if temperature is not 0; beam search if beams is not 1.
struct GenerateOptions {
  int64_t max_new_tokens = 0;             ///< 0: an empty result
  std::optional<int64_t> end_token = {};  ///< ends a row and is part of it
  int64_t pad_token = 0;                  ///< fills rows that ended earlier than others; the model reads it there
  /// Called after every token with the tokens of one row so far (at least one): true ends the row. Also the place to
  /// show tokens as they come. Not called where end_token has ended the row.
  mutable InplaceFunction<bool(std::span<const int64_t>)> stop = {};

  /// Sampling: softmax(logits / temperature) over the top_k most likely tokens (0: all; ties with the last one are
  /// kept), and among these over the fewest whose probabilities sum to top_p (nucleus sampling, Holtzman et al. 2020).
  /// Samples as torch.multinomial does: one call per step over all rows, including those that have ended.
  double temperature = 0;
  int64_t top_k = 0;
  double top_p = 1;
  Generator* generator = nullptr;  ///< nullptr: the default generator

  /// Beam search. Searches of width 1, 2, ... `beams` run together and share equal sequences; the best sequence of all
  /// searches is the result. So width 1 is greedy, and a wider search never scores below a narrower one.
  int64_t beams = 1;
  /// A sequence's score is its log-probability divided by ((5 + length) / 6)^length_penalty. Wu et al. 2016.
  double length_penalty = 0;
};

/// What generation returns.
struct Generated {
  Tensor tokens;                 ///< [B, N] int64, without the prompt; N is the length of the longest row
  std::vector<int64_t> lengths;  ///< of each row
  std::vector<double> scores;    ///< of each row: its log-probability under the model, divided by the length penalty
};

}  // namespace tapegrad::nn
