// The comparison of a model with the run that twin.py wrote.
#include <fmt/ranges.h>
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/io/safetensors.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/random.h>
#include <tapegrad/nn/module/internal/keep_generator.h>
#include <tapegrad/nn/twin.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>

namespace tapegrad::nn::detail {

namespace {

// Of the finite elements: others, such as the logits of hidden tokens, must be equal.
double largest(const Tensor& x) { return x.numel() ? amax(where(isfinite(x), abs(x.to(kFloat64)), 0)).item() : 0.0; }

// As in twin.py: 1 + cos(i).
Tensor probe(const Tensor& x, DType dtype) {
  return (cos(arange(x.numel(), kFloat64)).to(dtype) + 1).reshape(x.shape());
}
double digest(const Tensor& x) {
  const Tensor wide = x.to(kFloat64);
  return sum(wide * probe(wide, kFloat64)).item();
}

// The first difference ends the comparison.
struct Differs {
  std::string tensor, text;
};

struct TwinFile {
  SafeTensors file;
  TwinSettings settings;
  TwinReport report;
  double worst[3] = {0, 0, 0};  // relative: float32; float64 before the first update; afterwards

  int64_t number(const char* key) const {
    const auto found = file.metadata.find(key);
    return found == file.metadata.end() ? 0 : std::atoll(found->second.c_str());
  }
  NamedTensors under(const std::string& prefix) const {
    NamedTensors found;
    for (const NamedTensor& entry : file.tensors)
      if (entry.name.starts_with(prefix)) found.push_back({entry.name.substr(prefix.size()), entry.tensor});
    return found;
  }
  std::vector<Tensor> numbered(const std::string& prefix) const {
    std::vector<Tensor> found;
    while (const Tensor* x = file.find(prefix + std::to_string(found.size()))) found.push_back(*x);
    return found;
  }
};

// One run: a model of one type, next to PyTorch's results in that type.
class TwinRun {
 public:
  TwinRun(TwinFile& twin, DType dtype, const TwinModel& model)
      : twin_(twin),
        wide_(dtype == kFloat64),
        of_(wide_ ? "F64." : "F32."),
        model_(model),
        inputs_(twin.numbered("input.")) {
    for (Tensor& x : inputs_)
      if (is_floating(x.dtype())) x = x.to(dtype);
  }

  void outputs() {
    manual_seed(seed(0));
    const TwinOutputs ours = model_.outputs(inputs_);
    const std::vector<Tensor> theirs = twin_.numbered(of_ + "output.");
    if (ours.size() != theirs.size())
      throw Differs{"outputs", fmt::format("expected {} outputs, got {}", theirs.size(), ours.size())};
    for (std::size_t i = 0; i < ours.size(); ++i)
      compare(fmt::format("output {}", i), ours[i], theirs[i], "output." + std::to_string(i), largest(theirs[i]));
  }

  void steps() {
    const std::vector<double> losses = twin_.file[of_ + "losses"].to_vector<double>();
    const auto update = model_.optimizer ? model_.optimizer() : descent();
    const double scale = largest(twin_.file[of_ + "losses"]);
    for (std::size_t step = 0; step < losses.size(); ++step) {
      manual_seed(seed(step));
      Tape tape;
      const Tensor loss = model_.loss ? model_.loss(inputs_) : default_loss();
      const double theirs32 = wide_ ? 0 : twin_.file["F64.losses"].to_vector<double>()[step] - losses[step];
      check(fmt::format("loss of step {}", step + 1), std::abs(loss.item() - losses[step]), scale, std::abs(theirs32),
            step > 0);
      Gradients grads = tape.backward(loss);
      if (step == 0) gradients(grads);
      if (!wide_) return;
      update(grads);
      weights(step);
    }
  }

 private:
  uint64_t seed(std::size_t step) const { return static_cast<uint64_t>(twin_.number("seed")) + step; }

  // Differs if `distance` is more than rounding of `scale` explains; `noise`: how far PyTorch's own result is off.
  void check(const std::string& what, double distance, double scale, double noise, bool later,
             const std::string& more = {}) {
    const double limit =
        wide_ ? twin_.settings.tolerance * (later ? 1000 : 1) * scale : std::max(16 * noise, 1e-5 * scale);
    double& worst = twin_.worst[wide_ ? 1 + later : 0];
    if (scale > 0 && distance <= limit) worst = std::max(worst, distance / scale);
    if (distance <= limit) return;
    throw Differs{
        what, fmt::format("{} differs{}: by {:.3g}, where {:.3g} is allowed and the largest element is {:.3g}{}", what,
                          wide_ ? "" : ", in float32 only", distance, limit, scale, more)};
  }

  void compare(const std::string& what, const Tensor& ours, const Tensor& theirs, const std::string& key,
               double scale) {
    if (ours.shape() != theirs.shape())
      throw Differs{what, fmt::format("{} differs: expected {}, got {}", what, str(theirs.shape()), str(ours.shape()))};
    if (ours.numel() == 0) return;
    const Tensor x = ours.detach().to(kFloat64).flatten(), y = theirs.to(kFloat64).flatten();
    const Tensor apart = where((x == y) || (isnan(x) && isnan(y)), 0, abs(x - y));
    const Tensor bad = where(isnan(apart), std::numeric_limits<double>::infinity(), apart);  // NaN on one side
    const int64_t at = argmax(bad).item<int64_t>();
    const double noise = wide_ || key.empty() ? 0 : largest(theirs.to(kFloat64) - twin_.file["F64." + key]);
    check(what, bad[at].item(), scale, noise, false,
          fmt::format(" (element {}: expected {:.9g}, got {:.9g})", at, y[at].item(), x[at].item()));
  }

