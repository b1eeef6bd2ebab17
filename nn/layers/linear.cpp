// The affine layer.
#include <fmt/format.h>
#include <tapegrad/nn/detail/check.h>
#include <tapegrad/nn/init.h>
#include <tapegrad/nn/linear.h>

#include <cmath>

namespace tapegrad::nn {

namespace {

Shape weight_shape(int64_t in, int64_t out) {
  require_positive("linear", "the number of inputs", in);
  require_positive("linear", "the number of outputs", out);
  return {out, in};
}

}  // namespace

Linear::Linear(int64_t in, int64_t out, bool bias) : weight(Parameter(init::blank(weight_shape(in, out)))) {
  weight.updatable = true;
  init::kaiming_uniform(weight, std::sqrt(5.0));
  if (!bias) return;
  this->bias = Parameter(init::blank({out}));
  const double bound = 1 / std::sqrt(static_cast<double>(in));
  init::uniform(this->bias, -bound, bound);
}

std::string Linear::describe() const {
  if (!weight.exists()) return "nn::Linear()";
  return fmt::format("nn::Linear({}, {}{})", weight.inputs(), weight.outputs(), bias.defined() ? "" : ", false");
}

}  // namespace tapegrad::nn
