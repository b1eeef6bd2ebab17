// The table of a run's settings, in the grammar of nn/module/fields.h. Each setting is declared once, with its name,
// help, group and limits; the command line, range errors, JSON and the report's table all come from that declaration.
//
// A struct of settings lists its members in `void list(Fields& f)`:
//   Options in_rate(f, Group::rate);
//   in_rate("lr", "learning rate", lr, kPositive);
#pragma once

#include <tapegrad/nn/fields.h>
#include <tapegrad/tasks/settings/bad_request.h>
#include <tapegrad/train/internal/settings_json.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tapegrad::tasks {

using nn::Field;
using nn::Fields;
using nn::fields_of;
using nn::kNotNegative;
using nn::kPositive;
using nn::Limits;
using nn::Setting;

/// Where --help and the report show a setting.
struct Group {
  static constexpr std::string_view model = "Model", positions = "Positions", data = "Data", start = "Fine-tuning",
                                    training = "Training", rate = "Learning rate", run = "Run";
};

inline constexpr double kMost = 10'000'000;  // of one size: products of sizes are checked as doubles
inline constexpr Limits kCount{.least = 1, .most = kMost};
inline constexpr Limits kCountOrNone{.least = 0, .most = kMost};
inline constexpr Limits kProbability{.least = 0, .most = 1, .open_above = true};  // of dropping
inline constexpr Limits kBeams{.least = 1, .most = 1000};

/// Declares members, each in a line, in a group of --help and the report:
///   in_rate("clip-grad", "clip gradients to this norm", clip_grad, kNotNegative).special("0: no clipping");
class Options {
 public:
  explicit Options(Fields& fields, std::string_view group = {}) : fields_(fields), group_(group) {}

  template <class T>
  Options& operator()(std::string_view name, std::string_view help, T& member, const Limits& limits = {},
                      bool used = true) {
    fields_.add({.name = name, .help = help, .group = group_, .limits = limits}, member, used);
    last_ = name;
    return *this;
  }
  /// A member whose value i is called names[i], of which `choices` are offered; empty: all.
  template <class T>
  Options& named(std::string_view name, std::string_view help, T& member, std::span<const std::string_view> names,
                 std::span<const std::string_view> choices = {}) {
    fields_.add_named({.name = name, .help = help, .group = group_, .choices = choices}, member, names);
    return *this;
  }

  // More about the member that was declared last: as in Setting.
  Options& choices(std::span<const std::string_view> names) { return set(&Setting::choices, names); }
  Options& type(std::string_view type) { return set(&Setting::type, type); }
  Options& special(std::string_view text) { return set(&Setting::special, text); }
  Options& otherwise(std::string_view text) { return set(&Setting::otherwise, text); }
  Options& example() { return set(&Setting::example, true); }
  Options& positional() { return set(&Setting::positional, true); }

 private:
  template <class T>
  Options& set(T Setting::*what, T value) {
    fields_[last_].*what = value;
    return *this;
  }

  Fields& fields_;
  std::string_view group_, last_;
};

/// Adds the members of a configuration, in the group "Model" where they name none. What nn does not limit, a command
/// does: whole numbers to kMost, and probabilities of dropping, which nn's kShare limits, to less than 1.
void add_fields(Fields& fields, const Fields& more);

/// "what; name: help; name: help": the help of an option whose values are the rows of a table. `row` returns the name
/// and the help of one; rows without help are left out.
template <class Rows, class Row>
std::string help_of_rows(std::string_view what, const Rows& rows, const Row& row) {
  std::string text(what);
  for (const auto& one : rows)
    if (const auto [name, help] = row(one); !help.empty()) text += fmt::format("; {}: {}", name, help);
  return text;
}

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
/// Reads what to_json wrote, as train::parse_settings and train::read_settings do.
void from_json(std::string_view where, std::string_view json, std::string_view task, const Fields& fields);
using train::task_of_json;

/// The memory of this machine.
uint64_t memory_bytes();
/// BadRequest where `what` needs about that many bytes and this machine has less memory.
void require_memory(std::string_view where, std::string_view what, double bytes);
/// Error about `where` for more layers than a file with this many tensors can hold: they would be made for nothing.
void require_layers(std::string_view where, std::string_view key, int64_t layers, std::size_t tensors);
inline constexpr std::string_view kModelAndBatch = "a model with batches of these sizes";

}  // namespace tapegrad::tasks
