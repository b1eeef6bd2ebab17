// Sequences out of a trained model: the encoder-decoder and GPT step by step, greedy decoding and sampling.
#include <fmt/format.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/random.h>
#include <tapegrad/nn/detail/beams.h>
#include <tapegrad/nn/generate.h>
#include <tapegrad/nn/mask.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace tapegrad::nn {

namespace {

constexpr std::string_view kWhere = "generate";
constexpr double kNothing = -std::numeric_limits<double>::infinity();

void check(const Tensor& prompt, const GenerateOptions& o) {
  if (prompt.dim() != 2 || prompt.dtype() != kInt64 || prompt.size(1) == 0) {
    fail(kWhere, fmt::format("the prompt is {} {}, int64 [B, T] with a start token at least is needed",
                             name(prompt.dtype()), str(prompt.shape())));
  }
  if (o.max_new_tokens < 0)
    fail(kWhere, fmt::format("max_new_tokens is {}, it must not be negative", o.max_new_tokens));
  if (!(o.temperature >= 0 && std::isfinite(o.temperature))) {
    fail(kWhere, fmt::format("temperature is {}, it must not be negative (0: greedy)", o.temperature));
  }
  if (o.top_k < 0) fail(kWhere, fmt::format("top_k is {}, it must not be negative (0: all tokens)", o.top_k));
  if (!(o.top_p > 0 && o.top_p <= 1)) {
    fail(kWhere, fmt::format("top_p is {}, it must be above 0 and at most 1", o.top_p));
  }
  if (o.beams < 1) fail(kWhere, fmt::format("beams is {}, it must be positive", o.beams));
  if (o.beams > 1 && o.temperature > 0) {
    fail(kWhere, fmt::format("{} beams at temperature {}: beams are searched, not sampled (temperature 0)", o.beams,
                             o.temperature));
  }
  if (!(o.length_penalty >= 0 && std::isfinite(o.length_penalty))) {
    fail(kWhere, fmt::format("length_penalty is {}, it must not be negative", o.length_penalty));
  }
}

// -inf for all but the fewest tokens of a row whose probabilities sum to p.
Tensor nucleus(const Tensor& scores, double p) {
  const Sorted sorted = sort(softmax(scores, -1), -1, true);
  const std::vector<double> probabilities = sorted.values.to(kFloat64).to_vector<double>();
  const std::vector<int64_t> tokens = sorted.indices.to_vector<int64_t>();
  const int64_t rows = scores.size(0), count = scores.size(1);
  const Tensor kept = zeros({rows, count}, kBool);
  for (int64_t row = 0; row < rows; ++row) {
    double sum = 0;
    for (int64_t i = 0; i < count && (i == 0 || sum < p); ++i) {
      const auto at = static_cast<std::size_t>(row * count + i);
      sum += probabilities[at];
      kept.mutable_data<bool>()[row * count + tokens[at]] = true;
    }
  }
  return where(kept, scores, kNothing);
}

// Rows that go on one token at a time, each by itself.
class Rows {
 public:
  Rows(int64_t count, const GenerateOptions& options)
      : options_(options), tokens_(static_cast<std::size_t>(count)), sums_(tokens_.size()), ended_(tokens_.size()) {}

  bool going() const { return std::find(ended_.begin(), ended_.end(), false) != ended_.end(); }

  // next [B] are the tokens chosen by scores [B, V]; returns the column [B, 1] that the model shall read.
  Tensor append(const Tensor& next, const Tensor& scores) {
    const Tensor column = Tensor::empty({next.size(0), 1}, kInt64);
    const std::vector<int64_t> chosen = next.to_vector<int64_t>();
    const std::vector<double> values = scores.to(kFloat64).to_vector<double>();
    const std::size_t vocabulary = values.size() / chosen.size();
    for (std::size_t row = 0; row < chosen.size(); ++row) {
      const int64_t token = ended_[row] ? options_.pad_token : chosen[row];
      column.mutable_data<int64_t>()[row] = token;
      if (ended_[row]) continue;
      const std::span<const double> of_row(values.data() + row * vocabulary, vocabulary);
      sums_[row] += of_row[static_cast<std::size_t>(token)] - detail::log_sum_exp(of_row);
      tokens_[row].push_back(token);
      ended_[row] = detail::ends(options_, tokens_[row]);
    }
    return column;
  }

  Generated result() const {
    std::vector<double> scores = sums_;
    for (std::size_t row = 0; row < scores.size(); ++row) scores[row] /= detail::penalty(options_, tokens_[row].size());
    return detail::generated(tokens_, std::move(scores), options_.pad_token);
  }

 private:
  const GenerateOptions& options_;
  std::vector<std::vector<int64_t>> tokens_;
  std::vector<double> sums_;
  std::vector<bool> ended_;
};

// scores [B, V] / temperature. Where that overflows (a temperature near 0), the largest score is subtracted first.
Tensor scaled(const Tensor& scores, double temperature) {
  const Tensor x = scores / temperature;
  if (all_finite(amax(x, {-1}))) return x;
  const Tensor wide = scores.to(kFloat64), top = amax(wide, {-1}, true);
  return ((wide - masked_fill(top, !isfinite(top), 0)) / temperature).to(scores.dtype());
}

Tensor chosen(const Tensor& scores, const GenerateOptions& options) {  // [B, V] -> [B]
  if (options.temperature == 0) return argmax(scores, -1);
  return multinomial(sampling_probabilities(scores, options), 1, false, options.generator).reshape({-1});
}

}  // namespace

