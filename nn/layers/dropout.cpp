// Dropout as a module.
#include <fmt/format.h>
#include <tapegrad/autograd/check.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/nn/dropout.h>

namespace tapegrad::nn {

Dropout::Dropout(double p) : p(p) { require_probability("dropout", "p", p); }

Tensor Dropout::operator()(const Tensor& x) const { return dropout(x, p, training); }

std::string Dropout::describe() const { return fmt::format("nn::Dropout({:g})", p); }

}  // namespace tapegrad::nn
