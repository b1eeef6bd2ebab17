// The settings of a model's positions and attention, for every kind of model.
#pragma once

#include <tapegrad/nn/attention_choice.h>
#include <tapegrad/nn/positions.h>
#include <tapegrad/tasks/settings/settings.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tapegrad::tasks {

/// The positional encoding and the options of all encodings, embedded in the settings of each kind of model.
struct PositionSettings {
  std::string positions = "learned";  // one of nn::position_names()
  nn::PositionOptions position_options = {};

  void list(Fields& fields);
  nn::Positions kind() const { return nn::positions_named(positions); }
  /// Whether inputs may have any length.
  bool endless() const;
  /// The options that stretch a trained model of this encoding to longer inputs.
  Fields stretching();
  /// BadRequest for options that do not fit a model of this width, whose heads have `head_dim` elements;
  /// `sizes` says where that comes from.
  void check(int64_t width, int64_t head_dim, std::string_view sizes) const;
};

/// The settings that stretch a trained model to longer inputs: `test`, `attention` and `generate` offer them.
struct ReachSettings {
  nn::PositionOptions position_options = {};

  void list(Fields& fields);
};

/// Overrides the options of a trained model that are `given` by name.
void override_with(nn::PositionOptions& options, ReachSettings reach, const Given& given);

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
