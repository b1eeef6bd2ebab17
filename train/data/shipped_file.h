// The data that come with tapegrad, for its examples: digits.txt and the_verdict.txt.
#pragma once

#include <tapegrad/autograd/error.h>
#include <tapegrad/version.h>

#include <filesystem>
#include <string>
#include <string_view>

namespace tapegrad::data {

/// The path of one of these files, whatever the working directory: in the source, for programs that are built with
/// tapegrad, or where tapegrad is installed. Error if it is not there. docs/gallery.md describes them.
inline std::string shipped_file(std::string_view name) {
#ifdef TAPEGRAD_DATA_FOLDER  // by CMake, in tapegrad's own build
  const std::filesystem::path folder = TAPEGRAD_DATA_FOLDER;
#else
  const std::filesystem::path folder = std::filesystem::path(__FILE__).parent_path() / "../.." / kDataFolder;
#endif
  const std::filesystem::path file = folder / name;
  if (std::filesystem::exists(file)) return std::filesystem::weakly_canonical(file).string();
  fail("shipped_file", "expected a file that comes with tapegrad, got \"" + std::string(name) + "\"");
}

}  // namespace tapegrad::data
