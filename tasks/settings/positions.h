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
  std::string positions = "learned";  // one of nn::kPositionNames
  nn::PositionOptions position_details = {};
  std::string ode_solver = "rk4";
  std::string composite_added = "sinusoidal", composite_relative = "rope";

  void list(Fields& fields);
  nn::Positions kind() const { return nn::positions_named(positions); }
  nn::PositionOptions position_options() const;
  /// Whether inputs may have any length.
  bool endless() const;
  /// BadRequest for options that do not fit a model of this width, whose heads have `head_dim` elements;
  /// `sizes` says where that comes from.
  void check(int64_t width, int64_t head_dim, std::string_view sizes) const;
  /// Number of parameters of one table or module of positions.
  double added_parameters(int64_t max_positions, int64_t width) const;
};

/// The settings that stretch a trained model to longer inputs: `test`, `attention` and `generate` offer them.
struct ReachSettings {
  int64_t interpolate_to = 0;
  double ntk_scale = 1;

  void list(Fields& fields);
};

}  // namespace tapegrad::tasks
