// The table of positional encodings, and what follows from it.
// build: alone
#include <fmt/ranges.h>
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/nn/position_kind.h>

#include <algorithm>
#include <limits>
#include <vector>

namespace tapegrad::nn {

template <class... Kinds>
struct KindList {
  static std::vector<const PositionKind*> table() { return {&position_kind<Kinds>()...}; }
};

// One line per encoding, in the order of --help. Each class is in the file of its name.
using AllKinds = KindList<struct NoPositionsKind,     //
                          struct IndexKind,           //
                          struct LearnedKind,         //
                          struct SinusoidalKind,      //
                          struct RopeKind,            //
                          struct ShawKind,            //
                          struct T5Kind,              //
                          struct AlibiKind,           //
                          struct ConvKind,            //
                          struct MultiscaleConvKind,  //
                          struct LstmKind,            //
                          struct OdeKind,             //
                          struct ComplexKind,         //
                          struct CompositeKind,       //
                          struct DynamicKind>;

namespace {

constexpr std::string_view kPositionKinds = "positions";

std::vector<std::string_view> names_of(std::span<const PositionKind::Role> roles) {
  std::vector<std::string_view> names;
  for (const PositionKind* kind : position_kinds()) {
    if (std::find(roles.begin(), roles.end(), kind->role) != roles.end()) names.push_back(kind->name);
  }
  return names;
}

constexpr PositionKind::Role kAdded[] = {PositionKind::Role::added}, kRelative[] = {PositionKind::Role::relative};
constexpr PositionKind::Role kAny[] = {PositionKind::Role::neither, kAdded[0], kRelative[0]};

// The encodings that have a constant, which code may name.
constexpr Positions kConstants[] = {
    Positions::none, Positions::index, Positions::learned, Positions::sinusoidal, Positions::rope,
    Positions::shaw, Positions::t5,    Positions::alibi,   Positions::conv,       Positions::conv_multiscale,
    Positions::lstm, Positions::ode,   Positions::complex, Positions::composite,  Positions::dynamic};

const PositionKind* found(std::string_view name) {
  for (const PositionKind* kind : position_kinds()) {
    if (kind->name == name) return kind;
  }
  fail(kPositionKinds, "expected one of {}, got \"{}\"", fmt::join(position_names(), ", "), name);
}

}  // namespace

std::span<const PositionKind* const> position_kinds() {
  static const std::vector<const PositionKind*> kTable = AllKinds::table();
  return kTable;
}

const PositionKind& kind_of(Positions positions) { return *found(name(positions)); }

Positions positions_named(std::string_view name) { return found(name)->positions(); }

std::string code_of(Positions positions) {
  std::string name(positions.name());
  if (std::find(std::begin(kConstants), std::end(kConstants), positions) == std::end(kConstants))
    return fmt::format("nn::positions_named(\"{}\")", name);
  std::replace(name.begin(), name.end(), '-', '_');
  return "nn::Positions::" + name;
}

std::span<const std::string_view> position_names() {
  static const std::vector<std::string_view> kNames = names_of(kAny);
  return kNames;
}

std::span<const std::string_view> added_position_names() {
  static const std::vector<std::string_view> kNames = names_of(kAdded);
  return kNames;
}

std::span<const std::string_view> relative_position_names() {
  static const std::vector<std::string_view> kNames = names_of(kRelative);
  return kNames;
}

void PositionOptions::check() const {
  for (const PositionKind* kind : position_kinds()) kind->require_valid(*this);
}

Positions added_kind(Positions positions, const PositionOptions& options) {
  return kind_of(positions).added_kind(options);
}

Positions relative_kind(Positions positions, const PositionOptions& options) {
  return kind_of(positions).relative_kind(options);
}

int64_t longest_input(Positions positions, int64_t max_positions, const PositionOptions& options) {
  return kind_of(added_kind(positions, options)).longest_input(max_positions, options);
}

void list_positions(std::string_view positions, PositionOptions& options, Fields& fields) {
  const auto kinds = position_kinds();
  const auto chosen =
      std::find_if(kinds.begin(), kinds.end(), [&](const auto* kind) { return kind->name == positions; });
  for (const PositionKind* kind : kinds) {
    Fields own;
    kind->list(options, own);
    for (Field field : own) {
      field.setting.group = "Positions";
      field.used = field.used && chosen != kinds.end() && (*chosen)->has(kind->name, options);
      fields.add(std::move(field));
    }
  }
}

void PositionKind::require_valid(PositionOptions options) const {
  Fields fields;
  list(options, fields);
  check_fields(kPositionKinds, fields);
  check(options,
        [](std::string_view option, const std::string& fault) { fail(kPositionKinds, "{}: {}", option, fault); });
}

// --- an encoding that overrides nothing ---

int64_t PositionKind::longest_input(int64_t /*max_positions*/, const PositionOptions& /*options*/) const {
  return std::numeric_limits<int64_t>::max();
}

Positions PositionKind::added_kind(const PositionOptions& /*options*/) const {
  return role == Role::added ? positions() : Positions::none;
}

Positions PositionKind::relative_kind(const PositionOptions& /*options*/) const {
  return role == Role::relative ? positions() : Positions::none;
}

AnyOf<AddedEncoding> PositionKind::added(const PositionSizes& /*sizes*/, const PositionOptions& /*options*/) const {
  return {};
}

AnyOf<RelativeEncoding> PositionKind::relative(const PositionSizes& /*sizes*/,
                                               const PositionOptions& /*options*/) const {
  return {};
}

AnyOf<PairEncoding> PositionKind::pairs(const PositionSizes& /*sizes*/, const PositionOptions& /*options*/) const {
  return {};
}

}  // namespace tapegrad::nn
