// The exponential moving average of weights.
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/op.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/optim/average.h>
#include <tapegrad/optim/detail/check.h>
#include <tapegrad/optim/detail/state.h>

#include <algorithm>

namespace tapegrad::optim {

namespace {

constexpr std::string_view kAverage = "average";

void write(const NamedTensors& parameters, const NamedTensors& values) {
  const PauseRecording pause;
  for (const NamedTensor& p : parameters) p.tensor.require_writable(kAverage, p.name);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    parameters[i].tensor.prepare_write(kAverage, parameters[i].name, Tensor::Values::discard);
    copy_into(parameters[i].tensor, values[i].tensor);
  }
}

NamedTensors copies(const NamedTensors& of) {
  NamedTensors all;
  for (const NamedTensor& p : of) all.push_back({p.name, p.tensor.clone()});
  return all;
}

}  // namespace

ExponentialAverage::ExponentialAverage(NamedTensors parameters, AverageOptions options)
    : parameters_(std::move(parameters)), options_(options) {
  require_in(kAverage, "decay", options.decay, kBelowOne);
  if (parameters_.empty()) fail(kAverage, "expected at least one parameter, got none");
  for (const NamedTensor& p : parameters_) {
    require(p.tensor.defined() && p.tensor.is_leaf(), kAverage,
            "expected leaves, got \"{}\", which is not one (use parameters(model), or as_leaf())", p.name);
  }
  averages_ = copies(parameters_);
}

void ExponentialAverage::update() {
  const PauseRecording pause;
  ++updates_;
  const double n = static_cast<double>(updates_);
  const double decay = options_.warmup ? std::min(options_.decay, (1 + n) / (10 + n)) : options_.decay;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    Tensor& average = averages_[i].tensor;
    const Tensor now = parameters_[i].tensor.detach();
    average = updates_ == 1 ? now.clone() : average + (1 - decay) * (now - average);
  }
}

ExponentialAverage::Use::Use(ExponentialAverage& average) : average_(average), own_(copies(average.parameters_)) {
  write(average.parameters_, average.averages_);
}

ExponentialAverage::Use::~Use() { write(average_.parameters_, own_); }

NamedTensors ExponentialAverage::state() const {
  NamedTensors state = averages_;
  state.push_back({"updates", tensor(std::vector<int64_t>{updates_}, {1})});
  return state;
}

void ExponentialAverage::load_state(const NamedTensors& state) {
  StateEntries entries(kAverage, state);
  NamedTensors averages;
  for (const NamedTensor& p : averages_) {
    averages.push_back({p.name, entries.take(p.name, p.tensor.shape(), p.tensor.dtype()).clone()});
  }
  const int64_t updates = entries.take("updates", {1}, kInt64).to_vector<int64_t>()[0];
  entries.require_end();
  if (updates < 0) fail(kAverage, "expected 0 or more updates in the state, got {}", updates);
  averages_ = std::move(averages);
  updates_ = updates;
}

}  // namespace tapegrad::optim
