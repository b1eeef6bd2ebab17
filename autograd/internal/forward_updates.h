// Changes that modules make to their own buffers in forward, such as running statistics: they can wait, so that
// processes that share the batches of a step make those of all batches, in order.
#pragma once

#include <tapegrad/autograd/tensor.h>

#include <functional>
#include <utility>
#include <vector>

namespace tapegrad::detail {

/// One change of a module's buffers: apply(statistics) makes it.
struct ForwardUpdate {
  const void* module;
  Tensor statistics;  ///< what depends on the batch; its shape and `apply` do not
  std::function<void(const Tensor& statistics)> apply;
};

/// While one is alive on this thread, changes wait in it; the modules must stay where they are until they are made.
/// Thread-local, as a module's call has no argument for it.
class ForwardUpdates {
 public:
  ForwardUpdates();
  ~ForwardUpdates();
  ForwardUpdates(const ForwardUpdates&) = delete;
  ForwardUpdates& operator=(const ForwardUpdates&) = delete;
  /// The one that is alive, or nullptr: changes are made at once.
  static ForwardUpdates* current();

  void add(ForwardUpdate update);
  /// Those since the last call, in order.
  std::vector<ForwardUpdate> take() { return std::exchange(waiting_, {}); }

 private:
  std::vector<ForwardUpdate> waiting_;
  ForwardUpdates* outer_;
};

}  // namespace tapegrad::detail
