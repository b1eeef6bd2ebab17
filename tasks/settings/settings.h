// The table of a run's settings, in the grammar of nn/module/fields.h. Each setting is declared once, with its name,
// help, group and limits; the command line, range errors, JSON and the report's table all come from that declaration.
//
// A struct of settings lists its members in `void list(Fields& f)`:
//   f.add({.name = "lr", .help = "learning rate", .group = Group::rate, .limits = kPositive}, lr);
#pragma once

#include <tapegrad/nn/fields.h>
#include <tapegrad/tasks/settings/bad_request.h>

#include <cstdint>
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

/// Adds the members of a configuration, in the group "Model" where they name none. What nn does not limit, a command
/// does: whole numbers to kMost, and probabilities of dropping, which nn's kShare limits, to less than 1.
void add_fields(Fields& fields, const Fields& more);

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
/// Error about `where` for more layers than a file with this many tensors can hold: they would be made for nothing.
void require_layers(std::string_view where, std::string_view key, int64_t layers, std::size_t tensors);
inline constexpr std::string_view kModelAndBatch = "a model with batches of these sizes";

}  // namespace tapegrad::tasks
