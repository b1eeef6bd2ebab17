// The copy task (tutorial, section 8.5.1): the output is the input.
#pragma once

#include <tapegrad/tasks/seq2seq/task.h>

#include <string>

namespace tapegrad::tasks {

// Sequences of seq_length tokens, each drawn from 1 .. vocab_size - 1; source and target are the same tensor.
class CopyTask : public Task {
 public:
  static constexpr std::string_view kName = "copy";
  static RunOptions defaults() { return {}; }
  static int64_t longest(const RunOptions& options) { return options.seq_length; }

  explicit CopyTask(const RunOptions& options) : vocab_size_(options.vocab_size), seq_length_(options.seq_length) {}
  Batch draw(int64_t count, Generator& generator) const override;
  // The mean of the last ten batches of the tutorial's own run: nine without a fault, one with 38 of 40 right.
  double test_target() const override { return 0.995; }
  std::string explain(const Batch* example) const override;

 private:
  int64_t vocab_size_, seq_length_;
};

}  // namespace tapegrad::tasks
