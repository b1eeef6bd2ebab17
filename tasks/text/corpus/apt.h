// The package lists of Debian's archive: fetched and read with apt, without touching the system's own.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace tapegrad::tasks {

struct AptSource {
  std::string mirror = "http://deb.debian.org/debian";
  std::string release = "bookworm";
};

/// Fetches the lists of the release's component main, for amd64, with English descriptions, into FOLDER/lists, by
/// apt-get with all of its state in that folder; the system's proxies and keys are used. About 16 MB are loaded.
/// Returns FOLDER/lists. Error "[data debian] ..." with apt's own words where that fails.
std::filesystem::path fetch_lists(const AptSource& source, const std::filesystem::path& folder);

/// The contents of all Packages files in a folder of lists, and of all its English translations. Compressed ones are
/// read by apt-helper. BadRequest about `option` where there is no Packages file.
struct PackageLists {
  std::string packages, translations;
};
PackageLists read_lists(const std::filesystem::path& folder, std::string_view option);

}  // namespace tapegrad::tasks