  void gradients(const Gradients& grads) {
    double top = 0;
    for (const NamedTensor& g : twin_.under(of_ + "gradient.")) top = std::max(top, largest(g.tensor));
    const std::vector<NamedParameter> all = named_parameters(model_.model, true);
    for (auto at = all.rbegin(); at != all.rend(); ++at) {
      const NamedParameter& p = *at;
      if (p.parameter.frozen()) continue;
      const Tensor* const stored = twin_.file.find(of_ + "gradient." + p.name);
      const Tensor* const found = grads.find(p.parameter);
      if (!stored && !found) continue;
      const Tensor theirs = stored ? *stored : zeros_like(*found), ours = found ? *found : zeros_like(theirs);
      if (const Tensor* exact = twin_.file.find("F64.gradient." + p.name); exact && largest(*exact) <= 1e-12 * top) {
        if (wide_) twin_.report.noise.push_back(p.name);
        if (largest(ours) <= 1e-5 * top) continue;  // rounding noise on our side, too
      }
      compare("gradient of " + p.name, ours, theirs, stored ? "gradient." + p.name : "",
              std::max(largest(theirs), 1e-3 * top));
    }
  }

  void weights(std::size_t step) {
    for (const NamedTensor& entry : state_dict(model_.model)) {
      const Tensor* const theirs = twin_.file.find(of_ + "after." + entry.name);
      if (!theirs || std::ranges::find(twin_.report.noise, entry.name) != twin_.report.noise.end()) continue;
      const double wanted = theirs->to_vector<double>().at(step);
      check(fmt::format("{} after step {}", entry.name, step + 1), std::abs(digest(entry.tensor) - wanted),
            digest(abs(entry.tensor.to(kFloat64))), 0, true, " (of a sum over its elements, each times 1 + cos(i))");
    }
  }

  Tensor default_loss() const {
    Tensor loss;
    for (const Tensor& y : model_.outputs(inputs_)) {
      if (!is_floating(y.dtype())) continue;
      const Tensor one = mean(y * probe(y, y.dtype()));
      loss = loss.defined() ? loss + one : one;
    }
    return loss;
  }

  std::function<void(Gradients&)> descent() const {
    return [this](Gradients& grads) {
      for (const NamedParameter& p : named_parameters(model_.model, false))
        if (const Tensor* g = grads.find(p.parameter)) p.parameter.set(p.parameter->detach() - *g * 0.01);
    };
  }

  TwinFile& twin_;
  bool wide_;
  std::string of_;
  const TwinModel& model_;
  std::vector<Tensor> inputs_;
};

void compare_initial(const AnyModel& model, const TwinFile& twin) {
  for (const NamedParameter& p : named_parameters(model, false)) {
    const Tensor* const theirs = twin.file.find("weight." + p.name);
    if (!theirs || theirs->shape() != p.parameter->shape()) continue;  // load_state_dict names it
    const double apart = largest(p.parameter->detach().to(kFloat64) - theirs->to(kFloat64)), top = largest(*theirs);
    if (apart <= 1e-6 * top) continue;
    throw Differs{"initial " + p.name,
                  fmt::format("initial {} differs: by {:.3g}, where the largest element is {:.3g} (are the "
                              "layers made in PyTorch's order, after the same seed?)",
                              p.name, apart, top)};
  }
}

}  // namespace

TwinReport twin(const AnyModel& model, const std::string& path, const TwinSettings& settings,
                const std::function<void(DType, const UseTwin&)>& with_copy) {
  TwinFile twin{load_safetensors(path), settings, {}};
  if (twin.number("twin") != 1)
    fail("twin", "expected a file that twin.write of twin.py has written, got \"{}\"", path);
  const KeepGenerator keep;
  const NamedTensors weights = twin.under("weight.");
  try {
    if (settings.initial) compare_initial(model, twin);
    for (const DType dtype : {kFloat64, kFloat32}) {
      with_copy(dtype, [&](const TwinModel& copy) {
        load_state_dict(copy.model, weights, true);
        TwinRun run(twin, dtype, copy);
        run.outputs();
        load_state_dict(copy.model, weights, true);  // running statistics have moved
        run.steps();
      });
    }
    twin.report.text =
        fmt::format("{} weights, {} steps equal: float64 within {:.1e}, after updates {:.1e}; float32 {:.1e}",
                    weights.size(), twin.number("steps"), twin.worst[1], twin.worst[2], twin.worst[0]);
    if (!twin.report.noise.empty())
      twin.report.text += fmt::format("; gradients that are rounding noise: {}", fmt::join(twin.report.noise, ", "));
  } catch (const Differs& found) {
    twin.report.ok = false;
    twin.report.tensor = found.tensor, twin.report.text = found.text;
  } catch (const Error& error) {
    twin.report.ok = false;
    twin.report.text = error.what();
  }
  return std::move(twin.report);
}

void fail_without_outputs(std::size_t inputs) {
  fail("twin", "expected a function `.outputs`, got none (the model does not return tensors for {} inputs)", inputs);
}

}  // namespace tapegrad::nn::detail
