// The copy task (tutorial, section 8.5.1): the output is the input.
#pragma once

#include <tapegrad/tasks/task.h>

#include <string>

namespace tapegrad::tasks {

// Sequences of seq_length tokens, each drawn from 1 .. vocab_size - 1; source and target are the same tensor.
class CopyTask : public Task {
 public:
  explicit CopyTask(const RunOptions& options) : vocab_size_(options.vocab_size), seq_length_(options.seq_length) {}
  Batch draw(std::int64_t count, Generator& generator) const override;

 private:
  std::int64_t vocab_size_, seq_length_;
};

// The section's explanation as a text: an example of the data, the masks, and the loss computed by hand. `example` is
// one sequence; the tutorial's where it is empty.
std::string explain_copy(const std::vector<std::int64_t>& example = {}, std::int64_t vocab_size = 20);

}  // namespace tapegrad::tasks
