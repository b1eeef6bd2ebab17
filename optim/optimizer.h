// The base of all optimisers: groups of parameters, the learning rate, the parallel update, and state in and out.
#pragma once

#include <tapegrad/autograd/named_tensor.h>
#include <tapegrad/autograd/tape.h>

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tapegrad::optim {

class Mismatch;

/// Parameters with their own settings; missing settings are the optimiser's.
struct ParameterGroup {
  NamedTensors parameters;               ///< leaves, by path
  std::optional<double> lr{};            ///< learning rate
  std::optional<double> weight_decay{};  ///< in the optimiser's own form
};

/// What an optimiser updates: groups, or parameters that are one group with the optimiser's settings.
struct ParameterGroups : std::vector<ParameterGroup> {
  ParameterGroups(std::vector<ParameterGroup> groups) : vector(std::move(groups)) {}  // NOLINT: converts
  ParameterGroups(NamedTensors parameters) : vector(1) { front().parameters = std::move(parameters); }  // NOLINT
  ParameterGroups(std::initializer_list<ParameterGroup> groups) : vector(groups) {}
  ParameterGroups(std::initializer_list<NamedTensor> parameters) : ParameterGroups(NamedTensors(parameters)) {}
};

/// Updates parameters in place, after Tape::backward has released them. While a tape in scope still holds one, step()
/// throws an Error with its name.
///
/// A subclass calls the constructor with the names of its state tensors (Adam: {"m", "v"}; each parameter then has one
/// of each, with its shape and type, initially 0) and overrides update(), which computes new values for a range of
/// elements of one parameter from slot.grad and writes them to slot.parameter and slot.buffers. update() runs on
/// several threads at once, for ranges that do not overlap, so it must not change the optimiser. Everything else is
/// done here:
///
///   class Sign : public optim::Optimizer {
///    public:
///     Sign(optim::ParameterGroups parameters, double lr) : Optimizer(std::move(parameters), lr, 0, {}) {}
///
///    private:
///     void update(const Slot& slot, int64_t begin, int64_t end) override {   // float32 parameters
///       float* p = slot.parameter.mutable_data<float>();
///       const float* g = slot.grad.data<float>();
///       for (int64_t i = begin; i < end; ++i) p[i] -= static_cast<float>(group_lr(slot.group)) * (g[i] > 0 ? 1 : -1);
///     }
///   };
class Optimizer : NonCopyable {
 public:
  virtual ~Optimizer() = default;

  /// One update. Error, before anything is written, for a parameter without a gradient, for gradients of leaves that
  /// are not parameters of this optimiser (a module's visit may leave out a layer), and for a gradient that is not
  /// finite. Frozen parameters keep their values and their state; once unfrozen, they are updated like the others.
  void step(const Gradients& grads);
  /// The same as step(tape.backward(loss)), bit for bit, in less memory: each parameter is updated while backward runs,
  /// as soon as its gradient is complete, and the gradient is freed. Some operations may read any parameter in backward
  /// (Reads::anything: custom operations, on_grad hooks, recompute(), reversible(), odeint with the adjoint method).
  /// Then updates wait until backward has run all of them, and gradients are kept until then. The same Errors, and one
  /// for a loss that is not finite, before anything is written. But if backward itself fails, an operation returns no
  /// gradient for a parameter that it used, or a gradient is not finite, some parameters may be updated already. It
  /// cannot be combined with functions that need all gradients first, such as clip_grad_norm.
  void step(Tape& tape, const Tensor& loss);
  void zero_grad() = delete;  // gradients are returned by backward, not stored: leave zero_grad() out
  /// Parameters without a gradient keep their values.
  void allow_missing(bool allow) { allow_missing_ = allow; }
  /// Ignores gradients of these leaves, if there are any, such as the parameters of a model that another optimiser
  /// trains.
  ///
  ///     of_generator.ignore(nn::parameters(critic));
  ///
  /// Error for a parameter of this optimiser, and for a tensor that is not a leaf.
  void ignore(const NamedTensors& others);
  /// Ignores gradients of all other leaves. This hides a layer that a visit leaves out, so prefer ignore().
  void allow_unknown(bool allow) { allow_unknown_ = allow; }
  /// Whether the gradient of this leaf, which is no parameter, is ignored.
  bool ignores(const TapeIndex& leaf) const;

  /// The learning rate of groups without their own, and the rate of one group.
  double lr() const { return lr_; }
  void set_lr(double lr);
  double group_lr(std::size_t group) const;
  void set_group_lr(std::size_t group, double lr);
  std::size_t groups() const { return groups_.size(); }
  int64_t steps() const { return steps_; }  ///< completed calls of step()

  /// What an exact continuation needs in addition to the parameters: "steps", "lr", and one tensor per parameter
  /// and state tensor ("m.<name>", "v.<name>"). A snapshot: later steps do not change it.
  NamedTensors state() const;
  /// Error with the name of a missing, unexpected or mis-shaped entry; nothing is changed then.
  void load_state(const NamedTensors& state);

  /// All parameters, in the order in which the constructor received them.
  NamedTensors parameters() const;
  /// The rule's own numbers by name, {{"momentum", 0.9}}, without rates and decays: processes that train together
  /// compare them.
  virtual std::vector<std::pair<std::string_view, double>> settings() const { return {}; }

 protected:
  /// One parameter.
  struct Slot {
    std::string name;
    Tensor parameter;
    std::size_t group = 0;
    int64_t steps = 0;            ///< updates of this parameter, including the current one
    std::vector<Tensor> buffers;  ///< its state tensors, one per name; empty handles where it has none
    Tensor grad;                  ///< contiguous; only during a step
    int64_t start = 0;            ///< offset of its elements among those of all parameters of a step
    /// For a gradient in rows (RowGradient), the ids of the rows. In update(), the parameter and its state are then
    /// copies of these rows, which are written back afterwards.
    Tensor rows{};
  };
  static ParameterGroups one_group(NamedTensors parameters) { return parameters; }  // of rules written for 0.2
  /// The shape of a state tensor of a parameter; std::nullopt if the parameter has no such tensor.
  using BufferShape = std::optional<Shape> (*)(std::size_t buffer, const Tensor& parameter);
  /// Error for no parameters, for a parameter that occurs twice, for a tensor that is not a leaf, and for a rate or
  /// decay that is negative or not finite. Without `buffer_shape`, state tensors have the shape of their parameter.
  Optimizer(ParameterGroups groups, double lr, double weight_decay, std::vector<std::string> buffer_names,
            BufferShape buffer_shape = nullptr);
  /// Updates elements [begin, end) of one parameter, on any thread.
  virtual void update(const Slot& slot, int64_t begin, int64_t end) = 0;
  /// Called once per step before any update, with the largest Slot::steps of the step.
  virtual void begin_step(int64_t /*steps*/) {}
  /// Updates all parameters of a step: divides them into ranges and calls update() for each, in parallel. An optimiser
  /// whose update is not elementwise overrides it and is_elementwise(), and uses tensor operations, which are not
  /// recorded.
  virtual void update_all(const PoolVector<Slot*>& slots);
  /// Whether an element's update depends on that element alone, so that processes may share a parameter's update.
  virtual bool is_elementwise() const { return true; }
  /// The name of an option with which it would be wrong to update only the rows of a table that a batch has read
  /// (nn::EmbeddingOptions::sparse), for the Error; empty if there is none. Weight decay always throws this Error.
  virtual std::string_view prevents_rows() const { return "another update rule"; }
  /// Sets the initial value of all state tensors, if not 0.
  void start_buffers_at(double value);
  double weight_decay_of(const Slot& slot) const { return groups_[slot.group].weight_decay; }

 private:
  struct Group {
    std::optional<double> lr;
    double weight_decay;
  };
  // An entry of state() other than "steps" and "lr".
  struct StateEntry {
    std::string name;
    Shape shape;  // of the whole
    std::size_t parameter, buffer;
  };
  std::vector<StateEntry> state_entries() const;
  NamedTensors state_counts() const;
  Tensor state_start(const StateEntry& entry) const;
  // Elements [begin, end) of a parameter, in row-major order.
  struct Range {
    int64_t begin = 0, end = 0;
    int64_t size() const { return end - begin; }
  };
  friend class UpdateShare;  // optim/internal/share.h
  bool has_share() const { return !share_.empty(); }
  Tensor part_of(std::size_t slot, const Tensor& whole) const;
  using ReadElements = std::function<Tensor(const std::string& name, int64_t begin, int64_t end)>;
  void load_state(const NamedTensors& state, const ReadElements& read);
  // Updates each parameter as soon as backward has its gradient.
  class UpdateInBackward;
  std::optional<Shape> shape_of(std::size_t buffer, const Slot& slot) const;
  void make_buffers(Slot& slot);
  const Slot* find(const TapeIndex& leaf) const;
  Slot* find(const TapeIndex& leaf) { return const_cast<Slot*>(std::as_const(*this).find(leaf)); }
  void take_gradient(Slot& slot, const Tensor& grad) const;
  void take_rows(Slot& slot, const RowGradient& grad) const;
  static void require_finite(const Slot& slot);
  class RowCopies;
  void prepare_write(const PoolVector<Slot*>& slots);
  void gather(const Gradients& grads);
  void begin_update();
  void update_slots(const PoolVector<Slot*>& slots);
  void find_missing(const Slot& slot, Mismatch& wrong) const;
  void require_no_share() const;
  void require_missing_allowed(const Slot& slot) const;
  void require_group(std::size_t group) const;
  std::vector<Group> groups_;
  std::vector<Slot> slots_;
  std::vector<std::pair<int64_t, std::size_t>> slot_of_leaf_;  // sorted by the leaf's number
  std::vector<bool> named_;                                    // slots whose leaf had a module's name at first
  std::vector<int64_t> ignored_;                               // leaves' numbers, sorted
  PoolVector<Slot*> active_;                                   // those of this step
  std::vector<Range> share_;                                   // of each slot; empty: everything
  std::vector<std::string> buffer_names_;
  BufferShape buffer_shape_;
  double buffer_start_ = 0;
  double lr_;
  int64_t steps_ = 0;
  bool allow_missing_ = false, allow_unknown_ = false;
};

}  // namespace tapegrad::optim
