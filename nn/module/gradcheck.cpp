// Gradient checks of whole modules: the parameters are one more input of the function that is checked.
#include <fmt/format.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/random.h>
#include <tapegrad/nn/gradcheck.h>
#include <tapegrad/nn/module/detail/keep_generator.h>

namespace tapegrad::nn::detail {

namespace {

// All parameters in one row, moved off their values.
Tensor joined(const std::vector<NamedParameter>& parameters, const ModuleGradcheckOptions& options) {
  Generator generator(options.seed);
  std::vector<Tensor> rows;
  for (const NamedParameter& p : parameters) {
    const Tensor moves = Tensor::empty({p.parameter->numel()}, kFloat64);
    generator.uniform(moves.mutable_data<double>(), moves.numel(), -options.move, options.move);
    rows.push_back(p.parameter.tensor().detach().reshape({-1}) + moves);
  }
  return cat(rows);
}

// " (element 3 of up.weight)": the parameter that has element `index` of the row.
std::string owner(const std::vector<NamedParameter>& parameters, int64_t index) {
  for (const NamedParameter& p : parameters) {
    if (index < p.parameter->numel()) return fmt::format(" (element {} of {})", index, p.name);
    index -= p.parameter->numel();
  }
  return {};
}

}  // namespace

GradcheckReport gradcheck(const AnyModel& model, std::vector<Tensor> inputs, const ModuleCall& call,
                          const ModuleGradcheckOptions& options) {
  require_whole_visit(model);
  const KeepGenerator keep;
  convert(model, kFloat64);
  const std::vector<NamedParameter> parameters = named_parameters(model, true);
  for (Tensor& input : inputs) {
    if (is_floating(input.dtype())) input = input.detach().to(kFloat64);
  }
  const std::size_t count = inputs.size();
  if (!parameters.empty()) inputs.push_back(joined(parameters, options));
  const auto f = [&](std::span<const Tensor> x) {
    manual_seed(options.seed);
    int64_t begin = 0;
    for (const NamedParameter& p : parameters) {
      const Shape shape = p.parameter->shape();
      p.parameter.substitute(narrow(x[count], 0, begin, shape.numel()).reshape(shape));
      begin += shape.numel();
    }
    return call(x.first(count));
  };
  GradcheckReport report = tapegrad::gradcheck(f, inputs, options.gradcheck);
  if (report.input == static_cast<int>(count) && report.index >= 0) report.text += owner(parameters, report.index);
  return report;
}

}  // namespace tapegrad::nn::detail
