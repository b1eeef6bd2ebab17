// The loss of copy, of addition, and of every task that has no loss of its own.
#include <tapegrad/nn/loss.h>
#include <tapegrad/tasks/seq2seq/task.h>

namespace tapegrad::tasks {

Tensor Task::loss(const Tensor& outputs, const Tensor& target) const { return nn::sequence_loss(outputs, target); }

}  // namespace tapegrad::tasks
