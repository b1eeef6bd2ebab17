// Gradient checks of whole modules: the parameters are more inputs of the function that is checked.
#include <fmt/format.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/random.h>
#include <tapegrad/nn/gradcheck.h>
#include <tapegrad/nn/module/internal/keep_generator.h>

namespace tapegrad::nn::detail {

namespace {

// The values of a parameter, moved.
Tensor moved(const Tensor& parameter, Generator& generator, double move) {
  const Tensor moves = Tensor::empty(parameter.shape(), kFloat64);
  generator.uniform(moves.mutable_data<double>(), moves.numel(), -move, move);
  return parameter.detach() + moves;
}

}  // namespace

GradcheckReport gradcheck(const AnyModel& model, std::vector<Tensor> inputs, tapegrad::detail::GradcheckFunction call,
                          const ModuleGradcheckOptions& options) {
  require_whole_visit(model);
  const KeepGenerator keep;
  convert(model, kFloat64);
  const std::vector<NamedParameter> parameters = named_parameters(model, true);
  for (Tensor& input : inputs) {
    if (is_floating(input.dtype())) input = input.detach().to(kFloat64);
  }
  const std::size_t count = inputs.size();
  std::vector<std::string> names;
  Generator generator(options.seed);
  for (const NamedParameter& p : parameters) {
    names.push_back(p.name);
    inputs.push_back(moved(p.parameter.tensor(), generator, options.move));
  }
  auto f = [&](std::span<const Tensor> x) {
    manual_seed(options.seed);
    for (std::size_t i = 0; i < parameters.size(); ++i) parameters[i].parameter.substitute(x[count + i]);
    return call(x.first(count));
  };
  const auto called = [](void* p, std::span<const Tensor> x) { return (*static_cast<decltype(f)*>(p))(x); };
  GradcheckReport report = tapegrad::detail::gradcheck({&f, called, names}, inputs, options.gradcheck);
  const auto at = static_cast<std::size_t>(report.input) - count;
  if (report.index >= 0 && at < names.size())
    report.text += fmt::format(" (element {} of {})", report.index, names[at]);
  return report;
}

}  // namespace tapegrad::nn::detail
