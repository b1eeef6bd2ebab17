// The lists of operations and of their paths.
#include <tapegrad/autograd/internal/op_path.h>
#include <tapegrad/autograd/op.h>

namespace tapegrad {

namespace {

template <class T>
std::vector<const T*>& registry() {
  static std::vector<const T*>* const all = new std::vector<const T*>;
  return *all;
}

}  // namespace

Op::Op(std::string_view name, OpTraits traits) : OpTraits(traits), name(name) { registry<Op>().push_back(this); }

const std::vector<const Op*>& Op::all() { return registry<Op>(); }

namespace detail {

OpPath::OpPath(const Op& op, std::string_view name) : op(op), name(name) { registry<OpPath>().push_back(this); }

const std::vector<const OpPath*>& OpPath::all() { return registry<OpPath>(); }

}  // namespace detail

}  // namespace tapegrad
