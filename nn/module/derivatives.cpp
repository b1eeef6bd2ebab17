// Derivatives with respect to parameters, which are substituted by arguments.
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/nn/derivatives.h>

namespace tapegrad::nn::detail {

namespace {

constexpr std::string_view kFunctionalCall = "functional_call";

// Everything is checked before anything is substituted.
void require_like(const NamedParameter& p, const Tensor& value) {
  const Tensor& own = p.parameter.tensor();
  require(is_floating(own.dtype()), kFunctionalCall, "expected a model in float32 or float64, got {} for {}",
          own.dtype(), p.name);
  require(value.shape() == own.shape() && is_floating(value.dtype()), kFunctionalCall,
          "expected float32 or float64 {} for {}, got {} {}", own.shape(), p.name, value.dtype(), value.shape());
}

}  // namespace

std::vector<Tensor> parameter_values(const AnyModel& model) {
  std::vector<Tensor> values;
  for (const NamedParameter& p : named_parameters(model, false)) values.push_back(p.parameter.tensor());
  return values;
}

Tensor parameters_to_vector(const AnyModel& model) {
  std::vector<Tensor> rows;
  for (const Tensor& value : parameter_values(model)) rows.push_back(value.reshape({-1}));
  return rows.empty() ? zeros({0}) : cat(rows);
}

void vector_to_parameters(const Tensor& v, const AnyModel& model) {
  const std::vector<NamedParameter> parameters = named_parameters(model, false);
  int64_t count = 0;
  for (const NamedParameter& p : parameters) {
    p.parameter->require_writable("parameter", p.name);
    count += p.parameter->numel();
  }
  if (!(v.shape() == Shape{count}) || !is_floating(v.dtype())) {
    fail("vector_to_parameters", "expected float32 or float64 {} for all parameters, got {} {}", Shape{count},
         v.dtype(), v.shape());
  }
  const Tensor values = v.detach().clone();  // it may share memory with the parameters
  int64_t begin = 0;
  for (const NamedParameter& p : parameters) {
    const Shape shape = p.parameter->shape();
    p.parameter.set(values.slice(0, begin, begin + shape.numel()).reshape(shape));
    begin += shape.numel();
  }
}

Substitution::Substitution(const AnyModel& model, std::span<const Tensor> values)
    : parameters_(named_parameters(model, false)) {
  require(values.size() == parameters_.size(), kFunctionalCall, "expected one tensor per parameter, got {} for {}",
          values.size(), parameters_.size());
  for (std::size_t i = 0; i < values.size(); ++i) require_like(parameters_[i], values[i]);
  before_.reserve(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    before_.push_back(parameters_[i].parameter.tensor());
    parameters_[i].parameter.substitute(values[i]);
  }
}

Substitution::~Substitution() {
  for (std::size_t i = 0; i < before_.size(); ++i) {
    Parameter& parameter = parameters_[i].parameter;
    parameter.substitute(before_[i]);
    const std::string name(parameter.name());  // the leaf gets its name back, which substitution removed
    parameter.set_name("");
    parameter.set_name(name);
  }
}

}  // namespace tapegrad::nn::detail
