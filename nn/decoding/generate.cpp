// Greedy decoding and sampling, step by step for all rows.
// build: -O3
#include <tapegrad/autograd/inference.h>
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/limits.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/random.h>
#include <tapegrad/autograd/tape.h>
#include <tapegrad/nn/decoder.h>
#include <tapegrad/nn/decoding/detail/decoding.h>
#include <tapegrad/nn/generate.h>
#include <tapegrad/nn/transformer.h>

#include <algorithm>
#include <limits>

namespace tapegrad::nn {

namespace {

constexpr std::string_view kGenerate = "generate";
constexpr double kNothing = -std::numeric_limits<double>::infinity();

void check(const Tensor& prompt, const GenerateOptions& o) {
  require(prompt.dim() == 2 && prompt.dtype() == kInt64 && prompt.size(1) != 0, kGenerate,
          "expected a prompt int64 [B, T] with at least one token, got {} {}", prompt.dtype(), prompt.shape());
  require_in(kGenerate, "max_new_tokens", o.max_new_tokens, kNotNegative);
  require_in(kGenerate, "temperature", o.temperature, kNotNegative);
  require_in(kGenerate, "top_k", o.top_k, kNotNegative);
  require_in(kGenerate, "top_p", o.top_p, {.least = 0, .most = 1, .open_below = true});
  require_in(kGenerate, "beams", o.beams, kPositive);
  require_in(kGenerate, "length_penalty", o.length_penalty, kNotNegative);
  require(o.beams <= 1 || !(o.temperature > 0), kGenerate,
          "expected temperature 0 for beam search, got {} beams at temperature {}", o.beams, o.temperature);
}

// -inf for all but the fewest tokens of a row whose probabilities sum to p.
Tensor nucleus(const Tensor& logits, double p) {
  const Sorted sorted = sort(softmax(logits, -1), -1, true);
  const std::vector<double> probabilities = sorted.values.to(kFloat64).to_vector<double>();
  const std::vector<int64_t> tokens = sorted.indices.to_vector<int64_t>();
  const int64_t rows = logits.size(0), count = logits.size(1);
  const Tensor kept = zeros({rows, count}, kBool);
  for (int64_t row = 0; row < rows; ++row) {
    double sum = 0;
    for (int64_t i = 0; i < count && (i == 0 || sum < p); ++i) {
      const auto at = static_cast<std::size_t>(row * count + i);
      sum += probabilities[at];
      kept.mutable_data<bool>()[row * count + tokens[at]] = true;
    }
  }
  return where(kept, logits, kNothing);
}

// logits [B, V] / temperature. Where that overflows (a temperature near 0), the largest logit is subtracted first.
Tensor scaled(const Tensor& logits, double temperature) {
  const Tensor x = logits / temperature;
  if (all_finite(amax(x, {-1}))) return x;
  const Tensor wide = logits.to(kFloat64), top = amax(wide, {-1}, true);
  return ((wide - masked_fill(top, !isfinite(top), 0)) / temperature).to(logits.dtype());
}

Tensor chosen(const Tensor& logits, const GenerateOptions& options) {  // [B, V] -> [B]
  if (options.temperature == 0) return argmax(logits, -1);
  return multinomial(sampling_probabilities(logits, options), 1, false, options.generator).reshape({-1});
}

// Rows that continue one token at a time, independently of each other.
class Rows {
 public:
  Rows(int64_t count, const GenerateOptions& options)
      : options_(options), tokens_(static_cast<std::size_t>(count)), sums_(tokens_.size()), ended_(tokens_.size()) {}

  bool going() const { return std::find(ended_.begin(), ended_.end(), false) != ended_.end(); }

  // Chooses tokens by logits [B, V]; returns the column [B, 1] that the model reads next.
  Tensor append(const Tensor& logits) {
    const Tensor column = Tensor::empty({logits.size(0), 1}, kInt64);
    const Tensor wide = logits.to(kFloat64).contiguous();
    const std::vector<double> log_sums = detail::log_sums(wide);  // finds NaN before a token is chosen
    const std::vector<int64_t> next = chosen(logits, options_).to_vector<int64_t>();
    for (std::size_t row = 0; row < next.size(); ++row) {
      const int64_t token = ended_[row] ? options_.pad_token : next[row];
      column.mutable_data<int64_t>()[row] = token;
      if (ended_[row]) continue;
      add(row, token, wide.data<double>()[static_cast<int64_t>(row) * logits.size(1) + token] - log_sums[row]);
    }
    return column;
  }

