// The types of the command's options as --help names them, how their values are read, and how --help lays them out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace tapegrad::tasks {

template <class T>
constexpr const char* type_name_of() {
  if (std::is_same_v<T, std::string>) return "NAME";
  if (std::is_same_v<T, std::vector<std::string>>) return "PATTERN";
  if (std::is_same_v<T, double> || std::is_same_v<T, std::optional<double>>) return "X";
  return std::is_same_v<T, uint64_t> || std::is_same_v<T, std::optional<uint64_t>> ? "SEED" : "N";
}

// Makes every option of `app` and of its subcommands read its value by its type name: N, K, B and SEED are whole
// numbers of base 10 that fit into 64 bits, SEED is not negative, X, T and P are decimal numbers, and FILE, DIR and
// FILE_OR_DIR are not empty. Anything else is a BadRequest that names the option and the value. (CLI11 reads 010 as 8,
// a number beyond 64 bits as the nearest that fits, and an empty text as 0.)
void read_values_by_type(CLI::App& app);

// Restricts `option` to one of `words`, which --help shows as {a,b,c}; others are a BadRequest with suggestions.
CLI::Option* choose_from(CLI::Option* option, const std::vector<std::string>& words);

// Makes --help of `app`, and of subcommands added later, end a description with "(default: 100)", and call the
// subcommands <part>: "Usage: tapegrad train <task> [options]".
void set_help_style(CLI::App& app, std::string_view part);

}  // namespace tapegrad::tasks
