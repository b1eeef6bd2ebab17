// The settings of a model's attention, which all tasks share.
#pragma once

#include <tapegrad/nn/attention_choice.h>
#include <tapegrad/tasks/settings/settings.h>

#include <string>
#include <vector>

namespace tapegrad::tasks {

/// The form of attention by name, and the options of every form.
struct AttentionSettings {
  std::string kind = "full";                                       // one of nn::attention_names()
  std::vector<nn::AttentionChoice> forms = nn::attention_forms();  // with their options

  void list(Fields& fields);
  /// The form that `kind` names.
  const nn::AttentionChoice& choice() const;
  /// BadRequest about --attention for what this form does not support; `causal` if all of the model is.
  void check(nn::Positions positions, bool causal) const;
  /// Whether the model's features are drawn again after `steps` steps.
  bool redraws(int64_t steps) const;
  /// At most how many keys a query of `length` tokens attends to.
  int64_t keys_per_query(int64_t length) const;
};

}  // namespace tapegrad::tasks
