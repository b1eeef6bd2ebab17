// The JSON in a checkpoint.
#pragma once

#include <tapegrad/tasks/train/checkpoint.h>

#include <initializer_list>
#include <nlohmann/json_fwd.hpp>

namespace tapegrad::train::detail {

// checkpoint.state as JSON. Error where one of the members `keys` is missing.
nlohmann::json state_of(const Checkpoint& checkpoint, std::initializer_list<const char*> keys);

}  // namespace tapegrad::train::detail
