// What the command's options take, by the name of their type in --help, and what they refuse before a verb sees it.
#pragma once

#include <cstdint>
#include <string>
#include <type_traits>

namespace CLI {
class App;
}

namespace tapegrad::tasks {

template <class T>
constexpr const char* type_name_of() {
  if (std::is_same_v<T, std::string>) return "NAME";
  if (std::is_same_v<T, double>) return "X";
  return std::is_same_v<T, uint64_t> ? "SEED" : "N";
}

// For all options of `app` and of its subcommands, by type: N and SEED refuse whole numbers that 64 bits do not hold,
// for which CLI11 would take the nearest that they do, and SEED negative ones; numbers refuse an empty text, which
// CLI11 takes for 0, and FILE, DIR and FILE_OR_DIR an empty name. BadRequest, when the arguments are parsed, that names
// the option and what was given.
void check_values(CLI::App& app);

}  // namespace tapegrad::tasks
