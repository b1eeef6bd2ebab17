// Throws an Error; one of an operation, while a tape records, with its place in the model.
#include <tapegrad/autograd/leaf_names.h>
#include <tapegrad/autograd/op.h>
#include <tapegrad/autograd/tape.h>

#include <algorithm>

namespace tapegrad {

void fail(std::string_view where, std::string_view message) {
  const std::vector<const Op*>& ops = Op::all();
  const bool of_operation = std::any_of(ops.begin(), ops.end(), [&](const Op* op) { return op->name == where; });
  const std::string place = of_operation && Tape::current() ? detail::place_of(detail::last_leaf) : "";
  throw Error(error_text(where, std::string(message) + place));
}

}  // namespace tapegrad
