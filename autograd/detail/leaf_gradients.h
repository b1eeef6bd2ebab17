// Gradients of leaves as soon as backward has them: for updates during backward, and for whoever sends them to other
// processes meanwhile.
#pragma once

#include <tapegrad/autograd/tensor.h>

namespace tapegrad::detail {

/// The next backward of this thread gives the gradients of leaves to this object, each when it is complete, instead of
/// returning them. Unless it retains the graph, take() may change the leaf's values.
class TakeLeafGradients {
 public:
  TakeLeafGradients();
  virtual ~TakeLeafGradients();
  TakeLeafGradients(const TakeLeafGradients&) = delete;
  TakeLeafGradients& operator=(const TakeLeafGradients&) = delete;

  virtual void take(const TapeIndex& leaf, const Tensor& grad) = 0;
  /// Called after every operation's backward.
  virtual void ran_node() {}
};

}  // namespace tapegrad::detail
