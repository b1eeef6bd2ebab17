// What all optimisers share: groups of parameters, the learning rate, and state that goes in and out.
#pragma once

#include <tapegrad/autograd/named_tensor.h>
#include <tapegrad/autograd/tape.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace tapegrad::optim {

// Leaves that are trained with settings of their own; what is left out is the optimiser's.
struct ParameterGroup {
  NamedTensors parameters;
  std::optional<double> lr{};
  std::optional<double> weight_decay{};
};

// Writes new values into the parameters, in place: after Tape::backward has released them (Error that names the
// parameter while a live tape still holds it).
class Optimizer {
 public:
  virtual ~Optimizer() = default;
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  // One update. Error, by name and before anything is written, when a parameter has no gradient, unless
  // allow_missing(true) says to leave such a parameter as it is.
  void step(const Gradients& grads);
  void allow_missing(bool allow) { allow_missing_ = allow; }

  // The rate of the groups that did not name one of their own, or that of one group.
  double lr() const { return lr_; }
  void set_lr(double lr);
  double group_lr(std::size_t group) const;
  void set_group_lr(std::size_t group, double lr);
  std::size_t groups() const { return groups_.size(); }
  int64_t steps() const { return steps_; }  // calls of step()

  // Everything that an exact continuation needs beside the parameters: "steps", "lr", and a tensor for every parameter
  // and buffer ("m.<name>", "v.<name>"). A snapshot: later steps do not change it.
  NamedTensors state() const;
  // Error that names a missing, unexpected or mis-shaped entry, and then nothing is changed.
  void load_state(const NamedTensors& state);

 protected:
  struct Slot {  // one parameter
    std::string name;
    Tensor parameter;
    std::size_t group = 0;
    int64_t steps = 0;            // updates of this parameter
    std::vector<Tensor> buffers;  // one for each of buffer_names
    Tensor grad;                  // while a step lasts; contiguous
    int64_t start = 0;            // where it begins when all parameters of a step are seen as one row
  };
  // Errors: no parameter at all, one twice, one that is no leaf, a rate or decay that is negative or not finite.
  Optimizer(std::vector<ParameterGroup> groups, double lr, double weight_decay, std::vector<std::string> buffer_names);
  // Updates elements [begin, end) of one parameter, on any thread; `steps` counts this update already.
  virtual void update(const Slot& slot, int64_t begin, int64_t end) = 0;
  double weight_decay_of(const Slot& slot) const { return groups_[slot.group].weight_decay; }

 private:
  struct Group {
    std::optional<double> lr;
    double weight_decay;
  };
  void gather(const Gradients& grads);
  std::vector<Group> groups_;
  std::vector<Slot> slots_;
  std::vector<Slot*> active_;  // those of this step
  std::vector<std::string> buffer_names_;
  double lr_;
  int64_t steps_ = 0;
  bool allow_missing_ = false;
};

}  // namespace tapegrad::optim
