// Reads and writes adapters in PEFT's format.
#include <fmt/ranges.h>
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/io/files.h>
#include <tapegrad/autograd/io/internal/json.h>
#include <tapegrad/autograd/io/safetensors.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/tape.h>
#include <tapegrad/nn/adapter.h>
#include <tapegrad/nn/init.h>
#include <tapegrad/nn/models/detail/adapter_config.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <optional>
#include <set>

namespace tapegrad::nn::detail {

namespace {

constexpr std::string_view kBasePrefix = "base_model.model.";
constexpr std::string_view kA = ".lora_A.weight", kB = ".lora_B.weight";

// A layer of an adapter: the parts of one layer there, in order.
struct Joined {
  std::string name;
  std::vector<NamedWeight> parts;
  int64_t outputs() const {
    int64_t sum = 0;
    for (const NamedWeight& part : parts) sum += part.weight.outputs();
    return sum;
  }
  bool updated() const {
    return std::any_of(parts.begin(), parts.end(), [](const NamedWeight& l) { return l.weight.low_rank.has_value(); });
  }
};

// In the order of the visits. Layers of which parts are missing are left out.
std::vector<Joined> joined_layers(const AnyModel& model, const AdapterNames& names) {
  struct Found {
    std::string name;
    std::map<int64_t, NamedWeight> parts;
    int64_t expected;
  };
  std::vector<Found> found;
  std::map<std::string, std::size_t> places;
  for (const NamedWeight& l : updatable_weights(model)) {
    const AdapterLayer theirs = names ? names(l.path) : AdapterLayer{l.path};
    const auto [at, is_new] = places.emplace(theirs.name, found.size());
    if (is_new) found.push_back({theirs.name, {}, theirs.parts});
    found[at->second].parts.emplace(theirs.part, l);
  }
  std::vector<Joined> out;
  for (Found& f : found) {
    if (static_cast<int64_t>(f.parts.size()) != f.expected) continue;
    Joined layer{std::move(f.name), {}};
    for (const auto& [part, linear] : f.parts) layer.parts.push_back(linear);
    out.push_back(std::move(layer));
  }
  return out;
}

// The last `count` names of a path.
std::string_view end_of(std::string_view path, int count) {
  std::size_t at = path.size();
  for (int i = 0; i < count && at != std::string_view::npos; ++i) at = at == 0 ? at : path.rfind('.', at - 1);
  return at == std::string_view::npos ? path : path.substr(at + 1);
}

// The shortest ends of names that fit these layers of the adapter and no others.
std::set<std::string> target_modules(const std::vector<Joined>& layers) {
  std::set<std::string> targets;
  for (const Joined& layer : layers) {
    if (!layer.updated()) continue;
    std::string target = layer.name;
    for (const int count : {1, 2}) {
      const std::string end(end_of(layer.name, count));
      const bool alone = std::all_of(layers.begin(), layers.end(), [&](const Joined& other) {
        return other.updated() || !ends_with_name(other.name, end);
      });
      if (!alone) continue;
      target = end;
      break;
    }
    targets.insert(std::move(target));
  }
  return targets;
}

struct Update {
  Tensor a, b;
  double scale;
  int64_t rank() const { return a.size(0); }
  double alpha() const { return scale * static_cast<double>(rank()); }
};

// The updates of a layer's parts as one: [A1; A2 ...] and the parts of B along the diagonal, or one A if they share it.
Update update_of(const Joined& layer) {
  std::vector<const NamedWeight*> updated;
  for (const NamedWeight& part : layer.parts)
    if (part.weight.low_rank) updated.push_back(&part);
  const LowRank& first = *updated[0]->weight.low_rank;
  const bool shared = std::all_of(updated.begin(), updated.end(),
                                  [&](const NamedWeight* l) { return l->weight.low_rank->a.tied_to(first.a); });
  std::vector<Tensor> a, b;
  int64_t rank = 0;
  for (const NamedWeight* l : updated) {
    if (shared && !a.empty()) continue;
    a.push_back(l->weight.low_rank->a.tensor().detach());
    rank += a.back().size(0);
  }
  int64_t before = 0;  // columns of B that belong to earlier parts
  for (const NamedWeight& part : layer.parts) {
    const int64_t rows = part.weight.outputs();
    const auto blank = [&](int64_t columns) { return zeros({rows, columns}, a[0].dtype()); };
    if (!part.weight.low_rank) {
      b.push_back(blank(rank));
      continue;
    }
    const LowRank& update = *part.weight.low_rank;
    const Tensor own = update.scale == first.scale ? update.b.tensor().detach()
                                                   : update.b.tensor().detach() * (update.scale / first.scale);
    b.push_back(shared ? own : cat({blank(before), own, blank(rank - before - own.size(1))}, 1));
    if (!shared) before += own.size(1);
  }
  return {cat(a, 0), cat(b, 0), first.scale};
}

Json number(double x) { return x == std::floor(x) && std::abs(x) < 1e15 ? Json(static_cast<int64_t>(x)) : Json(x); }

}  // namespace

void save_adapter(const AnyModel& model, const Destination& folder, const AdapterFormat& format) {
  const PauseRecording pause;
  const std::vector<Joined> layers = joined_layers(model, format.names);
  NamedTensors tensors;
  std::optional<Update> usual;  // whose rank and alpha the configuration has
  double dropout = 0;
  Json ranks = Json::object(), alphas = ranks;  // of the others
  for (const Joined& layer : layers) {
    if (!layer.updated()) continue;
    const Update update = update_of(layer);
    tensors.push_back({fmt::format("{}{}{}", kBasePrefix, layer.name, kA), update.a});
    tensors.push_back({fmt::format("{}{}{}", kBasePrefix, layer.name, kB), update.b});
    if (!usual) {
      usual = update;
      for (const NamedWeight& part : layer.parts)
        if (part.weight.low_rank) dropout = part.weight.low_rank->dropout.p;
    }
    // Some versions of PEFT expect a name before the pattern.
    const std::string_view name = std::string_view(layer.name).substr(layer.name.find('.') + 1);
    if (update.rank() != usual->rank()) ranks[std::string(name)] = update.rank();
    if (update.alpha() != usual->alpha()) alphas[std::string(name)] = number(update.alpha());
  }
  if (!usual) fail(kAdapter, "expected a model with updates (nn::lora), got one without");
  const Json base = format.base_model.empty() ? Json() : Json(format.base_model);
  const Json config{{"peft_type", "LORA"},
                    {"task_type", "CAUSAL_LM"},
                    {"base_model_name_or_path", base},
                    {"r", usual->rank()},
                    {"lora_alpha", number(usual->alpha())},
                    {"lora_dropout", dropout},
                    {"target_modules", target_modules(layers)},
                    {"fan_in_fan_out", format.fan_in_fan_out},
                    {"rank_pattern", ranks},
                    {"alpha_pattern", alphas},
                    {"bias", "none"},
                    {"modules_to_save", nullptr},
                    {"use_rslora", false},
                    {"use_dora", false},
                    {"init_lora_weights", true},
                    {"inference_mode", true}};
  std::error_code error;
  std::filesystem::create_directories(folder.path(), error);
  if (error) fail(kAdapter, "the folder {} cannot be created: {}", folder.path(), error.message());
  save_safetensors(folder / kAdapterFile, tensors, {{"format", "pt"}});
  replace_file(folder / kAdapterConfigFile, json::text_of(config) + "\n");
}

namespace {

// The updates in a file by layer.
std::map<std::string, Update> read_updates(const std::string& path) {
  const auto refuse = [&](const std::string& why) { fail(kAdapter, "{}: {}", path, why); };
  std::map<std::string, Update> updates;
  for (NamedTensor& t : load_safetensors(path).tensors) {
    const bool is_a = t.name.ends_with(kA), is_b = t.name.ends_with(kB);
    if (!(is_a || is_b) || !t.name.starts_with(kBasePrefix)) {
      refuse(fmt::format("expected {}<layer>{} or {}, got the tensor \"{}\"", kBasePrefix, kA, kB.substr(1), t.name));
    }
    if (t.tensor.dim() != 2 || !(is_floating(t.tensor.dtype()) || is_half(t.tensor.dtype())) || t.tensor.numel() == 0) {
      refuse(fmt::format("expected a matrix of numbers for \"{}\", got {} {}", t.name, name(t.tensor.dtype()),
                         str(t.tensor.shape())));
    }
    const std::string layer = t.name.substr(kBasePrefix.size(), t.name.size() - kBasePrefix.size() - kA.size());
    (is_a ? updates[layer].a : updates[layer].b) = std::move(t.tensor);
  }
  for (const auto& [layer, update] : updates) {
    if (!update.a.defined() || !update.b.defined())
      refuse(fmt::format("\"{}{}{}\" is missing", kBasePrefix, layer, update.a.defined() ? kB : kA));
    if (update.a.size(0) != update.b.size(1)) {
      refuse(fmt::format("expected one rank for \"{}\", got A {} and B {}", layer, str(update.a.shape()),
                         str(update.b.shape())));
    }
  }
  if (updates.empty()) refuse("expected updates of layers, got none");
  return updates;
}

void require_files(const std::string& folder) {
  for (const std::string_view needed : {kAdapterConfigFile, kAdapterFile}) {
    if (is_there(fmt::format("{}/{}", folder, needed))) continue;
    const bool pickled = needed == kAdapterFile && is_there(folder + "/adapter_model.bin");
    fail(kAdapter, "{} has no {}{}", folder, needed,
         pickled ? ", only adapter_model.bin, a file of torch.save (save it as safetensors in "
                   "Python)"
                 : "");
  }
}

}  // namespace

void load_adapter(const AnyModel& model, const std::string& folder, const AdapterNames& names) {
  const PauseRecording pause;
  const init::Skip skip;
  const std::string file = folder + "/" + kAdapterFile;
  require_files(folder);
  if (has_lora(model)) fail(kAdapter, "the model already has low-rank updates (merge_lora adds them to its weights)");
  const AdapterConfig config(folder + "/" + kAdapterConfigFile);
  const std::map<std::string, Update> updates = read_updates(file);
  const std::vector<Joined> layers = joined_layers(model, names);
  const auto refuse = [&](const std::string& why) { fail(kAdapter, "{} does not fit the model: {}", file, why); };
  for (const auto& [layer, update] : updates) {
    if (update.rank() != config.rank(layer)) {
      refuse(fmt::format("\"{}\" has the rank {}, {} has {}", layer, update.rank(), kAdapterConfigFile,
                         config.rank(layer)));
    }
    const auto at =
        std::find_if(layers.begin(), layers.end(), [&name = layer](const Joined& l) { return l.name == name; });
    if (at == layers.end()) refuse(fmt::format("it has no linear layer \"{}\"", layer));
    const int64_t inputs = at->parts[0].weight.inputs();
    if (update.a.size(1) != inputs || update.b.size(0) != at->outputs()) {
      refuse(fmt::format("\"{}\" is [{}, {}], got A {} and B {}", layer, at->outputs(), inputs, str(update.a.shape()),
                         str(update.b.shape())));
    }
  }
  for (const Joined& layer : layers) {
    if (config.targets(layer.name) && updates.count(layer.name) == 0)
      refuse(fmt::format("it has no update for \"{}\", which its target_modules name", layer.name));
  }
  freeze(model, true);
  for (const Joined& layer : layers) {
    const auto at = updates.find(layer.name);
    if (at == updates.end()) continue;
    const Update& update = at->second;
    const int64_t rank = update.rank();
    Parameter* shared = nullptr;
    int64_t row = 0;
    for (const NamedWeight& part : layer.parts) {
      Weight& weight = part.weight;
      const int64_t rows = weight.outputs();
      const bool wide = weight.defined() && weight->dtype() == kFloat64;
      LowRank& own =
          weight.low_rank.emplace(update.a.size(1), rows, rank, 1.0, config.dropout(), wide ? kFloat64 : kFloat32);
      own.scale = config.scale_of(layer.name, rank);
      own.b.set(narrow(update.b, 0, row, rows));
      row += rows;
      if (shared) {
        tie(*shared, own.a);
      } else {
        own.a.set(update.a);
        shared = &own.a;
      }
    }
  }
}

}  // namespace tapegrad::nn::detail
