// Positional encodings, without which attention ignores the order of its inputs: their names and their options.
// position_kind.h declares what an encoding consists of. Each encoding has its own file, in nn/positions/added if it is
// added to the embeddings, in nn/positions/relative if it acts inside attention.
#pragma once

#include <tapegrad/autograd/compiler.h>

#include <any>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <typeindex>

namespace tapegrad::nn {

/// How a model represents positions (tutorial 003, section 8.3 and its deep dive): one of position_names().
class Positions {
 public:
  /// The encodings of this library.
  static const Positions none, index, learned, sinusoidal, rope, shaw, t5, alibi, conv, conv_multiscale, lstm, ode,
      complex, composite, dynamic;  // others by positions_named()

  /// "learned", "conv-multiscale"
  constexpr std::string_view name() const { return name_; }
  friend constexpr bool operator==(const Positions&, const Positions&) = default;

 private:
  friend class PositionKind;
  constexpr explicit Positions(std::string_view name) : name_(name) {}
  std::string_view name_;  // of static storage
};

inline constexpr Positions Positions::none{"none"}, Positions::index{"index"}, Positions::learned{"learned"},
    Positions::sinusoidal{"sinusoidal"}, Positions::rope{"rope"}, Positions::shaw{"shaw"}, Positions::t5{"t5"},
    Positions::alibi{"alibi"}, Positions::conv{"conv"}, Positions::conv_multiscale{"conv-multiscale"},
    Positions::lstm{"lstm"}, Positions::ode{"ode"}, Positions::complex{"complex"}, Positions::composite{"composite"},
    Positions::dynamic{"dynamic"};

/// For generic code: positions.name().
constexpr std::string_view name(Positions positions) { return positions.name(); }

/// The C++ of it: "nn::Positions::rope", or "nn::positions_named(...)" for one without a constant.
std::string code_of(Positions positions);

/// All encodings; those that are added to the embeddings; and those that act inside attention, whose scores depend only
/// on the distances of positions. Composite, which combines an added and a relative one, and none are neither.
std::span<const std::string_view> position_names();
std::span<const std::string_view> added_position_names();
std::span<const std::string_view> relative_position_names();
/// Error for an unknown name; it lists the known ones.
Positions positions_named(std::string_view name);

/// The options of the encodings. The options of each encoding are a struct (RopeOptions), with its defaults until it is
/// set:
///   nn::PositionOptions options(nn::RopeOptions{.base = 500'000}, nn::ShawOptions{.distance = 8});
///   options.of<nn::RopeOptions>().ntk_scale = 4;
class PositionOptions {
 public:
  PositionOptions() = default;
  template <class... Options>
  requires(sizeof...(Options) > 0 && ((std::is_class_v<Options> && !std::is_same_v<Options, PositionOptions>)&&...))
      PositionOptions(const Options&... options) {  // NOLINT: options of one encoding convert
    ((of<Options>() = options), ...);
  }
  /// The address stays as long as these options.
  template <class Options>
  Options& of() {
    std::any& value = values_[typeid(Options)];
    if (!value.has_value()) value = Options{};
    return *std::any_cast<Options>(&value);
  }
  template <class Options>
  const Options& of() const {
    static const Options kDefaults{};
    const auto found = values_.find(typeid(Options));
    return found == values_.end() ? kDefaults : *std::any_cast<Options>(&found->second);
  }

  /// Error that names the first invalid option, of any encoding.
  void check() const;

 private:
  std::map<std::type_index, std::any> values_;
};

/// The kind that is added to the embeddings, and the kind that acts inside attention. Composite has both; for the other
/// kinds one of the two is `positions` itself, and the other is none.
Positions added_kind(Positions positions, const PositionOptions& options);
Positions relative_kind(Positions positions, const PositionOptions& options);

/// The longest input of a model with a table of max_positions vectors; the largest int64 for kinds that compute their
/// positions, as these have no limit.
int64_t longest_input(Positions positions, int64_t max_positions, const PositionOptions& options);

}  // namespace tapegrad::nn
