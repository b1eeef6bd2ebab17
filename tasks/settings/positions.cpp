// Declares and checks the settings of positions.
#include <fmt/format.h>
#include <tapegrad/nn/added_positions.h>
#include <tapegrad/nn/relative_positions.h>
#include <tapegrad/tasks/settings/positions.h>

#include <algorithm>
#include <limits>

namespace tapegrad::tasks {
namespace {

constexpr auto kGroup = Group::positions;
constexpr std::string_view kModelWidth = "0: the width of the model";

Setting interpolate_to() {
  return {.name = "interpolate-to",
          .help = "learned: stretch the table of positions over inputs of this length",
          .group = kGroup,
          .limits = kCountOrNone,
          .special = "0: no stretching"};
}
Setting ntk_scale() {
  return {.name = "ntk-scale",
          .help = "rope: factor by which inputs are longer than in training (NTK-aware scaling)",
          .group = kGroup,
          .limits = {.least = 1}};
}
Setting size_of(std::string_view name, std::string_view help) {
  return {.name = name, .help = help, .group = kGroup, .limits = kCountOrNone, .special = kModelWidth};
}

// "[positions] t5_buckets must be even" as a BadRequest about --t5-buckets.
[[noreturn]] void wrong_option(std::string_view error) {
  const std::string_view text = error.substr(error.find("] ") + 2);
  const std::size_t end = text.find(' ');
  std::string name((error.starts_with("[odeint]") ? "ode_" : ""));
  name += text.substr(0, end);
  std::replace(name.begin(), name.end(), '_', '-');
  bad_request("--" + name, text.substr(end + 1));
}

}  // namespace

void PositionSettings::list(Fields& f) {
  nn::PositionOptions& o = position_details;
  const bool pair = positions == "composite";
  const auto chosen = [&](std::string_view kind) {
    return positions == kind || (pair && (composite_added == kind || composite_relative == kind));
  };
  const bool learned = chosen("learned"), rope = chosen("rope"), shaw = chosen("shaw"), t5 = chosen("t5");
  const bool ode = chosen("ode"), rk4 = ode && ode_solver == "rk4", dopri5 = ode && ode_solver == "dopri5";
  f.add({.name = "positions", .help = "positional encoding", .group = kGroup, .choices = nn::kPositionNames},
        positions);
  f.add(interpolate_to(), o.interpolate_to, learned);
  f.add({"rope-base",
         "rope: the slowest pair rotates once in about 2 pi times this number of positions",
         kGroup,
         {.least = 1, .open_below = true}},
        o.rope_base, rope);
  f.add(ntk_scale(), o.ntk_scale, rope);
  f.add({"shaw-distance", "shaw: larger distances are clamped to this one", kGroup, kCount}, o.shaw_distance, shaw);
  f.add({"shaw-values", "shaw: also add vectors to the values", kGroup}, o.shaw_values, shaw);
  f.add({"t5-buckets", "t5: number of buckets of distances; even", kGroup, {.least = 4, .most = kMost}}, o.t5_buckets,
        t5);
  f.add({"t5-distance", "t5: distances of at least this share the last bucket", kGroup, kCount}, o.t5_distance, t5);
  f.add({"conv-width", "conv: width of the convolution; odd", kGroup, kCount}, o.conv_width, chosen("conv"));
  f.add(size_of("lstm-size", "lstm: size of the hidden states"), o.lstm_size, chosen("lstm"));
  f.add(size_of("ode-size", "ode: hidden units of the network for dh/dt"), o.ode_size, ode);
  f.add({"ode-interval", "ode: time between two positions", kGroup, kPositive}, o.ode_interval, ode);
  f.add({.name = "ode-solver",
         .help = "ode: Runge-Kutta in equal steps, or Dormand-Prince in adaptive ones",
         .group = kGroup,
         .choices = nn::kOdeSolverNames},
        ode_solver, ode);
  f.add({"ode-steps", "ode: steps of rk4 between two positions", kGroup, kCount}, o.ode.steps, rk4);
  f.add({"ode-tolerance", "ode: allowed error of a step of dopri5", kGroup, kPositive}, o.ode.tolerance, dopri5);
  f.add({"ode-adjoint", "ode: gradients by the adjoint method, which stores no intermediate steps", kGroup},
        o.ode.adjoint, ode);
  f.add({.name = "composite-added",
         .help = "composite: the added encoding, weighted by alpha",
         .group = kGroup,
         .choices = nn::kAddedPositionNames},
        composite_added, pair);
  f.add({.name = "composite-relative",
         .help = "composite: the relative encoding, weighted by beta",
         .group = kGroup,
         .choices = nn::kRelativePositionNames},
        composite_relative, pair);
  f.add(size_of("dynamic-size", "dynamic: hidden units of the network"), o.dynamic_size, chosen("dynamic"));
}

nn::PositionOptions PositionSettings::position_options() const {
  nn::PositionOptions options = position_details;
  options.ode.solver = nn::ode_solver_named(ode_solver);
  options.composite_added = nn::positions_named(composite_added);
  options.composite_relative = nn::positions_named(composite_relative);
  return options;
}

bool PositionSettings::endless() const {
  return nn::longest_input(kind(), 0, position_options()) == std::numeric_limits<int64_t>::max();
}

void PositionSettings::check(int64_t width, int64_t head_dim, std::string_view sizes) const {
  const nn::PositionOptions options = position_options();
  try {
    options.check();
  } catch (const Error& e) {
    wrong_option(e.what());
  }
  const nn::Positions added = nn::added_kind(kind(), options);
  if (nn::relative_kind(kind(), options) == nn::Positions::rope) {
    require(head_dim % 2 == 0, "--positions",
            fmt::format("rope rotates pairs of elements, got heads of size {} ({})", head_dim, sizes));
    as_bad_request("--ntk-scale", [&] { return nn::ntk_base(options.rope_base, options.ntk_scale, head_dim); });
  }
  require(added != nn::Positions::complex || width % 2 == 0, "--positions",
          fmt::format("complex numbers are pairs of elements, got a model of width {}", width));
  require(added != nn::Positions::conv_multiscale || width > 1, "--positions",
          fmt::format("expected a width of at least 2 for two convolutions, got {}", width));
}

double PositionSettings::added_parameters(int64_t max_positions, int64_t width) const {
  return static_cast<double>(nn::added_parameter_count(kind(), max_positions, width, position_options()));
}

void ReachSettings::list(Fields& f) {
  f.add(tasks::interpolate_to(), interpolate_to);
  f.add(tasks::ntk_scale(), ntk_scale);
}

}  // namespace tapegrad::tasks
