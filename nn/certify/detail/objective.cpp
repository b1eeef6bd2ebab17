// The loss of a model as a function, of values that replace those of its parameters.
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/random.h>
#include <tapegrad/nn/certify/detail/objective.h>
#include <tapegrad/nn/embedding.h>

#include <cmath>
#include <map>
#include <typeinfo>

namespace tapegrad::nn::detail {
namespace {

constexpr std::string_view kCertify = "certify";

// The tables of embeddings with padding, by the path of their weight.
class PaddedEmbeddings : public Visitor {
 public:
  std::map<std::string, int64_t> rows;

 private:
  void enter(std::string_view, std::span<const std::byte> module) override { address_ = module.data(); }
  void entered(const ModuleType& type) override {
    if (type.type != typeid(Embedding)) return;
    const auto& embedding = *static_cast<const Embedding*>(address_);
    if (embedding.padding) rows.emplace(path().empty() ? "weight" : path() + ".weight", *embedding.padding);
  }
  const void* address_ = nullptr;
};

double summed(const Point& a, const Point& b, Tensor (*term)(const Tensor&)) {
  double total = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!a[i].defined() || !b[i].defined()) continue;
    total += sum(term(a[i].to(kFloat64) * b[i].to(kFloat64)), {}).item<double>();
  }
  return total;
}

}  // namespace

Point leaves_at(const Point& x) {
  Point leaves;
  for (const Tensor& one : x) leaves.push_back(one.detach().as_leaf());
  return leaves;
}

Point moved(const Point& x, const Point& v, double t) {
  Point y = x;
  for (std::size_t i = 0; i < x.size(); ++i)
    if (v[i].defined()) y[i] = x[i] + v[i] * t;
  return y;
}

double inner(const Point& a, const Point& b) {
  return summed(a, b, [](const Tensor& x) { return x; });
}

double inner_size(const Point& a, const Point& b) { return summed(a, b, abs); }

double norm_of(const Tensor& x) { return std::sqrt(inner({x}, {x})); }

double rms(const Tensor& x) { return x.numel() == 0 ? 0 : norm_of(x) / std::sqrt(static_cast<double>(x.numel())); }

Objective::Objective(const CertifiedModel& model, const std::vector<Tensor>& batch, DType dtype, uint64_t seed)
    : model_(model), batch_(batch), seed_(seed), modes_(modes_of(model.model)) {
  for (const NamedParameter& p : named_parameters(model.model, true)) {
    if (p.parameter.frozen()) continue;
    variables_.push_back({p.name, &p.parameter, 0});
    start_.push_back(p.parameter->detach());
  }
  for (std::size_t i = 0; i < batch_.size(); ++i) {
    if (!is_floating(batch_[i].dtype())) continue;
    batch_[i] = batch_[i].detach().to(dtype);
    variables_.push_back({fmt::format("batch {}", i), nullptr, i});
    start_.push_back(batch_[i]);
  }
  if (variables_.empty())
    fail(kCertify, "the model has no parameter that is trained, and the batch no floating tensor");
  PaddedEmbeddings padded;
  model.model.walk(padded);
  for (std::size_t i = 0; i < variables_.size(); ++i)
    if (const auto found = padded.rows.find(variables_[i].name); variables_[i].parameter && found != padded.rows.end())
      padding_.push_back({i, found->second});
  for (const NamedBuffer& b : named_buffers(model.model)) buffers_.emplace_back(&b.buffer, b.buffer->clone());
}

void Objective::set_training(bool training) const {
  for (bool* mode : modes_) *mode = training;
}

std::vector<Tensor> Objective::batch_at(const Point& x) const {
  std::vector<Tensor> batch = batch_;
  for (std::size_t i = 0; i < variables_.size(); ++i)
    if (!variables_[i].parameter) batch[variables_[i].input] = x[i];
  return batch;
}

Tensor Objective::loss_at(const Point& x, std::vector<Tensor> batch) {
  for (const auto& [buffer, values] : buffers_) buffer->set(values);
  for (std::size_t i = 0; i < variables_.size(); ++i)
    if (variables_[i].parameter) variables_[i].parameter->substitute(x[i]);
  manual_seed(seed_);
  const Tensor loss = model_.loss(batch);
  if (loss.numel() != 1) fail(kCertify, "expected a loss of one element, got shape {}", loss.shape());
  return loss;
}

double Objective::value(const Point& x) {
  const PauseRecording pause;
  return loss_at(x, batch_at(x)).to(kFloat64).item<double>();
}

Tensor Objective::record(const Point& leaves) { return loss_at(leaves, batch_at(leaves)); }

Point Objective::gradient_with(const Point& x, const std::function<std::vector<Tensor>(std::vector<Tensor>)>& part,
                               std::vector<bool>* has_none) {
  Tape tape;
  const Point leaves = leaves_at(x);
  const Tensor loss = loss_at(leaves, part(batch_at(leaves)));
  Gradients grads;
  if (tape.position_of(loss) >= 0) grads = tape.backward(loss);
  Point found;
  for (const Tensor& leaf : leaves) {
    const Tensor* grad = grads.find(leaf);
    found.push_back(grad ? *grad : zeros(leaf.shape(), leaf.dtype()));
    if (has_none) has_none->push_back(!grad);
  }
  return found;
}

Point Objective::gradient(const Point& x, std::vector<bool>* has_none) {
  return gradient_with(
      x, [](std::vector<Tensor> batch) { return batch; }, has_none);
}

double Objective::curvature(const Point& x, const Point& v) {
  Tape tape;
  const Point leaves = leaves_at(x);
  const Tensor loss = record(leaves);
  if (tape.position_of(loss) < 0) return 0;
  const Gradients grads = tape.backward(loss, {.create_graph = true});
  Tensor slope = scalar(0, kFloat64);
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    const Tensor* grad = grads.find(leaves[i]);
    if (grad && v[i].defined()) slope = slope + sum(*grad * v[i], {});
  }
  if (tape.position_of(slope) < 0) return 0;
  const Gradients products = tape.backward(slope);
  double total = 0;
  for (std::size_t i = 0; i < leaves.size(); ++i)
    if (const Tensor* product = products.find(leaves[i])) total += inner({*product}, {v[i]});
  return total;
}

int64_t Objective::rows() const { return batch_.empty() || batch_[0].dim() == 0 ? 0 : batch_[0].size(0); }

std::vector<Tensor> Objective::rows_of(std::vector<Tensor> batch, int64_t begin, int64_t end) const {
  const int64_t all = rows();
  for (Tensor& x : batch)
    if (x.defined() && x.dim() > 0 && x.size(0) == all) x = x.slice(0, begin, end);
  return batch;
}

double Objective::value_of_rows(const Point& x, int64_t begin, int64_t end) {
  const PauseRecording pause;
  return loss_at(x, rows_of(batch_at(x), begin, end)).to(kFloat64).item<double>();
}

Point Objective::gradient_of_rows(const Point& x, int64_t begin, int64_t end) {
  return gradient_with(
      x, [&](std::vector<Tensor> batch) { return rows_of(std::move(batch), begin, end); }, nullptr);
}

}  // namespace tapegrad::nn::detail
