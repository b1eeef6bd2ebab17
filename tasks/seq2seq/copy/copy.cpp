// Draws batches of the copy task, and explains it.
#include <tapegrad/autograd/ops.h>
#include <tapegrad/tasks/language/texts.h>
#include <tapegrad/tasks/seq2seq/copy/copy.h>
#include <tapegrad/tasks/seq2seq/loss_values.h>

namespace tapegrad::tasks {

const TaskInfo CopyTask::kInfo = info_of<CopyTask>();

void CopyTask::Settings::list(Fields& f) {
  f.add({.name = "seq-length", .help = "tokens per sequence", .group = Group::data, .limits = kCount, .example = true},
        seq_length);
}

Batch CopyTask::draw(int64_t count, Generator& generator) const {
  const Tensor tokens = Tensor::empty({count, seq_length_}, kInt64);
  generator.randint(tokens.mutable_data<int64_t>(), tokens.numel(), 1, vocab_size_);
  return {tokens, tokens};
}

std::string CopyTask::explain(const Batch* example) const {
  const Tokens tokens = example ? example->source.to_vector<int64_t>() : Tokens{7, 15, 2, 3, 12};
  std::vector<Value> values = loss_values({0.9, 0.1, 0, 0, 0, 0.1, 0.8, 0.1, 0, 0, 0,   0.1, 0.9, 0, 0,
                                           0.8, 0.2, 0, 0, 0, 0.1, 0.7, 0.2, 0, 0, 0.1, 0.1, 0.8, 0, 0},
                                          {0, 1, 2, 0, 1, 2}, 2, 4);
  values.insert(values.end(), {{"length", tokens.size()},
                               {"tokens", tokens},
                               {"largest", vocab_size_ - 1},
                               {"read", shifted(tokens)},
                               {"seen", Tokens(tokens.size(), 1)},
                               {"causal", causal_mask_text(tokens.size())}});
  return essay("tasks/seq2seq/copy/explain.txt", values);
}

}  // namespace tapegrad::tasks
