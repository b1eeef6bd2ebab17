// Computes the samples of operations, with gradients.
#include <fmt/format.h>
#include <tapegrad/checks/cases/case.h>
#include <tapegrad/checks/computations.h>
#include <tapegrad/tapegrad.h>

#include <map>
#include <memory>
#include <set>

namespace tapegrad::tasks {
namespace {

// Their large matrices, and the full matrices of svd, are computed by LAPACK, whose builds differ in rounding.
const std::set<std::string_view> kOfLapack = {"qr", "eigh", "eigvalsh", "svd", "svdvals", "pinv"};

// The value of f, and the gradients of its inputs under an arbitrary gradient of the value.
void add_results(NamedTensors& out, const std::string& name, const Function& f, std::span<const Tensor> inputs) {
  manual_seed(1);  // of those that draw
  Tape tape;
  std::vector<Tensor> leaves;
  for (const Tensor& x : inputs) leaves.push_back(is_floating(x.dtype()) ? x.as_leaf() : x);
  const Tensor y = f(leaves);
  out.push_back({name, y.detach()});
  if (!is_floating(y.dtype()) || tape.size() == 0) return;
  Generator generator(2);
  const Tensor dy = (rand(y.shape(), kFloat32, &generator) - 0.4).to(y.dtype());
  const Gradients gradients = tape.backward(y, {.grad_output = dy});
  for (std::size_t i = 0; i < leaves.size(); ++i)
    if (const Tensor* dx = gradients.find(leaves[i])) out.push_back({fmt::format("{}, gradient {}", name, i), *dx});
}

std::vector<Tensor> in_float32(std::span<const Tensor> inputs) {
  std::vector<Tensor> out;
  for (const Tensor& x : inputs) out.push_back(is_floating(x.dtype()) ? x.to(kFloat32) : x);
  return out;
}

NamedTensors results_of(const OpSamples& small, std::span<const LargeSample* const> large) {
  NamedTensors out;
  for (const OpSample& sample : small.samples) {
    if (!sample.published) continue;
    if (kOfLapack.contains(small.op) && sample.label.find(", full") != std::string::npos) continue;
    const std::string name = fmt::format("{} {}", out.size(), sample.label);
    add_results(out, name, sample.f, sample.inputs);
    try {
      add_results(out, name + ", float32", sample.f, in_float32(sample.inputs));
    } catch (const Error&) {  // a function with constants in float64
    }
  }
  for (const LargeSample* sample : large)
    add_results(out, fmt::format("{} large", out.size()), sample->f, sample->inputs);
  return out;
}

}  // namespace

std::vector<Computation> operation_computations() {
  const auto larges = std::make_shared<const CaseTable>(large_cases());
  std::map<std::string, std::vector<const LargeSample*>> large_of;
  for (const LargeSample& sample : larges->larges)
    if (!kOfLapack.contains(sample.op)) large_of[sample.op].push_back(&sample);
  std::vector<Computation> out;
  for (const OpSamples& small : op_samples())
    out.push_back({small.op, [&small, larges, large = large_of[small.op]] { return results_of(small, large); }});
  return out;
}

}  // namespace tapegrad::tasks
