// The list of operations.
#include <tapegrad/autograd/op.h>

namespace tapegrad {

namespace {

std::vector<const Op*>& registry() {
  static std::vector<const Op*>* const ops = new std::vector<const Op*>;
  return *ops;
}

}  // namespace

Op::Op(std::string_view name, OpTraits traits) : OpTraits(traits), name(name) { registry().push_back(this); }

const std::vector<const Op*>& Op::all() { return registry(); }

}  // namespace tapegrad
