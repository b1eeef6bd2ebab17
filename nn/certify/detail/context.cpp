// What the sections of a certificate share.
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/internal/machine.h>
#include <tapegrad/autograd/io/bits.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/nn/certify/detail/context.h>
#include <tapegrad/nn/certify/detail/each_operation.h>

#include <algorithm>
#include <cmath>

namespace tapegrad::nn::detail {

Context::Context(const CertifiedModel& single_model, const CertifiedModel& wide_model, const std::vector<Tensor>& batch,
                 const CertifyOptions& o)
    : options(o),
      single(single_model, batch, kFloat32, o.seed),
      wide(wide_model, batch, kFloat64, o.seed),
      generator(o.seed) {
  points_.emplace_back(o.given, wide.start());
  for (const auto& [name, state] : o.states) points_.emplace_back(name, point_of(name, state));
  for (int64_t i = 1; i < o.points; ++i)
    points_.emplace_back(i == 1 ? "moved" : fmt::format("moved {}", i), moved(wide.start(), direction(0.5), 1));
  describe(wide_model, batch);
}

std::vector<CertificateLine>& Context::section(std::string title, std::string about) {
  return page.sections.emplace_back(CertificateSection{std::move(title), std::move(about), {}}).lines;
}

Point Context::direction(double scale) {
  Point v;
  for (const Tensor& x : wide.start()) {
    const Tensor drawn = Tensor::empty(x.shape(), kFloat64);
    generator.normal(drawn.mutable_data<double>(), drawn.numel(), 0, scale * std::max(rms(x), 0.02));
    v.push_back(drawn);
  }
  for (const auto& [variable, row] : wide.padding()) {
    const int64_t width = v[variable].size(1);
    std::fill_n(v[variable].mutable_data<double>() + row * width, width, 0.0);
  }
  return v;
}

Point Context::point_of(const std::string& name, const NamedTensors& state) const {
  Point x = wide.start();
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (!wide.variables()[i].parameter) continue;
    const auto found = std::ranges::find(state, name_of(i), &NamedTensor::name);
    if (found == state.end() || found->tensor.shape() != x[i].shape())
      fail("certify", "expected the state \"{}\" to have \"{}\" of shape {}", name, name_of(i), x[i].shape());
    x[i] = found->tensor.detach().to(kFloat64);
  }
  return x;
}

void Context::describe(const CertifiedModel& model, const std::vector<Tensor>& batch) {
  int64_t count = 0, tensors = 0, inputs = 0;
  for (const Objective::Variable& v : wide.variables()) {
    if (!v.parameter) ++inputs;
    if (!v.parameter) continue;
    ++tensors;
    count += (*v.parameter)->numel();
  }
  const std::vector<NamedParameter> all = named_parameters(model.model, true);
  NamedTensors values, data;
  for (std::size_t i = 0; i < wide.variables().size(); ++i)
    if (wide.variables()[i].parameter) values.push_back({name_of(i), single.start()[i]});
  for (std::size_t i = 0; i < batch.size(); ++i) {
    data.push_back({fmt::format("batch {}", i), batch[i]});
    if (!is_floating(batch[i].dtype()))
      page.unchecked.push_back(fmt::format("batch {}: {}, which has no derivative", i, name(batch[i].dtype())));
  }
  for (const NamedParameter& p : all)
    if (p.parameter.frozen()) page.unchecked.push_back(fmt::format("{}: frozen", p.name));
  for (const auto& [variable, row] : wide.padding())
    page.unchecked.push_back(fmt::format("{}: row {}, the padding, which has no gradient", name_of(variable), row));
  for (const NamedBuffer& b : named_buffers(model.model))
    page.unchecked.push_back(fmt::format("{}: a buffer, not differentiated", b.name));
  page.subject = {{"parameters", fmt::format("{} in {} tensors, bits {}", count, tensors, bits_of(values))},
                  {"batch", batch.empty() ? "of the loss"
                                          : fmt::format("{} tensors, {} of them differentiated, bits {}", batch.size(),
                                                        inputs, bits_of(data))},
                  {"checked in", "float64 against differences; float32 against float64"},
                  {"kernels", std::string(kernels_in_use())},
                  {"seed", fmt::format("{}", options.seed)}};
}

std::vector<Place> Context::places() const {
  std::vector<Place> all;
  for (const auto& [name, x] : points_) {
    if (wide.has_modes()) all.push_back({name + ", train", x, true});
    all.push_back({wide.has_modes() ? name + ", eval" : name, x, false});
  }
  return all;
}

Measured Context::measure(const Point& x, const Point& gradient, const Point& v, const Steps& steps) {
  const auto f = [&](double t) { return wide.value(moved(x, v, t)); };
  return along(f, inner(gradient, v), inner_size(gradient, v), steps);
}
Steps Context::few_steps(const Point& x, const Point& v) {
  return {.first = 5, .last = 8, .rounding = rounding_of([&](double t) { return wide.value(moved(x, v, t)); })};
}

Verdict Context::of_operations(const Point& x, const Point& v) {
  std::vector<std::string> unchecked;
  const CertificateSection found = each_operation(wide, x, v, options.most_elements, unchecked);
  if (!unchecked.empty()) return Verdict::wrong;
  Verdict worst = Verdict::right;
  for (const CertificateLine& line : found.lines) worst = std::max(worst, line.verdict);
  return worst;
}

Point Context::nearby(const Point& x) {
  Point y = x;
  for (Tensor& one : y) {
    const double part = one.dtype() == kFloat64 ? 0x1p-50 : 0x1p-23;
    const Tensor drawn = Tensor::empty(one.shape(), kFloat64);
    generator.uniform(drawn.mutable_data<double>(), drawn.numel(), -part, part);
    one = (one.to(kFloat64) * (1 + drawn)).to(one.dtype());
  }
  return y;
}

bool Context::is_rounding(const Measured& m, const Point& x, const std::function<double(const Point&)>& analytic) {
  double noise = 0;
  for (int repeat = 0; repeat < 4; ++repeat) noise = std::max(noise, std::abs(analytic(nearby(x)) - m.analytic));
  return m.gap() <= m.error + 10 * noise && noise > 1e-6 * std::abs(m.analytic);
}

Measured Context::confirmed(Measured m, const Point& x, const Point& v) {
  if (m.verdict != Verdict::wrong) return m;
  if (of_operations(x, v) != Verdict::wrong) {
    m.verdict = Verdict::unknown;
    m.reason = "kinks? every operation by itself is right";
  } else if (is_rounding(m, x, [&](const Point& y) { return inner(wide.gradient(y), v); })) {
    m.verdict = Verdict::unknown;
    m.reason = "rounding errors of backward";
  }
  return m;
}

bool same_bits(const Point& a, const Point& b) {
  const auto named = [](const Point& x) {
    NamedTensors all;
    for (const Tensor& one : x) all.push_back({fmt::format("{:06}", all.size()), one});
    return all;
  };
  return bits_of(named(a)) == bits_of(named(b));
}

bool worse(const CertificateLine& a, const CertificateLine& b) {
  return a.verdict != b.verdict ? a.verdict > b.verdict : a.digits < b.digits;
}

}  // namespace tapegrad::nn::detail
