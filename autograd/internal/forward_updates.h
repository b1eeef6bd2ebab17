// Updates of module buffers in forward, such as running statistics. They can be deferred, so that processes that share
// the batches of a step apply the updates of all batches, in order.
#pragma once

#include <tapegrad/autograd/tensor.h>

#include <functional>
#include <utility>
#include <vector>

namespace tapegrad::detail {

/// One update of a module's buffers, made by apply(statistics).
struct ForwardUpdate {
  const void* module;
  Tensor statistics;  ///< what depends on the batch; its shape and `apply` do not
  std::function<void(const Tensor& statistics)> apply;
};

/// While one is in scope on this thread, it collects the updates; the modules must stay at their addresses until these
/// are applied. It ends on the thread that made it. Thread-local, because a module's call has no argument for it.
class ForwardUpdates : NonCopyable {
 public:
  ForwardUpdates();
  ~ForwardUpdates();
  /// The innermost one on this thread; nullptr: updates are applied at once.
  static ForwardUpdates* current();

  void add(ForwardUpdate update);
  /// The updates since the last call, in order.
  std::vector<ForwardUpdate> take() { return std::exchange(waiting_, {}); }

 private:
  std::vector<ForwardUpdate> waiting_;
  ForwardUpdates* outer_;
};

}  // namespace tapegrad::detail
