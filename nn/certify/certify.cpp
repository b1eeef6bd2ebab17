// The sections of a certificate, one after another.
// build: -Os
#include <fmt/format.h>
#include <tapegrad/autograd/random.h>
#include <tapegrad/nn/certify.h>
#include <tapegrad/nn/certify/detail/context.h>

#include <chrono>
#include <cstddef>
#include <vector>

namespace tapegrad::nn::detail {
namespace {

// The default generator continues afterwards as if nothing had been drawn.
struct RestoredDraws {
  std::vector<std::byte> state = default_generator().state();
  ~RestoredDraws() { default_generator().set_state(state); }
};

}  // namespace

Certificate certify(const CertifiedModel& single, const CertifiedModel& wide, const std::vector<Tensor>& batch,
                    const CertifyOptions& options) {
  if (options.points < 1 || options.directions < 1)
    fail("certify",
         fmt::format("expected points and directions of 1 or more, got {} and {}", options.points, options.directions));
  require_whole_visit(single.model);
  const RestoredDraws restored;
  const auto begin = std::chrono::steady_clock::now();
  Context c(single, wide, batch, options);
  if (loss_section(c)) {
    for (void (*add)(Context&) : {directions_section, taylor_section, tensors_section, operations_section,
                                  single_precision_section, equal_bits_section, examples_section, control_section})
      add(c);
  }
  c.page.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return std::move(c.page);
}

}  // namespace tapegrad::nn::detail
