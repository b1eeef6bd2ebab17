// What the ways of decoding share.
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/internal/fixed_math.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/nn/decoding/detail/decoding.h>

#include <algorithm>
#include <cmath>

namespace tapegrad::nn::detail {

namespace {
constexpr std::string_view kDecoding = "generate";

[[noreturn]] void fail_not_a_number() { fail(kDecoding, "the model's logits contain NaN (are its weights damaged?)"); }
}  // namespace

double log_sum_exp(std::span<const double> x) {
  const double top = *std::max_element(x.begin(), x.end());
  double sum = 0;
  for (const double v : x) sum += fixed::exp(v - top);
  if (std::isnan(sum)) fail_not_a_number();
  return top + fixed::log(sum);
}

std::vector<double> log_sums(const Tensor& logits) {
  std::vector<double> sums = logsumexp(logits, {-1}).to_vector<double>();
  for (const double sum : sums) {
    if (!std::isfinite(sum)) fail_not_a_number();
  }
  return sums;
}

bool ends(const GenerateOptions& options, const std::vector<int64_t>& tokens) {
  return tokens.back() == options.end_token || (options.stop && options.stop(tokens));
}

double penalty(const GenerateOptions& options, std::size_t length) {
  return fixed::pow((5 + static_cast<double>(length)) / 6, options.length_penalty);
}

void check_logits(const Tensor& logits, int64_t rows) {
  require(logits.dim() == 2 && logits.size(0) == rows && logits.size(1) > 0 && is_floating(logits.dtype()), kDecoding,
          "expected floating logits [{}, V] from the model, got {} {}", rows, logits.dtype(), logits.shape());
}

Generated generated(const std::vector<std::vector<int64_t>>& rows, std::vector<double> scores, int64_t padding) {
  Generated out;
  out.scores = std::move(scores);
  std::size_t longest = 0;
  for (const auto& row : rows) {
    out.lengths.push_back(static_cast<int64_t>(row.size()));
    longest = std::max(longest, row.size());
  }
  const auto count = static_cast<int64_t>(rows.size()), length = static_cast<int64_t>(longest);
  out.tokens = full({count, length}, static_cast<double>(padding), kInt64);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    std::copy(rows[i].begin(), rows[i].end(), out.tokens.mutable_data<int64_t>() + i * longest);
  }
  return out;
}

}  // namespace tapegrad::nn::detail
