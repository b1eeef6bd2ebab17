// The list of paths.
#include <tapegrad/autograd/internal/op_path.h>

namespace tapegrad::detail {
namespace {

std::vector<const OpPath*>& paths() {
  static std::vector<const OpPath*>* const all = new std::vector<const OpPath*>;
  return *all;
}

}  // namespace

OpPath::OpPath(const Op& op, std::string_view name) : op(op), name(name) { paths().push_back(this); }

const std::vector<const OpPath*>& OpPath::all() { return paths(); }

}  // namespace tapegrad::detail
