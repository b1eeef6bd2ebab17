// The exponential moving average of weights.
#pragma once

#include <tapegrad/autograd/named_tensor.h>

#include <cstdint>

namespace tapegrad::optim {

struct AverageOptions {
  double decay = 0.999;  ///< share of the average that remains in each update
  bool warmup = false;   ///< update n uses min(decay, (1 + n) / (10 + n)), so that initial values fade sooner
};

/// Each update computes average = decay average + (1 - decay) parameter; the first one copies the parameters. For
/// evaluation:
///
///   optim::ExponentialAverage average(nn::parameters(model), {.decay = 0.999});
///   adam.step(grads);
///   average.update();
///   {
///     const optim::ExponentialAverage::Use use(average);   // the model has the averaged weights
///     evaluate(model);
///   }                                                      // and its own weights again
class ExponentialAverage {
 public:
  /// Error for no parameters, for one that is not a leaf, and for a decay outside [0, 1).
  explicit ExponentialAverage(NamedTensors parameters, AverageOptions options = {});

  /// Updates the averages with the current values of the parameters.
  void update();
  int64_t updates() const { return updates_; }
  /// The averages under the parameters' names: load_state_dict(copy, average.averages(), false) loads them into a
  /// model.
  NamedTensors averages() const { return averages_; }

  /// While one is in scope, the parameters have the averages as values. Error while a tape in scope has recorded them.
  class Use : NonCopyable {
   public:
    explicit Use(ExponentialAverage& average);
    ~Use();

   private:
    ExponentialAverage& average_;
    NamedTensors own_;
  };

  /// The averages and "updates". load_state: Error with the name of a missing or mis-shaped entry; nothing is changed
  /// then.
  NamedTensors state() const;
  void load_state(const NamedTensors& state);

 private:
  NamedTensors parameters_, averages_;
  AverageOptions options_;
  int64_t updates_ = 0;
};

}  // namespace tapegrad::optim
