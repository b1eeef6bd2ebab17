// Declares and checks the settings of positions and attention, which encodings and forms list.
#include <fmt/format.h>
#include <tapegrad/nn/position_kind.h>
#include <tapegrad/tasks/settings/model.h>

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

namespace tapegrad::tasks {

void PositionSettings::list(Fields& f) {
  static const std::string kHelp = help_of_rows("positional encoding", nn::position_kinds(),
                                                [](const auto* kind) { return std::pair(kind->name, kind->help); });
  f.add({.name = "positions", .help = kHelp, .group = Group::positions, .choices = nn::position_names()}, positions);
  Fields options;
  nn::list_positions(positions, position_options, options);
  add_fields(f, options);
}

bool PositionSettings::endless() const {
  return nn::longest_input(kind(), 0, position_options) == std::numeric_limits<int64_t>::max();
}

Fields PositionSettings::stretching() {
  Fields fields;
  for (const nn::PositionKind* part : nn::position_kinds())
    if (nn::kind_of(kind()).has(part->name, position_options)) part->list_stretching(position_options, fields);
  return fields;
}

void PositionSettings::check(int64_t width, int64_t head_dim, std::string_view sizes) const {
  const auto wrong = [](std::string_view member, const std::string& fault) {
    bad_request(Setting{.name = member, .help = ""}.option(), fault);
  };
  for (const nn::PositionKind* each : nn::position_kinds()) each->check(position_options, wrong);
  nn::kind_of(kind()).check_sizes({.width = width, .head_dim = head_dim, .head_dim_from = fmt::format(" ({})", sizes)},
                                  position_options, wrong);
}

void ReachSettings::list(Fields& f) {
  Fields fields;
  for (const nn::PositionKind* kind : nn::position_kinds()) kind->list_stretching(position_options, fields);
  Fields grouped;
  for (Field field : fields) {
    field.setting.group = Group::positions;
    grouped.add(field);
  }
  add_fields(f, grouped);
}

void override_with(nn::PositionOptions& options, ReachSettings reach, const Given& given) {
  ReachSettings own{options};
  override_with(fields_of(own), fields_of(reach), given);
  options = own.position_options;
}

// --- attention ---

void AttentionSettings::list(Fields& f) {
  static const std::string kHelp = help_of_rows("form of self-attention", nn::attention_forms(), [](const auto& form) {
    return std::pair(form.traits().name, form.traits().help);
  });
  f.add({.name = "attention", .help = kHelp, .choices = nn::attention_names()}, kind);
  for (nn::AttentionChoice& form : forms) {
    Fields options;
    for (Field option : fields_of(form)) {
      option.used = form.name() == kind;
      options.add(option);
    }
    add_fields(f, options);
  }
}

const nn::AttentionChoice& AttentionSettings::choice() const {
  const auto chosen = std::ranges::find(forms, kind, &nn::AttentionChoice::name);
  if (chosen == forms.end()) nn::attention_named(kind);  // an Error
  return *chosen;
}

void AttentionSettings::check(nn::Positions positions, bool causal) const {
  as_bad_request("--attention", [&] { choice().check(positions, causal); });
}

bool AttentionSettings::redraws(int64_t steps) const {
  const int64_t each = choice().traits().redraw_steps;
  return each > 0 && steps > 0 && steps % each == 0;
}

int64_t AttentionSettings::keys_per_query(int64_t length) const {
  return std::min(length, choice().traits().keys_per_query);
}

}  // namespace tapegrad::tasks
