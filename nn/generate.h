// Sequences out of a trained model: greedy, beam search, sampling (tutorial, section 8.4.3).
#pragma once

#include <tapegrad/autograd/inplace_function.h>
#include <tapegrad/nn/gpt.h>

#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace tapegrad {
class Generator;
}

namespace tapegrad::nn {

// What decoding asks of a model: scores of the next token. It may remember what it has read.
class NextToken {
 public:
  virtual ~NextToken() = default;
  // A new prompt follows: what was read is to be forgotten. generate() begins with it.
  virtual void restart() {}
  // ids [B, T] int64, T >= 1: all tokens so far -> logits or log-probabilities of the next one, [B, V]. From the second
  // call on, ids are those of the call before (or the rows that reorder() chose of them) and one token more a row.
  virtual Tensor scores(const Tensor& ids) = 0;
  // Row i goes on from what row rows[i] was; rows [B'] int64, B' may differ from B. For beams.
  virtual void reorder(const Tensor& rows) = 0;
};

// A model that remembers nothing, as a function from ids to scores: NextTokenBy next([&](const Tensor& ids) { ... });
template <class F>
class NextTokenBy final : public NextToken {
 public:
  explicit NextTokenBy(F f) : f_(std::move(f)) {}
  Tensor scores(const Tensor& ids) override { return f_(ids); }
  void reorder(const Tensor&) override {}

 private:
  F f_;
};

// The encoder-decoder. The source is encoded once; `cached`, every token is decoded once, too (keys and values of those
// before are kept), otherwise all of them at every step, with equal results. The model should be in eval mode.
class TransformerNext final : public NextToken {
 public:
  // src [B, S], src_mask as for encode(). A source of nothing but padding is read as an empty one: attention finds
  // nothing and gives zeros.
  TransformerNext(const Transformer& model, const Tensor& src, const Tensor& src_mask = {}, bool cached = true);
  void restart() override;
  Tensor scores(const Tensor& ids) override;
  void reorder(const Tensor& rows) override;

 private:
  const Transformer& model_;
  bool cached_;
  Tensor source_, source_mask_;  // [B, S, C], as it came
  Tensor memory_;                // the same, its rows as reordered, where nothing is cached
  DecoderCache cache_;
};

// GPT. Of more tokens than it takes, it reads the last ones, and then all of them at every step. Otherwise `cached`,
// every token is read once. The model should be in eval mode.
class GPTNext final : public NextToken {
 public:
  explicit GPTNext(const GPTModel& model, bool cached = true) : model_(model), cached_(cached) {}
  void restart() override { cache_ = {}; }
  Tensor scores(const Tensor& ids) override;
  void reorder(const Tensor& rows) override;

 private:
  const GPTModel& model_;
  bool cached_;
  KVCache cache_;
};

// Greedy by default; sampling where temperature is not 0; beam search where beams is not 1.
struct GenerateOptions {
  int64_t max_new_tokens = 0;             // 0: an empty target
  std::optional<int64_t> end_token = {};  // ends a row and is part of it
  int64_t pad_token = 0;                  // stands behind rows that ended before others, and is what they read
  // Asked after every token, with the tokens of one row so far (never none): true ends the row. Also the place to show
  // tokens as they come. Not asked where end_token has ended the row.
  mutable InplaceFunction<bool(std::span<const int64_t>)> stop = {};

  // Sampling: softmax(scores / temperature) over the top_k likeliest tokens (0: all; those that tie with the last one
  // stay), and of these over the fewest whose probabilities sum to top_p (Holtzman et al. 2020, nucleus sampling).
  // Draws as torch.multinomial, one call a step over all rows, also for those that have ended.
  double temperature = 0;
  int64_t top_k = 0;
  double top_p = 1;
  Generator* generator = nullptr;  // the global one where it is left out

  // Beam search. Searches of width 1, 2, ... `beams` go side by side and share equal sequences; the best sequence of
  // all of them counts. So width 1 is greedy, and a wider search never scores below a narrower one.
  int64_t beams = 1;
  // A sequence's score is its log-probability divided by ((5 + length) / 6)^length_penalty. Wu et al. 2016.
  double length_penalty = 0;
};

struct Generated {
  Tensor tokens;                 // [B, N] int64, without the prompt; N is the longest row's length
  std::vector<int64_t> lengths;  // of each row
  std::vector<double> scores;    // of each row: its log-probability under the model, over the length penalty
};

// From prompt [B, T] int64, T >= 1 (a start token at least). A row ends by its first token that is end_token or that
// `stop` says so to (then it has length 1), or after max_new_tokens. Nothing is recorded. Errors: options out of range,
// and whatever the model refuses.
Generated generate(NextToken& model, const Tensor& prompt, const GenerateOptions& options);

// scores [B, V] -> the probabilities [B, V] that sampling draws from, temperature > 0.
Tensor sampling_probabilities(const Tensor& scores, const GenerateOptions& options);

// Greedy decoding: from `start`, always the likeliest next token, `length` times (0: none). src [B, S] -> [B, length]
// int64 without the start token. The model should be in eval mode. Error when length exceeds what the model takes.
Tensor greedy_decode(const Transformer& model, const Tensor& src, const Tensor& src_mask, int64_t length,
                     int64_t start = 0);

}  // namespace tapegrad::nn
