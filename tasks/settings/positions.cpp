// Declares and checks the settings of positions, which the encodings list.
#include <fmt/format.h>
#include <tapegrad/nn/position_kind.h>
#include <tapegrad/tasks/settings/positions.h>

#include <limits>
#include <string>

namespace tapegrad::tasks {

namespace {

std::string help_of_kinds() {
  std::string help = "positional encoding";
  for (const nn::PositionKind* kind : nn::position_kinds()) help += fmt::format("; {}: {}", kind->name, kind->help);
  return help;
}

}  // namespace

void PositionSettings::list(Fields& f) {
  static const std::string kHelp = help_of_kinds();
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

}  // namespace tapegrad::tasks