  bool ended(std::size_t row) const { return ended_[row]; }
  void add(std::size_t row, int64_t token, double log_probability) {
    sums_[row] += log_probability;
    tokens_[row].push_back(token);
    ended_[row] = detail::ends(options_, tokens_[row]);
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

}  // namespace

Tensor sampling_probabilities(const Tensor& logits, const GenerateOptions& options) {
  Tensor x = scaled(logits, options.temperature);
  if (options.top_k > 0 && options.top_k < x.size(-1)) {
    const Tensor least = narrow(topk(x, options.top_k).values, -1, options.top_k - 1, 1);  // [B, 1]
    x = masked_fill(x, x < least, kNothing);
  }
  if (options.top_p < 1) x = nucleus(x, options.top_p);
  return softmax(x, -1);
}

Generated generate(NextTokenLogits& model, const Tensor& prompt, const GenerateOptions& options) {
  const PauseRecording pause;
  check(prompt, options);
  model.restart();
  if (options.beams > 1) return detail::beam_search(model, prompt, options);
  Rows rows(prompt.size(0), options);
  Tensor ids = prompt;  // [B, T]
  for (int64_t n = 0; n < options.max_new_tokens && rows.going(); ++n) {
    const Tensor logits = model.logits(ids);  // [B, V]
    detail::check_logits(logits, prompt.size(0));
    ids = cat({ids, rows.append(logits)}, 1);
  }
  return rows.result();
}

namespace {

// One of several independent sequences.
struct Sequence {
  std::vector<int64_t> ids;  // prompt and new tokens
  Generator draws;
  KVCache cache = {};
  bool ended = false;

  // All tokens that the model reads, [1, T].
  Tensor window(int64_t longest) const {
    const auto length = static_cast<int64_t>(ids.size()), kept = std::min(length, longest);
    return tensor(std::vector<int64_t>(ids.end() - kept, ids.end()), {1, kept});
  }
};

constexpr std::size_t kTogether = 16;  // sequences that read the weights together

// The logits [B, V] of the next tokens of some sequences.
Tensor next_logits(const Decoder& model, std::span<Sequence* const> of) {
  const int64_t longest = model.longest_input();
  std::vector<Tensor> alone;  // those that cannot continue what they have read
  std::vector<KVCache*> caches;
  std::vector<int64_t> last;
  for (Sequence* s : of) {
    const auto length = static_cast<int64_t>(s->ids.size());
    const bool fits = length <= longest;
    if (fits && s->cache.length() == length - 1) {
      caches.push_back(&s->cache);
      last.push_back(s->ids.back());
    } else {
      alone.push_back(model.hidden(s->window(longest), fits ? &s->cache : nullptr).slice(1, -1));  // [1, 1, C]
    }
  }
  const auto count = static_cast<int64_t>(last.size());
  if (count == 0) return model.head(cat(alone, 0).select(1, -1));
  const Tensor together = model.hidden_each(tensor(last, {count, 1}), caches);
  if (alone.empty()) return model.head(together.select(1, -1));
  // In the order of the sequences.
  std::vector<Tensor> rows;
  for (std::size_t i = 0, a = 0, t = 0; i < of.size(); ++i) {
    const bool is_alone = t == caches.size() || caches[t] != &of[i]->cache;
    rows.push_back(is_alone ? alone[a++] : narrow(together, 0, static_cast<int64_t>(t++), 1));
  }
  return model.head(cat(rows, 0).select(1, -1));
}

}  // namespace

Generated generate_each(const Decoder& model, std::span<const std::vector<int64_t>> prompts,
                        const GenerateOptions& options, uint64_t seed) {
  const InferenceMode inference;
  if (options.beams != 1) fail(kGenerate, "several sequences at once take one beam, got {}", options.beams);
  std::vector<Sequence> all;
  all.reserve(prompts.size());
  for (const std::vector<int64_t>& prompt : prompts) {
    const auto length = static_cast<int64_t>(prompt.size());
    check(tensor(prompt, {1, length}), options);
    all.push_back({.ids = prompt, .draws = Generator(seed + all.size())});
  }
  Rows rows(static_cast<int64_t>(all.size()), options);
  for (int64_t n = 0; n < options.max_new_tokens && rows.going(); ++n) {
    std::vector<Sequence*> going;
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (rows.ended(i)) continue;
      going.push_back(&all[i]);
      places.push_back(i);
    }
    for (std::size_t first = 0, count = 0; first < going.size(); first += count) {
      // A prompt is read alone, as it is without other sequences.
      count = std::min(n == 0 ? 1 : kTogether, going.size() - first);
      const Tensor logits = next_logits(model, std::span(going).subspan(first, count));
      const Tensor wide = logits.to(kFloat64).contiguous();
      const std::vector<double> log_sums = detail::log_sums(wide);
      for (std::size_t i = 0; i < count; ++i) {
        Sequence& s = *going[first + i];
        GenerateOptions own{.temperature = options.temperature, .top_k = options.top_k, .top_p = options.top_p};
        own.generator = &s.draws;
        const auto at = static_cast<int64_t>(i);
        const auto token = chosen(narrow(logits, 0, at, 1), own).item<int64_t>();
        s.ids.push_back(token);
        rows.add(places[first + i], token, wide.data<double>()[at * logits.size(1) + token] - log_sums[i]);
      }
    }
  }
  return rows.result();
}

Tensor greedy_decode(const Transformer& model, const Tensor& src, const Tensor& src_mask, int64_t length,
                     int64_t start) {
  require(length <= model.config.longest_input(), "greedy_decode",
          "a sequence of length {} is longer than max_position_embeddings {}", length, model.config.longest_input());
  TransformerNext next(model, src, src_mask);
  const Tensor prompt = full({src.size(0), 1}, static_cast<double>(start), kInt64);
  return generate(next, prompt, {.max_new_tokens = length}).tokens;
}

}  // namespace tapegrad::nn
