// A formula of fuse() as a program for kernels, and its derivatives.
#pragma once

#include <tapegrad/autograd/ops/fuse/detail/graph.h>

#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

namespace tapegrad {

class FusedProgram {
 public:
  /// `results`: places of terms; -1 for a result that is 0. `operands`: how many the formula has.
  FusedProgram(std::vector<FuseTerm> terms, std::vector<int32_t> results, int operands);

  bool uses(int operand) const { return used_[static_cast<std::size_t>(operand)]; }
  bool is_zero(std::size_t result) const { return results_[result] < 0; }
  std::size_t results() const { return results_.size(); }

  /// The results, of this shape: empty handles for those that are 0. Operands that are not used may be empty
  /// handles. Unless `fresh`, a result that is just an operand of this shape shares that tensor. Not recorded.
  std::vector<Tensor> run(const Shape& shape, std::span<const Tensor> operands, bool fresh) const;

  /// The gradients of the first result with respect to the operands whose bits are set, in order, as a program of dy
  /// and the operands. It is made once.
  std::shared_ptr<const FusedProgram> gradient(uint32_t wanted) const;

 private:
  // One call of a kernel. Places: operands, then tiles, then results.
  struct Instruction {
    const Formula* formula;
    int32_t count, to;
    std::array<int32_t, FuseTerm::kMostOperands> operands;
    Scalars scalars;
  };
  struct Number {
    int32_t tile;
    double value;
  };
  struct Run;
  class Lowering;
  std::shared_ptr<const FusedProgram> derive(uint32_t wanted) const;
  static void run_pieces(const void* const* x, void* y, int64_t n, const void* context);
  template <class T>
  void run_tiles(const void* const* x, void* y, int64_t n, const Run& run) const;

  std::vector<FuseTerm> terms_;
  std::vector<int32_t> results_;
  std::vector<bool> used_;
  // lowered
  std::vector<int32_t> inputs_;    // operands that kernels read
  std::vector<int32_t> computed_;  // results that kernels write
  std::vector<Instruction> instructions_;
  std::vector<Number> numbers_;
  int32_t tiles_ = 0;
  MapWork work_ = MapWork::light;
  mutable std::mutex mutex_;
  mutable std::vector<std::pair<uint32_t, std::shared_ptr<const FusedProgram>>> gradients_;
};

}  // namespace tapegrad
