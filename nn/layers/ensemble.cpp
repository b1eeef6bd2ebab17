// Layers of ensembles and their states.
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/nn/detail/check.h>
#include <tapegrad/nn/ensemble.h>
#include <tapegrad/nn/linear.h>

namespace tapegrad::nn {

EnsembleLinear::EnsembleLinear(int64_t members, int64_t in, int64_t out, bool bias) {
  require_positive("ensemble", "the number of members", members);
  std::vector<Tensor> weights, biases;
  for (int64_t i = 0; i < members; ++i) {
    const Linear one(in, out, bias);
    weights.push_back(one.weight.tensor().detach());
    if (bias) biases.push_back(one.bias.tensor().detach());
  }
  weight = Parameter(stack(weights));
  if (bias) this->bias = Parameter(stack(biases));
}

Tensor EnsembleLinear::operator()(const Tensor& x) const {
  const Tensor& w = weight.tensor();
  const bool shared = x.dim() == 2;
  if ((!shared && (x.dim() != 3 || x.size(0) != w.size(0))) || x.size(-1) != w.size(2)) {
    fail_near(weight, "ensemble",
              fmt::format("expected x [B, {1}] or [{0}, B, {1}] for {0} members, got {2}", w.size(0), w.size(2),
                          str(x.shape())));
  }
  const Tensor y = matmul(x, w.t());
  return bias.defined() ? y + bias.tensor().unsqueeze(1) : y;
}

namespace {

void require_same_form(const NamedTensors& first, const NamedTensors& state, std::size_t index) {
  require(state.size() == first.size(), "stack_states",
          "expected states with the same entries, got {} of them in state 0, and {} in state {}", first.size(),
          state.size(), index);
  for (std::size_t i = 0; i < first.size(); ++i) {
    const auto said = [](const NamedTensor& entry) {
      return fmt::format("\"{}\", {} {}", entry.name, name(entry.tensor.dtype()), str(entry.tensor.shape()));
    };
    const std::string expected = said(first[i]), got = said(state[i]);
    require(got == expected, "stack_states", "expected {} in state {}, as in state 0, got {}", expected, index, got);
  }
}

}  // namespace

NamedTensors stack_states(const std::vector<NamedTensors>& states) {
  if (states.empty()) fail("stack_states", "expected one state or more, got none");
  for (std::size_t i = 1; i < states.size(); ++i) require_same_form(states[0], states[i], i);
  NamedTensors stacked;
  for (std::size_t entry = 0; entry < states[0].size(); ++entry) {
    std::vector<Tensor> tensors;
    for (const NamedTensors& state : states) tensors.push_back(state[entry].tensor.detach());
    stacked.push_back({states[0][entry].name, stack(tensors)});
  }
  return stacked;
}

NamedTensors member_state(const NamedTensors& stacked, int64_t member) {
  NamedTensors state;
  for (const auto& [name, tensor] : stacked) {
    require(tensor.dim() != 0 && member >= 0 && member < tensor.size(0), "member_state",
            "expected a number of one of the members of \"{}\" {}, got {}", name, tensor.shape(), member);
    state.push_back({name, tensor.detach()[member].contiguous()});
  }
  return state;
}

}  // namespace tapegrad::nn
