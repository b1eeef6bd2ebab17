// Looks for values that are not finite, and says where they are.
// build: -Os
#include <tapegrad/autograd/detail/nan_trap.h>
#include <tapegrad/autograd/detail/tape_memory.h>
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/leaf_names.h>
#include <tapegrad/autograd/ops.h>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

namespace tapegrad::detail {

namespace {

bool is_finite(const Tensor& x) { return all_finite(x.detach()); }

}  // namespace

TapeIndex nearest_leaf(const TapeMemory& memory, int64_t position) {
  std::vector<int64_t> reached{position};
  std::vector<bool> seen(static_cast<std::size_t>(position) + 1);
  for (std::size_t i = 0; i < reached.size(); ++i) {
    const Node& node = memory.node(reached[i]);
    if (node.leaf.defined() && !leaf_name(node.leaf.tape_index()).empty()) return node.leaf.tape_index();
    for (const int64_t from : memory.inputs_of(node)) {
      if (from < 0 || seen[static_cast<std::size_t>(from)]) continue;
      seen[static_cast<std::size_t>(from)] = true;
      reached.push_back(from);
    }
  }
  return {};
}

void require_finite(const TapeMemory& memory, const Tensor& x, std::string_view op, int64_t position,
                    std::string_view what) {
  if (is_finite(x)) return;
  std::string inputs;
  for (const int64_t from : memory.inputs_of(memory.node(position)))
    inputs +=
        fmt::format("{}{}", inputs.empty() ? ", inputs " : ", ", from < 0 ? "constant" : str(memory.node(from).shape));
  const TapeIndex leaf = nearest_leaf(memory, position);
  const std::string near = leaf.tape == 0 ? "" : fmt::format(", near \"{}\"", leaf_name(leaf));
  last_leaf = {};  // this error has its place
  fail(op, "the {} is not finite at position {} of the tape: shape {} {}{}{}", what, position, x.shape(), x.dtype(),
       inputs, near);
}

void require_finite_result(const TapeMemory& memory, const Op& op, const Tensor& y, std::span<const Input> inputs) {
  if (is_finite(y)) return;
  const auto is_infinite = [](const Tensor& x) { return x.defined() && !is_finite(x); };
  const bool may_have_masks = op.selects || std::any_of(inputs.begin(), inputs.end(), is_infinite);
  // The comparison is false for NaN.
  if (may_have_masks && amax(y.detach()).item() < std::numeric_limits<double>::infinity()) return;
  require_finite(memory, y, op.name, memory.size() - 1, "value");
}

}  // namespace tapegrad::detail
