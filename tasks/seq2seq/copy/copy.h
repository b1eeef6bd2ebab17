// The copy task (tutorial 003, section 8.5.1): the output is the input.
#pragma once

#include <tapegrad/tasks/seq2seq/task.h>

namespace tapegrad::tasks {

// Sequences of seq_length tokens, each drawn from 1 .. vocab_size - 1; source and target are the same tensor. Its loss
// is in tasks/seq2seq/loss.cpp.
class CopyTask : public Task {
 public:
  static const TaskInfo kInfo;
  static constexpr std::string_view kName = "copy", kHelp = "copy a sequence of tokens (tutorial 003, 8.5.1)";
  struct Settings {
    int64_t seq_length = 20;
    void list(Fields& fields);
  };
  static RunOptions defaults() { return {kInfo, Settings{}}; }
  static int64_t longest(const RunOptions& options) { return options.of<CopyTask>().seq_length; }

  explicit CopyTask(const RunOptions& options)
      : vocab_size_(options.config.vocab_size),
        seq_length_(longest(options)),
        most_tokens_(options.config.longest_input()) {}
  Batch draw(int64_t count, Generator& generator) const override;
  // "7 15 2" or "7,15,2"
  Batch read_text(std::string_view text) const override;
  // The accuracy over the last ten batches of the tutorial's run: nine with 40 of 40 right, one with 38.
  double test_target() const override { return 0.995; }

 private:
  int64_t vocab_size_, seq_length_, most_tokens_;
};

}  // namespace tapegrad::tasks