namespace detail {

double log_sum_exp(std::span<const double> x) {
  const double top = *std::max_element(x.begin(), x.end());
  double sum = 0;
  for (const double v : x) sum += std::exp(v - top);
  if (std::isnan(sum)) fail(kWhere, "the model's scores hold what is no number (are its weights damaged?)");
  return top + std::log(sum);
}

bool ends(const GenerateOptions& options, const std::vector<int64_t>& tokens) {
  return tokens.back() == options.end_token || (options.stop && options.stop(tokens));
}

double penalty(const GenerateOptions& options, std::size_t length) {
  return std::pow((5 + static_cast<double>(length)) / 6, options.length_penalty);
}

void check_scores(const Tensor& scores, int64_t rows) {
  if (scores.dim() == 2 && scores.size(0) == rows && scores.size(1) > 0 && is_floating(scores.dtype())) return;
  fail(kWhere, fmt::format("the model's scores are {} {}, floating [{}, V] is needed", name(scores.dtype()),
                           str(scores.shape()), rows));
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

}  // namespace detail

// --- the encoder-decoder ---

TransformerNext::TransformerNext(const Transformer& model, const Tensor& src, const Tensor& src_mask, bool cached)
    : model_(model), cached_(cached) {
  const PauseRecording pause;
  source_ = model.encode(src, src_mask);
  source_mask_ = src_mask;
  restart();
}

void TransformerNext::restart() {
  const PauseRecording pause;
  if (cached_) {
    cache_ = model_.decoder.begin(source_, source_mask_);
  } else {
    memory_ = source_;
    cache_.src_mask = source_mask_;
  }
}

Tensor TransformerNext::scores(const Tensor& ids) {
  const PauseRecording pause;
  Tensor hidden;  // [B, T, C] of the tokens that are new, or of all
  if (cached_) {
    const int64_t read = cache_.target.length();
    hidden = model_.decoder.step(narrow(ids, 1, read, ids.size(1) - read), cache_);
  } else {
    hidden = model_.decode(memory_, cache_.src_mask, ids, causal_mask(ids.size(1)));
  }
  return model_.generator(hidden.select(1, -1));
}

void TransformerNext::reorder(const Tensor& rows) {
  const PauseRecording pause;
  if (!cached_) memory_ = index_select(memory_, 0, rows);
  cache_.reorder(rows);
}

// --- GPT ---

Tensor GPTNext::scores(const Tensor& ids) {
  const PauseRecording pause;
  const int64_t longest = model_.config.longest_input(), read = cache_.length(), length = ids.size(1);
  const bool continues = cached_ && length <= longest;
  const Tensor given = continues ? narrow(ids, 1, read, length - read) : ids.slice(1, -std::min(length, longest));
  return model_.head(model_.hidden(given, continues ? &cache_ : nullptr).select(1, -1));
}

void GPTNext::reorder(const Tensor& rows) {
  if (cache_.length() > 0) cache_.reorder(rows);
}

// --- decoding ---

Tensor sampling_probabilities(const Tensor& scores, const GenerateOptions& options) {
  Tensor x = scaled(scores, options.temperature);
  if (options.top_k > 0 && options.top_k < x.size(-1)) {
    const Tensor least = narrow(topk(x, options.top_k).values, -1, options.top_k - 1, 1);  // [B, 1]
    x = masked_fill(x, x < least, kNothing);
  }
  if (options.top_p < 1) x = nucleus(x, options.top_p);
  return softmax(x, -1);
}

Generated generate(NextToken& model, const Tensor& prompt, const GenerateOptions& options) {
  const PauseRecording pause;
  check(prompt, options);
  model.restart();
  if (options.beams > 1) return detail::beam_search(model, prompt, options);
  Rows rows(prompt.size(0), options);
  Tensor ids = prompt;  // [B, T]
  for (int64_t n = 0; n < options.max_new_tokens && rows.going(); ++n) {
    const Tensor scores = model.scores(ids);  // [B, V]
    detail::check_scores(scores, prompt.size(0));
    ids = cat({ids, rows.append(chosen(scores, options), scores)}, 1);
  }
  return rows.result();
}

Tensor greedy_decode(const Transformer& model, const Tensor& src, const Tensor& src_mask, int64_t length,
                     int64_t start) {
  if (length > model.config.longest_input()) {
    fail("greedy_decode", fmt::format("a sequence of length {} is longer than max_position_embeddings {}", length,
                                      model.config.longest_input()));
  }
  TransformerNext next(model, src, src_mask);
  const Tensor prompt = full({src.size(0), 1}, static_cast<double>(start), kInt64);
  return generate(next, prompt, {.max_new_tokens = length}).tokens;
}

}  // namespace tapegrad::nn
