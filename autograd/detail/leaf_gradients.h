// Gradients of leaves as soon as backward has them: for updates during backward, and for whoever sends them to other
// processes meanwhile.
#pragma once

#include <tapegrad/autograd/tensor.h>

namespace tapegrad::detail {

/// The next backward of this thread gives the gradients of leaves to this object, each when it is complete, instead of
/// returning them.
class TakeLeafGradients {
 public:
  TakeLeafGradients();
  virtual ~TakeLeafGradients();
  TakeLeafGradients(const TakeLeafGradients&) = delete;
  TakeLeafGradients& operator=(const TakeLeafGradients&) = delete;

  virtual void take(const TapeIndex& leaf, const Tensor& grad) = 0;
  /// Called after every operation's backward, and after take(). `may_write`: nothing that is still to run reads the
  /// leaves that were taken so far (Reads), so, unless the graph is retained, their values may be changed.
  virtual void ran_node(bool may_write) = 0;
};

}  // namespace tapegrad::detail
