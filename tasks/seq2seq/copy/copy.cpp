// Draws batches of the copy task.
#include <tapegrad/tasks/seq2seq/copy/copy.h>

namespace tapegrad::tasks {

const TaskInfo CopyTask::kInfo = info_of<CopyTask>();

void CopyTask::Settings::list(Fields& f) {
  Options{f, Group::data}("seq-length", "tokens per sequence", seq_length, kCount).example();
}

Batch CopyTask::draw(int64_t count, Generator& generator) const {
  const Tensor tokens = Tensor::empty({count, seq_length_}, kInt64);
  generator.randint(tokens.mutable_data<int64_t>(), tokens.numel(), 1, vocab_size_);
  return {tokens, tokens};
}

}  // namespace tapegrad::tasks
