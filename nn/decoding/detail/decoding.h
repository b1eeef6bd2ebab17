// What the ways of decoding share, and beam search.
#pragma once

#include <tapegrad/nn/generate_options.h>
#include <tapegrad/nn/next_token.h>

namespace tapegrad::nn::detail {

double log_sum_exp(std::span<const double> x);  // of at least one element; Error for NaN
// log_sum_exp of each row of logits [B, V], in float64.
std::vector<double> log_sums(const Tensor& logits);
// Whether the last of the tokens ends its row.
bool ends(const GenerateOptions& options, const std::vector<int64_t>& tokens);
// The divisor of a sequence's log-probability.
double penalty(const GenerateOptions& options, std::size_t length);
// Error unless logits are floating [rows, V].
void check_logits(const Tensor& logits, int64_t rows);
Generated generated(const std::vector<std::vector<int64_t>>& rows, std::vector<double> scores, int64_t padding);

Generated beam_search(NextTokenLogits& model, const Tensor& prompt, const GenerateOptions& options);

}  // namespace tapegrad::nn::detail
