// What a sequence-to-sequence task is to the loop that trains it.
#pragma once

#include <tapegrad/autograd/random.h>
#include <tapegrad/tasks/options.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tapegrad::tasks {

// int64 tokens: source [B, S], target [B, T].
struct Batch {
  Tensor source, target;
};

class Task {
 public:
  virtual ~Task() = default;

  // `count` fresh examples.
  virtual Batch draw(std::int64_t count, Generator& generator) const = 0;
  // Which source tokens may be seen, for nn::MultiHeadAttention.
  virtual Tensor source_mask(const Tensor& source) const;
  // What the decoder is given at first.
  virtual std::int64_t start_token() const { return 0; }
  // outputs [B, T, V] are log-probabilities. The loss is one number; accuracy is the share of examples that are right.
  virtual Tensor loss(const Tensor& outputs, const Tensor& target) const;
  virtual double accuracy(const Tensor& outputs, const Tensor& target) const;
  // How people read a token.
  virtual std::string token_text(std::int64_t token) const { return std::to_string(token); }
};

// The decoder's input in training: the start token, then the target without its last token. [B, T].
Tensor shifted(const Task& task, const Tensor& target);

// Error for a name that has no task.
std::unique_ptr<Task> make_task(const RunOptions& options);

}  // namespace tapegrad::tasks
