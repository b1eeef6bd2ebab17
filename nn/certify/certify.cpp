// The sections of a certificate, one after another.
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/internal/op_path.h>
#include <tapegrad/nn/certify.h>
#include <tapegrad/nn/certify/detail/context.h>
#include <tapegrad/nn/module/internal/keep_generator.h>

#include <chrono>
#include <set>
#include <string>

namespace tapegrad::nn::detail {
namespace {

// The paths of operations that are not reached while it is alive.
class PathsReached {
 public:
  // "scaled_dot_product_attention by blocks of keys: not reached", of operations of which another path was.
  void name_others(std::vector<std::string>& unchecked) const {
    std::set<const Op*> reached;
    for (std::size_t i = 0; i < before_.size(); ++i)
      if (was_taken(i)) reached.insert(&paths()[i]->op);
    for (std::size_t i = 0; i < before_.size(); ++i)
      if (!was_taken(i) && reached.contains(&paths()[i]->op))
        unchecked.push_back(fmt::format("{} {}: not reached", paths()[i]->op.name, paths()[i]->name));
  }

 private:
  using OpPath = tapegrad::detail::OpPath;
  static const std::vector<const OpPath*>& paths() { return OpPath::all(); }
  static std::vector<int64_t> counts() {
    std::vector<int64_t> taken;
    for (const OpPath* path : paths()) taken.push_back(path->taken());
    return taken;
  }
  bool was_taken(std::size_t i) const { return paths()[i]->taken() > before_[i]; }
  const std::vector<int64_t> before_ = counts();
};

}  // namespace

Certificate certify(const CertifiedModel& single, const CertifiedModel& wide, const std::vector<Tensor>& batch,
                    const CertifyOptions& options) {
  if (options.points < 1 || options.directions < 1)
    fail("certify", "expected points and directions of 1 or more, got {} and {}", options.points, options.directions);
  require_whole_visit(single.model);
  const KeepGenerator keep;
  const PathsReached paths;
  const auto begin = std::chrono::steady_clock::now();
  Context c(single, wide, batch, options);
  if (loss_section(c)) {
    for (void (*add)(Context&) : {directions_section, taylor_section, tensors_section, operations_section,
                                  single_precision_section, equal_bits_section, examples_section, control_section})
      add(c);
    paths.name_others(c.page.unchecked);
  }
  c.page.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return std::move(c.page);
}

}  // namespace tapegrad::nn::detail
