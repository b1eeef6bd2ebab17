// NoamOpt: Adam with the learning rate of Noam, as one object.
#pragma once

#include <tapegrad/optim/adam.h>
#include <tapegrad/optim/schedule.h>

#include <cstdint>
#include <utility>

namespace tapegrad::optim {

struct NoamOptions {
  int64_t hidden_size;                                                     ///< width of the model
  double factor = 1;                                                       ///< of all rates
  int64_t warmup = 4000;                                                   ///< steps of the rise
  AdamOptions adam = {.lr = 0, .beta1 = 0.9, .beta2 = 0.98, .eps = 1e-9};  ///< of the update; its lr is not used
};

/// Each step sets the rate factor hidden_size^-0.5 min(step^-0.5, step warmup^-1.5), steps counted from 1, and updates
/// by Adam: bit for bit adam.set_lr(Noam{...}(adam.steps() + 1)) and adam.step(). Vaswani et al. 2017; tutorial 003,
/// section 8.4, uses this name.
class NoamOpt {
 public:
  /// Error for an option out of range.
  NoamOpt(ParameterGroups parameters, const NoamOptions& options)
      : noam_{options.hidden_size, options.warmup, options.factor}, adam_(std::move(parameters), options.adam) {
    noam_.check();
  }

  /// Sets the rate of this step, and updates. The Errors of Adam.
  void step(const Gradients& grads) { at_next_rate().step(grads); }
  /// The same with backward of `loss`.
  void step(Tape& tape, const Tensor& loss) { at_next_rate().step(tape, loss); }

  /// The rate of a step, and the rate of the last one; 0 before the first.
  double rate(int64_t step) const { return noam_(step); }
  double rate() const { return adam_.steps() == 0 ? 0 : rate(adam_.steps()); }
  /// The Adam that updates the parameters: for its state, steps() and groups.
  Adam& optimizer() { return adam_; }

 private:
  Adam& at_next_rate() {
    adam_.set_lr(noam_(adam_.steps() + 1));
    return adam_;
  }

  Noam noam_;
  Adam adam_;
};

}  // namespace tapegrad::optim
