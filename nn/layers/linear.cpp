// The affine layer.
#include <fmt/format.h>
#include <tapegrad/autograd/kernels/product/few_rows.h>
#include <tapegrad/autograd/ops.h>
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

Linear::Linear(int64_t in, int64_t out, bool bias) : weight(Tensor::empty(weight_shape(in, out))) {
  init::kaiming_uniform(weight, std::sqrt(5.0));
  if (!bias) return;
  this->bias = Parameter(Tensor::empty({out}));
  const double bound = 1 / std::sqrt(static_cast<double>(in));
  init::uniform(this->bias, -bound, bound);
}

Tensor Linear::operator()(const Tensor& x) const {
  const Tensor y = int8.defined() ? linear(x, int8.matrix(), bias) : linear(x, weight, bias);
  return low_rank ? y + (*low_rank)(x) : y;
}

LowRank::LowRank(int64_t in, int64_t out, int64_t rank, double alpha, double dropout, DType dtype)
    : scale(alpha / static_cast<double>(rank)), dropout(dropout) {
  require_positive("lora", "the number of inputs", in);
  require_positive("lora", "the number of outputs", out);
  require_positive("lora", "rank", rank);
  if (!(alpha > 0 && std::isfinite(alpha))) fail("lora", fmt::format("alpha must be positive, got {}", alpha));
  a = Parameter(zeros({rank, in}, dtype));
  b = Parameter(zeros({out, rank}, dtype));
  init::kaiming_uniform(a, std::sqrt(5.0));
}

Tensor LowRank::operator()(const Tensor& x) const { return linear(linear(dropout(x), a) * scale, b); }

Tensor LowRank::product() const { return matmul(b, a) * scale; }

void Int8Weight::replace(Parameter& weight) {
  weight->require_writable("int8", weight.name());
  const int64_t rows = weight->size(0), groups = (weight->size(1) + kInt8Group - 1) / kInt8Group;
  const Int8Matrix matrix = init::Skip::on()
                                ? Int8Matrix{zeros({rows, groups * kInt8Group / 8}, kInt64), zeros({rows, groups})}
                                : quantize_int8(weight->to(kFloat32));
  values = Buffer(Tensor(matrix.values));
  scales = Buffer(Tensor(matrix.scales));
  weight = Parameter();
}

}  // namespace tapegrad::nn
