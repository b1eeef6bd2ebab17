// Shows, checks and copies the members of configurations.
#include <fmt/ranges.h>
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/nn/fields.h>

#include <algorithm>

namespace tapegrad::nn {
namespace {

template <class T>
inline constexpr bool kIsOptional = false;
template <class T>
inline constexpr bool kIsOptional<std::optional<T>> = true;

std::string joined_by(char mark, std::string_view name) {
  std::string out(name);
  std::replace(out.begin(), out.end(), mark == '_' ? '-' : '_', mark);
  return out;
}

}  // namespace

// --- one member ---

std::string Setting::key() const { return joined_by('_', name); }
std::string Setting::option() const { return (positional ? "" : "--") + joined_by('-', name); }
bool Setting::is(std::string_view other) const { return key() == joined_by('_', other); }

bool Named::set(std::string_view name) const {
  const auto found = std::find(names_.begin(), names_.end(), name);
  if (found != names_.end()) set_(member_, static_cast<std::size_t>(found - names_.begin()));
  return found != names_.end();
}

std::string Field::text() const {
  return std::visit(
      [](const auto& member) -> std::string {
        using T = std::decay_t<decltype(member)>;
        if constexpr (std::is_same_v<T, Named>) {
          return std::string(member.name());
        } else if constexpr (std::is_same_v<T, std::vector<std::string>*>) {
          return fmt::format("{}", fmt::join(*member, " "));
        } else if constexpr (kIsOptional<std::remove_pointer_t<T>>) {
          return *member ? fmt::format("{}", **member) : "";
        } else {
          return fmt::format("{}", *member);
        }
      },
      value);
}

std::string Field::default_text() const {
  if (!setting.otherwise.empty()) return std::string(setting.otherwise);
  const std::string shown = text();
  if (setting.special.empty()) return shown;
  if (!setting.special.starts_with(shown + ": ")) return fmt::format("{}; {}", shown, setting.special);
  return fmt::format("{}, which means {}", shown, setting.special.substr(shown.size() + 2));
}

std::string Field::report_text() const {
  return setting.special.empty() ? std::string(setting.help) : fmt::format("{} ({})", setting.help, setting.special);
}

std::string Field::fault(std::string_view called) const {
  const std::optional<double> number = std::visit(
      [](const auto& member) -> std::optional<double> {
        using T = std::decay_t<decltype(member)>;
        if constexpr (std::is_same_v<T, int64_t*> || std::is_same_v<T, double*>) return *member;
        if constexpr (std::is_same_v<T, std::optional<int64_t>*> || std::is_same_v<T, std::optional<double>*>)
          return *member;
        return {};
      },
      value);
  if (number) return setting.limits.fault(called, *number);
  const auto* const word = std::get_if<std::optional<std::string>*>(&value);
  if (word != nullptr && !**word) return "";
  const std::span<const std::string_view> choices = setting.choices;
  if (choices.empty() || std::find(choices.begin(), choices.end(), text()) != choices.end()) return "";
  return fmt::format("expected {} to be one of {}, got {}", called, fmt::join(choices, ", "), text());
}

void Field::copy_from(const Field& other) const {
  std::visit(
      [&](const auto& member) {
        using T = std::decay_t<decltype(member)>;
        if constexpr (std::is_same_v<T, Named>) {
          member.set(std::get<Named>(other.value).name());
        } else {
          *member = *std::get<T>(other.value);
        }
      },
      value);
}

// --- all members ---

void Fields::add(Field field) {
  if (const Named* named = std::get_if<Named>(&field.value); named != nullptr && field.setting.choices.empty())
    field.setting.choices = named->names();
  fields_.push_back(std::move(field));
}

const Field* Fields::find(std::string_view name) const& {
  const auto found =
      std::find_if(fields_.begin(), fields_.end(), [&](const Field& field) { return field.setting.is(name); });
  return found == fields_.end() ? nullptr : &*found;
}

std::vector<Field>::iterator Fields::at(std::string_view name) {
  const auto found =
      std::find_if(fields_.begin(), fields_.end(), [&](const Field& field) { return field.setting.is(name); });
  if (found == fields_.end()) fail("fields", "expected the name of a member, got \"{}\"", name);
  return found;
}

Setting& Fields::operator[](std::string_view name) { return at(name)->setting; }

void Fields::insert_after(std::string_view name, const Fields& more) {
  fields_.insert(at(name) + 1, more.begin(), more.end());
}

void Fields::erase(std::string_view name) { fields_.erase(at(name)); }

void check_fields(std::string_view where, const Fields& fields) {
  for (const Field& field : fields) {
    const std::string fault = field.fault(field.setting.key());
    if (!fault.empty()) fail(where, fault);
  }
}

}  // namespace tapegrad::nn
