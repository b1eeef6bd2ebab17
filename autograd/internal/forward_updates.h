// Changes that modules make to their own buffers in forward, such as running statistics: they can wait, so that
// processes that share the batches of a step make those of all batches, in order.
#pragma once

#include <tapegrad/autograd/tensor.h>

#include <functional>
#include <vector>

namespace tapegrad::detail {

/// One change: apply(news) makes it. What `news` holds depends on the batch; apply does not.
struct ForwardUpdate {
  Tensor news;
  std::function<void(const Tensor& news)> apply;
};

/// While one is alive on this thread, changes wait in it.
class ForwardUpdates {
 public:
  ForwardUpdates();
  ~ForwardUpdates();
  ForwardUpdates(const ForwardUpdates&) = delete;
  ForwardUpdates& operator=(const ForwardUpdates&) = delete;
  /// Those since the last call, in order.
  std::vector<ForwardUpdate> take() { return std::move(waiting_); }

  /// Makes a change at once, or lets it wait in the one that is alive. A computation that is repeated makes none.
  static void make(ForwardUpdate update);

 private:
  std::vector<ForwardUpdate> waiting_;
  ForwardUpdates* outer_;
};

}  // namespace tapegrad::detail
