// The settings of a model's positions, for every kind of model.
#pragma once

#include <tapegrad/nn/positions.h>
#include <tapegrad/tasks/settings/settings.h>

#include <cstdint>
#include <string>
#include <string_view>

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

}  // namespace tapegrad::tasks
