// Recording: how an operation gets onto the tape.
#include <tapegrad/autograd/detail/tape_memory.h>
#include <tapegrad/autograd/op.h>
#include <tapegrad/autograd/tape.h>

namespace tapegrad {

namespace {

std::vector<const Op*>& registry() {
  static std::vector<const Op*>* const ops = new std::vector<const Op*>;
  return *ops;
}

}  // namespace

Op::Op(std::string_view name, bool twice) : name(name), twice(twice) { registry().push_back(this); }

const std::vector<const Op*>& Op::all() { return registry(); }

// A friend of Tape.
template <class Inputs>
Tensor record_on(Tape* tape, const Op& op, Tensor y, const Inputs& inputs, Backward&& backward) {
  if (!tape) return y;
  detail::TapeMemory& memory = *tape->memory_;
  const std::size_t first = memory.inputs.size();
  bool connected = false;
  for (const Tensor& x : inputs) {
    const int64_t position = x.defined() ? tape->position_of(x) : -1;
    connected |= position >= 0;
    memory.inputs.push_back(position);
  }
  if (!connected) {
    memory.inputs.resize(first);
    return y;
  }
  if (y.tape_index().tape != 0) y = y.view(y.shape(), y.strides());  // one of the inputs itself: a handle of its own
  detail::Node& node = memory.push(&op, y);
  node.backward = std::move(backward);
  node.first_input = static_cast<int64_t>(first);
  node.input_count = static_cast<uint32_t>(inputs.size());
  if (tape->trap_nan_) tape->check_finite(y, op.name, memory.size() - 1, "value");
  y.set_tape_index({tape->id_, memory.size() - 1});
  return y;
}

Tensor record(const Op& op, Tensor y, std::initializer_list<Input> inputs, Backward&& backward) {
  return record_on(Tape::current(), op, std::move(y), inputs, std::move(backward));
}

Tensor record(const Op& op, Tensor y, std::span<const Tensor> inputs, Backward&& backward) {
  return record_on(Tape::current(), op, std::move(y), inputs, std::move(backward));
}

bool needs_grad(const Tensor& x) {
  Tape* tape = Tape::current();
  return tape && x.defined() && tape->position_of(x) >= 0;
}

}  // namespace tapegrad
