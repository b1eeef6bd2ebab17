// Records of software packages in the format of Debian's archive.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tapegrad::tasks {

/// One record.
struct Package {
  std::string name = {}, source = {};  ///< `source` is what it was built from: several packages may have one source
  std::string section = {};            ///< without the area: "net" for contrib/net
  std::string synopsis = {};           ///< the first line of the description
  std::string description = {};        ///< the rest: one line per paragraph or list entry
  std::vector<std::pair<std::string, std::string>> fields = {};  ///< all other fields of one line, in their order
};

/// The records of a Packages file (deb-control(5)). Records without a name, a section or a long description are left
/// out. Bytes that are not UTF-8 become U+FFFD.
std::vector<Package> parse_packages(std::string_view packages);

/// A hash of a text, by which names decide what is made of a record.
uint64_t text_hash(std::string_view text);

}  // namespace tapegrad::tasks
