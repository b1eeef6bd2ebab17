// The table of a run's settings. Each setting is declared once, with its name, help, group and limits; the command
// line, range errors, JSON and the report's table all come from that declaration.
//
// A struct of settings lists its members in `void list(Fields& f)`:
//   f.add({.name = "lr", .help = "learning rate", .group = Group::rate, .limits = kPositive}, lr);
#pragma once

#include <tapegrad/tasks/settings/bad_request.h>

#include <cstdint>
#include <limits>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace tapegrad::tasks {

/// Where --help and the report show a setting.
enum class Group { model, positions, data, start, training, rate, run };
/// "Model", "Positions", "Data", "Fine-tuning", "Training", "Learning rate", "Run".
std::string_view name(Group group);

/// The numbers that a setting accepts: from `least` to `most`, without the bounds that are open. NaN and the infinities
/// are never accepted.
struct Limits {
  double least = -std::numeric_limits<double>::infinity();
  double most = std::numeric_limits<double>::infinity();
  bool open_below = false, open_above = false;
};
inline constexpr double kMost = 10'000'000;  // of one size: products of sizes are checked as doubles
inline constexpr Limits kCount{.least = 1, .most = kMost};
inline constexpr Limits kCountOrNone{.least = 0, .most = kMost};
inline constexpr Limits kPositive{.least = 0, .open_below = true};
inline constexpr Limits kNotNegative{.least = 0};
inline constexpr Limits kProbability{.least = 0, .most = 1, .open_above = true};  // of dropping
inline constexpr Limits kBeams{.least = 1, .most = 1000};

/// The declaration of one setting.
struct Setting {
  std::string_view name;  // on the command line, without dashes; JSON keys have _ for -
  std::string_view help;
  Group group = Group::model;
  Limits limits = {};
  std::span<const std::string_view> choices = {};  // the values of a text; empty: any text
  std::string_view type = {};                      // in --help: "FILE"; empty: by the member's type
  bool example = false;           // decides how long an example is: test, explain and attention offer it
  std::string_view special = {};  // what one value means, as "0: no clipping"
};

/// A declaration and the member that holds the value.
struct Field {
  Setting setting;
  /// A list of texts is an option that may be given several times.
  std::variant<bool*, int64_t*, uint64_t*, double*, std::string*, std::vector<std::string>*> value;
  bool used = true;  // false: another setting makes it moot, as the sizes of a form of attention that is not chosen

  /// The value as errors and reports show it.
  std::string text() const;
  /// The value as the default in --help, with the special one: "0, which means no clipping" or "1; 0: no clipping".
  std::string default_text() const;
  /// The help of a report: with the special value, "clip gradients to this norm (0: no clipping)".
  std::string report_text() const;
};

/// The settings of one run, in order. Refers to the members of the struct that listed them.
class Fields {
 public:
  template <class T>
  void add(const Setting& setting, T& value, bool used = true) {
    fields_.push_back({setting, &value, used});
  }
  void add(const Field& field) { fields_.push_back(field); }
  std::vector<Field>::const_iterator begin() const { return fields_.begin(); }
  std::vector<Field>::const_iterator end() const { return fields_.end(); }
  /// nullptr if there is no such setting.
  const Field* find(std::string_view name) const;

 private:
  std::vector<Field> fields_;
};

/// The table of any struct of settings.
template <class Settings>
Fields fields_of(Settings& settings) {
  Fields fields;
  settings.list(fields);
  return fields;
}

/// BadRequest about an option whose value is outside of its limits.
void check_limits(std::string_view option, double value, const Limits& limits);
/// BadRequest that names the first setting outside of its limits or choices.
void check_limits(const Fields& fields);

/// Names of settings that were given on the command line, without dashes.
using Given = std::vector<std::string>;
bool contains(const Given& given, std::string_view name);

/// Copies the settings named in `given` from `asked` to `fields`. Names that either does not have are ignored.
void override_with(const Fields& fields, const Fields& asked, const Given& given);
/// A run in the folder `out` continues with its own settings: BadRequest about --resume that lists the `given` settings
/// with another value.
void require_same(const Fields& run, const Fields& asked, const Given& given, std::string_view out);

/// The settings as JSON: {"task":"copy","version":2,"vocab_size":20,...}.
std::string to_json(std::string_view task, const Fields& fields);
/// Reads what to_json wrote. A key that is missing leaves its setting as it is: the default of a setting is what runs
/// did before the setting existed. Error about `where` for JSON of another task, of a newer version or with a value of
/// another type.
void from_json(std::string_view where, std::string_view json, std::string_view task, const Fields& fields);
/// The task that JSON settings belong to; empty if they name none. Error about `where` unless it is JSON.
std::string task_of_json(std::string_view where, std::string_view json);

/// The memory of this machine.
uint64_t memory_bytes();
/// BadRequest where `what` needs about that many bytes and this machine has less memory.
void require_memory(std::string_view where, std::string_view what, double bytes);
inline constexpr std::string_view kModelAndBatch = "a model with batches of these sizes";

}  // namespace tapegrad::tasks
