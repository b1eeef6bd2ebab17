// Beam search, and what it shares with the other ways of decoding. Not for users: generate.h is.
#pragma once

#include <tapegrad/nn/generate.h>

namespace tapegrad::nn::detail {

Generated beam_search(NextToken& model, const Tensor& prompt, const GenerateOptions& options);

double log_sum_exp(std::span<const double> x);  // of one element at least
// Does a row end with its last token?
bool ends(const GenerateOptions& options, const std::vector<int64_t>& tokens);
// What the log-probability of a sequence is divided by.
double penalty(const GenerateOptions& options, std::size_t length);
// Error unless scores are floating [rows, V].
void check_scores(const Tensor& scores, int64_t rows);
Generated generated(const std::vector<std::vector<int64_t>>& rows, std::vector<double> scores, int64_t padding);

}  // namespace tapegrad::nn::detail
