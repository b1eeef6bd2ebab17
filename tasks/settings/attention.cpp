// Declares and checks the settings of a model's attention.
#include <fmt/format.h>
#include <tapegrad/tasks/settings/attention.h>

#include <algorithm>

namespace tapegrad::tasks {
namespace {

// "form of self-attention; window: only keys near the query; ..."
const std::string& help_of_forms() {
  static const std::string help = [] {
    std::string text = "form of self-attention";
    for (const nn::AttentionChoice& form : nn::attention_forms()) {
      const nn::AttentionTraits traits = form.traits();
      if (!traits.help.empty()) text += fmt::format("; {}: {}", traits.name, traits.help);
    }
    return text;
  }();
  return help;
}

}  // namespace

void AttentionSettings::list(Fields& f) {
  f.add({.name = "attention", .help = help_of_forms(), .choices = nn::attention_names()}, kind);
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
  const auto chosen = std::find_if(forms.begin(), forms.end(), [&](const auto& form) { return form.name() == kind; });
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
