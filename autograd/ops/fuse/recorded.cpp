// fuse: runs the program of a formula, and records it.
// build: -Os
#include <tapegrad/autograd/fuse.h>

#include <tapegrad/autograd/detail/op_timer.h>
#include <tapegrad/autograd/kernels/kernel.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/ops/fuse/detail/program.h>

#include <algorithm>
#include <utility>

namespace tapegrad {

const ElementwiseOp kFuse{"fuse"};

namespace {

using FusedProgramPtr = std::shared_ptr<const FusedProgram>;
using FusedOperands = std::vector<Tensor, pool::Allocator<Tensor>>;

Tensor apply_program(const FusedProgramPtr& program, const Shape& shape, std::span<const Tensor> x);

// The gradients of operands: one pass for all of them or, where backward is recorded, an operation for each.
Grads program_gradients(const FusedProgramPtr& program, uint32_t wanted, const FusedOperands& dy_and_x) {
  const Shape& shape = dy_and_x[0].shape();
  const DType dtype = dy_and_x[0].dtype();
  std::vector<Tensor> computed;
  if (!Tape::current() && wanted != 0) computed = program->gradient(wanted)->run(shape, dy_and_x, false);
  Grads grads;
  std::size_t next = 0;
  for (std::size_t i = 0; i + 1 < dy_and_x.size(); ++i) {
    if ((wanted >> i & 1U) == 0) {
      grads.push_back(Tensor());
    } else if (Tape::current()) {
      const FusedProgramPtr one = program->gradient(1U << i);
      grads.push_back(one->is_zero(0) ? zeros(shape, dtype) : apply_program(one, shape, dy_and_x));
    } else {
      const Tensor& dx = computed[next++];
      grads.push_back(dx.defined() ? dx : zeros(shape, dtype));  // of step functions: 0, as on tensors
    }
  }
  return grads;
}

// y of `shape`; operands that the program does not use may be empty handles.
Tensor apply_program(const FusedProgramPtr& program, const Shape& shape, std::span<const Tensor> x) {
  Tensor y = program->run(shape, x, true)[0];
  uint32_t wanted = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (x[i].defined() && program->uses(static_cast<int>(i)) && needs_grad(x[i])) wanted |= 1U << i;
  }
  if (wanted == 0) return y;
  const FusedProgramPtr derivative = program->gradient(wanted);
  FusedOperands kept(1 + x.size());  // dy comes first
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (derivative->uses(static_cast<int>(i) + 1)) kept[i + 1] = x[i];
  }
  return record(kFuse, std::move(y), x,
                [program, wanted, kept = std::move(kept)](const Tensor& dy, const BackwardPass& pass) -> Grads {
                  uint32_t now = wanted;
                  for (std::size_t i = 0; i + 1 < kept.size(); ++i) {
                    if (!pass.wants(i)) now &= ~(1U << i);
                  }
                  FusedOperands dy_and_x = kept;
                  dy_and_x[0] = dy;
                  return program_gradients(program, now, dy_and_x);
                });
}

}  // namespace

struct FusedMemory::Last {
  std::vector<FuseTerm> terms;
  int32_t result;
  FusedProgramPtr program;
};

FusedMemory::FusedMemory() = default;
FusedMemory::~FusedMemory() = default;

std::shared_ptr<const FusedProgram> FusedMemory::program_of(const SymbolGraph& graph, int32_t result, int operands) {
  const std::lock_guard lock(mutex_);
  if (!last_ || last_->result != result || last_->terms != graph.terms()) {
    auto [terms, place] = with_idioms(graph.terms(), result);
    Last last{graph.terms(), result, nullptr};
    last.program = std::make_shared<const FusedProgram>(std::move(terms), std::vector<int32_t>{place}, operands);
    last_ = std::make_unique<Last>(std::move(last));
  }
  return last_->program;
}

std::unique_ptr<SymbolGraph> FusedMemory::take_graph() {
  const std::lock_guard lock(mutex_);
  if (graphs_.empty()) return std::make_unique<SymbolGraph>();
  std::unique_ptr<SymbolGraph> graph = std::move(graphs_.back());
  graphs_.pop_back();
  return graph;
}

void FusedMemory::give_back(std::unique_ptr<SymbolGraph> graph) {
  graph->clear();
  const std::lock_guard lock(mutex_);
  graphs_.push_back(std::move(graph));
}

FusedCall::FusedCall(FusedMemory& memory) : memory_(memory), graph_(memory.take_graph()) {}
FusedCall::~FusedCall() { memory_.give_back(std::move(graph_)); }

Symbol FusedCall::argument(const Tensor& x) {
  tensors_[count_] = x;
  return graph_->operand(static_cast<int32_t>(count_++));
}

Tensor FusedCall::result(const Symbol& y) {
  const OpTimer timer(kFuse, {tensors_[0]});
  const std::span<Tensor> x(tensors_, count_);
  Shape shape = x[0].shape();
  for (const Tensor& each : x.subspan(1)) {
    if (each.shape() != shape) shape = broadcast(kFuse.name, shape, each.shape());
  }
  const auto with_axes = std::ranges::find_if(x, [](const Tensor& each) { return each.dim() > 0; });
  const DType dtype = with_axes == x.end() ? x[0].dtype() : with_axes->dtype();
  for (Tensor& each : x) {
    if (each.dim() == 0 && is_floating(each.dtype()) && is_floating(dtype)) each = each.to(dtype);
  }
  for (const Tensor& each : x) require_floating(kFuse.name, {&x[0], &each});
  return apply_program(memory_.program_of(*graph_, graph_->place(y), static_cast<int>(count_)), shape, x);
}

}  // namespace tapegrad
