// The defaults of a task, and the list of tasks.
#include <fmt/format.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/nn/loss.h>
#include <tapegrad/nn/mask.h>
#include <tapegrad/tasks/copy.h>
#include <tapegrad/tasks/task.h>

namespace tapegrad::tasks {

Tensor Task::source_mask(const Tensor& source) const { return nn::padding_mask(source); }

Tensor Task::loss(const Tensor& outputs, const Tensor& target) const { return nn::sequence_loss(outputs, target); }

double Task::accuracy(const Tensor& outputs, const Tensor& target) const { return nn::exact_match(outputs, target); }

Tensor shifted(const Task& task, const Tensor& target) {
  const Tensor start = full({target.size(0), 1}, static_cast<double>(task.start_token()), kInt64);
  return cat({start, target.slice(1, kAll, -1)}, 1);
}

std::unique_ptr<Task> make_task(const RunOptions& options) {
  if (options.task == "copy") return std::make_unique<CopyTask>(options);
  fail("task", fmt::format("there is no task \"{}\": copy", options.task));
}

}  // namespace tapegrad::tasks
