// Forward mode: tangents that are computed together with their tensors, and die with them. jvp and batch_jacobian are
// made of it.
//
// Forward passes and tapes nest in layers. What is recorded while a forward pass is alive gets a tangent at once from
// the backward that the operation gives to record(), which is then dropped, or kept by the tape among the layers: the
// one that encloses the pass, or one with OuterTensors::tangents that began in it. Tangents are computed in the layers
// outside their pass, so that these differentiate them in turn.
#pragma once

#include <tapegrad/autograd/pool.h>
#include <tapegrad/autograd/tape.h>

#include <cstdint>
#include <vector>

namespace tapegrad::detail {

/// The tangents of one forward pass, in the order of their tensors' places.
struct Tangents {
  explicit Tangents(bool may_refuse) : may_refuse(may_refuse) {}
  struct Entry {
    TapeIndex of;
    Tensor tangent;
  };
  std::vector<Entry> entries;  // not in the pool, whose lock a fork takes before that of the list of passes
  int64_t numbered = 0;        // tensors that are on no tape
  const bool may_refuse;
  bool refused = false;
  const Tape* pass = nullptr;
  const Tape* inner = nullptr;  // while tangents are computed, what is innermost otherwise
  Tangents* next = nullptr;     // in the list of all passes
};

/// A forward pass of this thread, from its construction to its destruction. Passes may nest.
class ForwardPass {
 public:
  /// With Refusal::noted, an operation whose backward cannot be differentiated does not throw: its result has no
  /// tangent, and refused() returns true.
  enum class Refusal { error, noted };
  explicit ForwardPass(Refusal refusal = Refusal::error);
  ~ForwardPass();
  ForwardPass(const ForwardPass&) = delete;
  ForwardPass& operator=(const ForwardPass&) = delete;

  /// x with the tangent v, which has its shape and type.
  Tensor variable(const Tensor& x, const Tensor& v) const;
  /// The tangent of y, zeros if y does not depend on the variables.
  Tensor tangent(const Tensor& y) const;
  /// y without what belongs to this pass.
  Tensor result(const Tensor& y) const;
  bool refused() const { return tangents_.refused; }

 private:
  Tangents tangents_;
  const Tape tape_;
};

}  // namespace tapegrad::detail
