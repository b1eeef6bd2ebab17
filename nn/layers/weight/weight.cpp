// Weights: products, formats, and updates of low rank.
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/nn/detail/check.h>
#include <tapegrad/nn/init.h>
#include <tapegrad/nn/weight.h>

#include <cmath>
#include <unordered_map>
#include <unordered_set>

namespace tapegrad::nn {

// --- updates ---

LowRank::LowRank(int64_t in, int64_t out, int64_t rank, double alpha, double dropout, DType dtype)
    : scale(alpha / static_cast<double>(rank)), dropout(dropout) {
  require_positive("lora", "the number of inputs", in);
  require_positive("lora", "the number of outputs", out);
  require_positive("lora", "rank", rank);
  require_in("lora", "alpha", alpha, kPositive);
  a = Parameter(zeros({rank, in}, dtype));
  b = Parameter(zeros({out, rank}, dtype));
  init::kaiming_uniform(a, std::sqrt(5.0));
}

Tensor LowRank::operator()(const Tensor& x) const { return linear(linear(dropout(x), a) * scale, b); }

Tensor LowRank::product() const { return matmul(b, a) * scale; }

// --- one weight ---

std::string_view Weight::type() const { return is_quantized() ? format_->name : tapegrad::name(tensor().dtype()); }

Tensor Weight::product(const Tensor& x, const Tensor& bias) const {
  return updated(x, is_quantized() ? linear(x, quantized(), bias) : linear(x, tensor(), bias));
}

Tensor Weight::rows(const Tensor& ids, std::optional<int64_t> padding, bool sparse) const {
  return is_quantized() ? embedding(quantized(), inputs_, ids) : embedding(tensor(), ids, padding, sparse);
}

Tensor Weight::matrix() const {
  const Tensor own = is_quantized()              ? dequantize(quantized(), inputs_)
                     : is_half(tensor().dtype()) ? tensor().to(kFloat32)
                                                 : tensor();
  return low_rank ? own + low_rank->product() : own;
}

void Weight::store(const WeightFormat& format) {
  if (is_quantized()) fail("weight", "expected a floating weight, got {}", type());
  if (!defined()) return;
  if (format.dtype) return convert(*format.dtype);
  const Tensor& w = tensor();
  w.require_writable(format.name, name());
  const QuantizedMatrix matrix =
      init::Skip::on() ? quantized_zeros(w.size(0), w.size(1), format) : quantize(w.to(kFloat32), format);
  format_ = &format;
  inputs_ = w.size(1);
  values_ = Buffer(Tensor(matrix.values));
  scales_ = Buffer(Tensor(matrix.scales));
  static_cast<Parameter&>(*this) = Parameter();
}

// --- those of a model ---

namespace detail {

namespace {

class StoringVisitor : public Visitor {
 public:
  explicit StoringVisitor(const WeightFormat& format) : format_(format) {}
  void weight(std::string_view, Weight& weight) override { weight.store(format_); }

 private:
  const WeightFormat& format_;
};

class UpdatableVisitor : public Visitor {
 public:
  std::vector<NamedWeight> weights;

  void weight(std::string_view, Weight& weight) override {
    if (weight.updatable && weight.exists() && seen_.insert(&weight).second) weights.push_back({path(), weight});
  }

 private:
  std::unordered_set<const Weight*> seen_;
};

class QuantizedVisitor : public Visitor {
 public:
  std::unordered_map<std::string, const WeightFormat*> formats;  // of quantised weights by name

  void weight(std::string_view name, Weight& weight) override {
    if (weight.is_quantized()) formats.emplace(fmt::format("{}.{}", path(), name), &weight_format(weight.type()));
  }
};

}  // namespace

std::vector<NamedWeight> updatable_weights(const AnyModel& model) {
  UpdatableVisitor found;
  model.walk(found);
  return std::move(found.weights);
}

void store(const AnyModel& model, const WeightFormat& format) {
  StoringVisitor storing(format);
  model.walk(storing);
}

NamedTensors stored_state(const AnyModel& model, NamedTensors state) {
  QuantizedVisitor quantized;
  model.walk(quantized);
  NamedTensors out;
  for (NamedTensor& entry : state) {
    const auto at = quantized.formats.find(entry.name);
    if (at == quantized.formats.end() || !entry.tensor.defined() || entry.tensor.dim() != 2 ||
        !is_floating(entry.tensor.dtype())) {
      out.push_back(std::move(entry));
      continue;
    }
    const QuantizedMatrix matrix = quantize(entry.tensor.to(kFloat32), *at->second);
    out.push_back({fmt::format("{}_{}", entry.name, at->second->name), matrix.values});
    out.push_back({entry.name + "_scales", matrix.scales});
  }
  return out;
}

}  // namespace detail

const WeightFormat* quantized_format(const NamedTensors& state) {
  for (const WeightFormat* format : weight_formats()) {
    const std::string end = fmt::format(".weight_{}", format->name);
    for (const NamedTensor& entry : state)
      if (entry.name.ends_with(end)) return format;
  }
  return nullptr;
}

}  // namespace tapegrad::nn
