// Ensembles: models of the same form, trained at once as one model whose parameters have an axis of members.
//
//   struct Nets {                                  // as a plain model with nn::Linear, with five members
//     nn::EnsembleLinear up{5, 8, 32}, down{5, 32, 1};
//     Tensor operator()(const Tensor& x) const { return down(relu(up(x))); }      // [B, 8] -> [5, B, 1]
//   };
//
// Five plain models become its members, and each is a plain model again:
//
//   nn::load_state_dict(nets, nn::stack_states(states));
//   nn::load_state_dict(plain, nn::member_state(nn::state_dict(nets), 3));
#pragma once

#include <tapegrad/autograd/named_tensor.h>
#include <tapegrad/nn/parameter.h>

#include <cstdint>
#include <vector>

namespace tapegrad::nn {

/// `members` layers of the form of Linear, in one batched matrix multiplication: x [members, B, in] -> [members, B,
/// out]. x [B, in] is the same for all members. The initial values are those of as many Linear, made one after the
/// other.
struct EnsembleLinear {
  /// Error unless all numbers are positive.
  EnsembleLinear(int64_t members, int64_t in, int64_t out, bool bias = true);
  Tensor operator()(const Tensor& x) const;  ///< error for another shape of x
  void visit(auto&& field) {
    field("weight", weight);
    field("bias", bias);
  }

  Parameter weight;  // [members, out, in]
  Parameter bias;    // [members, out], or none
};

/// The states of models of the same form as one: under each name the tensors of all, stacked along a new first axis.
/// Error for no states, and for names, shapes or types that differ. As torch.func.stack_module_state.
NamedTensors stack_states(const std::vector<NamedTensors>& states);

/// One member of such a state, under the same names. Error if there is no such member.
NamedTensors member_state(const NamedTensors& stacked, int64_t member);

}  // namespace tapegrad::nn
