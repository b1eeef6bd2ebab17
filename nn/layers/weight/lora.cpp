// LoRA: finds the layers that targets name, gives them updates, and merges these.
#include <fmt/ranges.h>
#include <fnmatch.h>
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/tape.h>
#include <tapegrad/nn/init.h>
#include <tapegrad/nn/lora.h>

#include <algorithm>
#include <map>

namespace tapegrad::nn {

namespace detail {

namespace {

constexpr std::string_view kLora = "lora";
constexpr std::size_t kShownLayers = 8;  // in an error

// "a, b, c and 9 more"
std::string some_of(const std::vector<NamedWeight>& layers) {
  std::vector<std::string> shown;
  for (const NamedWeight& l : layers)
    if (shown.size() < kShownLayers) shown.push_back(l.path);
  const std::size_t more = layers.size() - shown.size();
  return fmt::format("{}{}", fmt::join(shown, ", "), more == 0 ? "" : fmt::format(" and {} more", more));
}

}  // namespace

std::vector<std::string> lora(const AnyModel& model, const LoraOptions& o, const AdapterNames& names) {
  const std::vector<NamedWeight> layers = updatable_weights(model);
  if (layers.empty()) fail(kLora, "the model has no linear layers");
  if (o.targets.empty()) fail(kLora, "expected targets, got none");
  if (has_lora(model)) fail(kLora, "the model already has low-rank updates (merge_lora adds them to its weights)");
  struct Chosen {
    NamedWeight layer;
    std::string shared;  // the adapters' name of the layer whose A it shares, or none
  };
  std::vector<Chosen> chosen;
  std::vector<bool> used(o.targets.size());
  for (const NamedWeight& l : layers) {
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
    if (!used[i]) fail(kLora, "no linear layer matches the target \"{}\"; there are {}", o.targets[i], some_of(layers));
  }
  for (const Chosen& c : chosen) {
    const Weight& w = c.layer.weight;
    if (w.is_quantized()) fail(kLora, "expected floating weights, got {} for \"{}\"", w.type(), c.layer.path);
  }
  {
    const init::Skip skip;
    const LowRank trial(1, 1, o.rank, o.alpha, o.dropout);  // checks them before anything changes
  }
  freeze(model, true);
  std::vector<std::string> paths;
  std::map<std::string, Weight*> first;  // of those that share A
  for (const Chosen& c : chosen) {
    Weight& w = c.layer.weight;
    w.low_rank.emplace(w.inputs(), w.outputs(), o.rank, o.alpha, o.dropout,
                       w->dtype() == kFloat64 ? kFloat64 : kFloat32);
    paths.push_back(c.layer.path);
    if (c.shared.empty()) continue;
    const auto [at, is_first] = first.emplace(c.shared, &w);
    if (!is_first) tie(at->second->low_rank->a, w.low_rank->a);
  }
  return paths;
}

int64_t merge_lora(const AnyModel& model) {
  const PauseRecording pause;
  std::vector<NamedWeight> updated;
  for (NamedWeight& l : updatable_weights(model)) {
    const Weight& w = l.weight;
    if (!w.low_rank) continue;
    if (w.is_quantized() || !is_floating(w->dtype())) {
      fail(kLora, "expected float32 or float64 weights to merge into, got {} for \"{}\"", w.type(), l.path);
    }
    updated.push_back(l);
  }
  for (NamedWeight& l : updated) {
    l.weight.set(l.weight.matrix());
    l.weight.low_rank.reset();
  }
  return static_cast<int64_t>(updated.size());
}

bool has_lora(const AnyModel& model) {
  const std::vector<NamedWeight> layers = updatable_weights(model);
  return std::any_of(layers.begin(), layers.end(), [](const NamedWeight& l) { return l.weight.low_rank.has_value(); });
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
