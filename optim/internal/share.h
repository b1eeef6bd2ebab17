// A share of an optimiser's update, for distributed::DataParallel (ZeRO stage 1).
#pragma once

#include <tapegrad/optim/optimizer.h>

#include <string>
#include <vector>

namespace tapegrad::optim {

/// Lets an optimiser update only some elements of its parameters, and keep the state of these alone. The optimiser
/// stores its share; an UpdateShare only refers to the optimiser, so it can be constructed for each use.
class UpdateShare {
 public:
  using Range = Optimizer::Range;
  using StateEntry = Optimizer::StateEntry;
  explicit UpdateShare(Optimizer& optimizer) : optimizer_(optimizer) {}

  /// Whether parameters may be cut anywhere.
  bool may_cut() const { return optimizer_.is_elementwise(); }
  /// From now on the optimiser updates these elements only, one range per parameter. Optimizer::step() and state() then
  /// throw Error; load_state() takes the state of whole parameters. Error if parameters cannot be cut and a range is
  /// neither empty nor the whole parameter.
  void keep(std::vector<Range> share);
  /// Throws the Errors of Optimizer::step for the gradients of the share: one per parameter, with as many elements as
  /// its range; an empty handle for a parameter without a gradient.
  void check(const std::vector<Tensor>& grads) const;
  /// The update, after check(grads). Other elements of the parameters may then be written to, by the process that has
  /// their values.
  void step(const std::vector<Tensor>& grads);

  /// What must be equal in processes that share the update: rates and decays by group, and frozen parameters, a line
  /// each.
  std::string rates() const;
  /// The entries of Optimizer::state() except the first two; state_counts() returns these two, "steps" and "lr".
  std::vector<StateEntry> state_entries() const { return optimizer_.state_entries(); }
  NamedTensors state_counts() const { return optimizer_.state_counts(); }
  /// Optimizer::load_state, but of each tensor of `shapes` after these two only name, shape and type are used; `read`
  /// returns the elements [begin, end) of the share, flat.
  void load_state(const NamedTensors& shapes, const Optimizer::ReadElements& read) {
    optimizer_.load_state(shapes, read);
  }
  /// The entry's elements in the share.
  Tensor state_of(const StateEntry& entry) const;
  /// The entry's initial value, whole.
  Tensor state_start(const StateEntry& entry) const { return optimizer_.state_start(entry); }

 private:
  class Views;
  using Slot = Optimizer::Slot;
  Optimizer& optimizer_;
};

}  // namespace tapegrad::optim
