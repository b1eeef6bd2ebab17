// The settings of a run as JSON: {"task":"copy","version":2,"vocab_size":20,...}.
#pragma once

#include <tapegrad/autograd/io/internal/json_value.h>
#include <tapegrad/nn/fields.h>

#include <string>
#include <string_view>

namespace tapegrad::train {

inline constexpr int64_t kSettingsVersion = 2;  // of the JSON; 1, of files without "version", had fewer settings

/// The JSON of settings. Error about `where` unless it belongs to `task`, or if its version is newer.
Json parse_settings(std::string_view where, std::string_view text, std::string_view task);
/// Reads them. A key that is missing leaves its member as it is: the default of a setting is what runs did before the
/// setting existed. Error about `where` for a value of another type, or that is not among the choices of an enum.
void read_settings(std::string_view where, const Json& json, const nn::Fields& fields);
/// The task that JSON settings belong to; empty if they name none. Error about `where` unless it is JSON.
std::string task_of_json(std::string_view where, std::string_view json);

}  // namespace tapegrad::train
