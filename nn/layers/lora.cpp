// LoRA: finds the layers that targets name, gives them updates, and merges these.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fnmatch.h>
#include <tapegrad/autograd/kernels/product/few_rows.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/tape.h>
#include <tapegrad/nn/init.h>
#include <tapegrad/nn/layers/detail/linear_layers.h>
#include <tapegrad/nn/lora.h>

#include <algorithm>
#include <map>
#include <unordered_set>

namespace tapegrad::nn {

namespace detail {

namespace {

constexpr std::string_view kLora = "lora";
constexpr std::size_t kShownLayers = 8;  // in an error

class LinearVisitor : public Visitor {
 public:
  std::vector<NamedLinear> layers;

  void linear(Linear& layer) override {
    if ((layer.weight.defined() || layer.int8.defined()) && seen_.insert(&layer).second)
      layers.push_back({path(), layer});
  }

 private:
  std::unordered_set<const Linear*> seen_;
};

// "a, b, c and 9 more"
std::string some_of(const std::vector<NamedLinear>& layers) {
  std::vector<std::string> shown;
  for (const NamedLinear& l : layers)
    if (shown.size() < kShownLayers) shown.push_back(l.path);
  const std::size_t more = layers.size() - shown.size();
  return fmt::format("{}{}", fmt::join(shown, ", "), more == 0 ? "" : fmt::format(" and {} more", more));
}

}  // namespace

std::vector<NamedLinear> linear_layers(const AnyModel& model) {
  LinearVisitor found;
  model.walk(found);
  return std::move(found.layers);
}

int64_t outputs_of(const Linear& layer) {
  return layer.weight.defined() ? layer.weight->size(0) : layer.int8.scales->size(0);
}

bool takes_inputs(const Linear& layer, int64_t width) {
  if (layer.weight.defined()) return layer.weight->size(1) == width;
  return int8_groups(width) == layer.int8.scales->size(1);
}

std::vector<std::string> lora(const AnyModel& model, const LoraOptions& o, const AdapterNames& names) {
  const std::vector<NamedLinear> layers = linear_layers(model);
  if (layers.empty()) fail(kLora, "the model has no linear layers");
  if (o.targets.empty()) fail(kLora, "expected targets, got none");
  if (has_lora(model)) fail(kLora, "the model has updates of low rank already (merge_lora adds them to its weights)");
  struct Chosen {
    NamedLinear linear;
    std::string shared;  // the adapters' name of the layer whose A it shares, or none
  };
  std::vector<Chosen> chosen;
  std::vector<bool> used(o.targets.size());
  for (const NamedLinear& l : layers) {
    const AdapterLayer theirs = names ? names(l.path) : AdapterLayer{l.path};
    bool by_path = false, by_name = false;
    for (std::size_t i = 0; i < o.targets.size(); ++i) {
      const bool path = matches(o.targets[i], l.path), name = matches(o.targets[i], theirs.name);
      by_path |= path;
      by_name |= name;
      if (path || name) used[i] = true;
    }
    if (by_path || by_name) chosen.push_back({l, by_name && theirs.parts > 1 ? theirs.name : ""});
  }
  for (std::size_t i = 0; i < used.size(); ++i) {
    if (!used[i])
      fail(kLora, fmt::format("no linear layer fits the target \"{}\"; there are {}", o.targets[i], some_of(layers)));
  }
  for (const Chosen& c : chosen) {
    if (c.linear.layer.weight.defined()) continue;
    fail(kLora, fmt::format("expected floating weights, got int8 for \"{}\"", c.linear.path));
  }
  {
    const init::Skip skip;
    const LowRank trial(1, 1, o.rank, o.alpha, o.dropout);  // checks them before anything changes
  }
  freeze(model, true);
  std::vector<std::string> paths;
  std::map<std::string, Linear*> first;  // of those that share A
  for (const Chosen& c : chosen) {
    Linear& layer = c.linear.layer;
    const Tensor& w = layer.weight.tensor();
    layer.low_rank.emplace(w.size(1), w.size(0), o.rank, o.alpha, o.dropout,
                           w.dtype() == kFloat64 ? kFloat64 : kFloat32);
    paths.push_back(c.linear.path);
    if (c.shared.empty()) continue;
    const auto [at, is_first] = first.emplace(c.shared, &layer);
    if (!is_first) tie(at->second->low_rank->a, layer.low_rank->a);
  }
  return paths;
}

int64_t merge_lora(const AnyModel& model) {
  const PauseRecording pause;
  std::vector<NamedLinear> updated;
  for (NamedLinear& l : linear_layers(model)) {
    if (!l.layer.low_rank) continue;
    if (!l.layer.weight.defined() || !is_floating(l.layer.weight->dtype())) {
      fail(kLora, fmt::format("expected float32 or float64 weights to merge into, got {} for \"{}\"",
                              l.layer.weight.defined() ? name(l.layer.weight->dtype()) : "int8", l.path));
    }
    updated.push_back(l);
  }
  for (NamedLinear& l : updated) {
    l.layer.weight.set(l.layer.weight.tensor() + l.layer.low_rank->product());
    l.layer.low_rank.reset();
  }
  return static_cast<int64_t>(updated.size());
}

bool has_lora(const AnyModel& model) {
  const std::vector<NamedLinear> layers = linear_layers(model);
  return std::any_of(layers.begin(), layers.end(), [](const NamedLinear& l) { return l.layer.low_rank.has_value(); });
}

}  // namespace detail

bool matches(const std::string& pattern, std::string_view path) {
  const std::string whole(path);
  if (fnmatch(pattern.c_str(), whole.c_str(), 0) == 0) return true;
  for (std::size_t dot = whole.find('.'); dot != std::string::npos; dot = whole.find('.', dot + 1)) {
    if (fnmatch(pattern.c_str(), whole.c_str() + dot + 1, 0) == 0) return true;
  }
  return false;
}

}  // namespace tapegrad::nn
