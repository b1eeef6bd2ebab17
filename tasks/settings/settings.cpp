// Checks, compares and overrides settings, and carries them to and from JSON.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/io/internal/json.h>
#include <tapegrad/tasks/settings/nearest.h>
#include <tapegrad/tasks/settings/settings.h>
#include <tapegrad/train/internal/settings_json.h>
#include <unistd.h>

#include <algorithm>

namespace tapegrad::tasks {
namespace {

struct WriteValue {
  Json operator()(const nn::Named& named) const { return named.name(); }
  template <class T>
  Json operator()(const std::optional<T>* number) const {
    return *number ? Json(**number) : Json();
  }
  template <class T>
  Json operator()(const T* value) const {
    return *value;
  }
};

}  // namespace

void add_fields(Fields& fields, const Fields& more) {
  for (Field field : more) {
    Limits& limits = field.setting.limits;
    if (field.setting.group.empty()) field.setting.group = Group::model;
    if (std::holds_alternative<int64_t*>(field.value)) {
      if (limits.open_below) limits = {.least = limits.least + 1, .most = limits.most};
      limits.most = std::min(limits.most, kMost);
    } else if (limits == nn::kShare) {
      limits = kProbability;
    }
    fields.add(field);
  }
}

void check_limits(const Fields& fields) {
  for (const Field& field : fields) {
    const std::string fault = field.fault("a number");
    if (fault.empty()) continue;
    const std::span<const std::string_view> choices = field.setting.choices;
    if (!choices.empty())
      bad_request(field.setting.option(), expected_one_of({choices.begin(), choices.end()}, field.text()));
    bad_request(field.setting.option(), fault);
  }
}

bool contains(const Given& given, std::string_view name) { return std::ranges::find(given, name) != given.end(); }

void override_with(const Fields& fields, const Fields& asked, const Given& given) {
  for (const std::string& name : given) {
    const Field *to = fields.find(name), *from = asked.find(name);
    if (to != nullptr && from != nullptr) to->copy_from(*from);
  }
}

void require_same(const Fields& run, const Fields& asked, const Given& given, std::string_view out) {
  std::vector<std::string> differences;
  for (const std::string& name : given) {
    const Field *ours = run.find(name), *theirs = asked.find(name);
    if (ours == nullptr || theirs == nullptr || ours->text() == theirs->text()) continue;
    differences.push_back(fmt::format("--{} {} (not {})", name, ours->text(), theirs->text()));
  }
  require(differences.empty(), "train --resume",
          "the run in {} was started with {} (omit these options, or start again without --resume)", out,
          fmt::join(differences, ", "));
}

std::string to_json(std::string_view task, const Fields& fields) {
  Json json{{"task", task}, {"version", train::kSettingsVersion}};
  for (const Field& field : fields) json[field.setting.key()] = std::visit(WriteValue(), field.value);
  return json::text_of(json);
}

void from_json(std::string_view where, std::string_view text, std::string_view task, const Fields& fields) {
  train::read_settings(where, train::parse_settings(where, text, task), fields);
}

uint64_t memory_bytes() {
  return static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

void require_memory(std::string_view where, std::string_view what, double bytes) {
  const auto memory = static_cast<double>(memory_bytes());
  require(bytes <= memory, where, "{} takes about {:.1f} GB, this machine has {:.1f} GB", what, bytes * 1e-9,
          memory * 1e-9);
}

void require_layers(std::string_view where, std::string_view key, int64_t layers, std::size_t tensors) {
  if (layers > static_cast<int64_t>(tensors))
    fail(where, "expected {} <= {}, the number of tensors in its weights, got {}", key, tensors, layers);
}

}  // namespace tapegrad::tasks
