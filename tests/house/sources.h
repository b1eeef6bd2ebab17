// The files of the checkout, for tests of all sources and documents.
#pragma once

#include <tapegrad/tests/support/testing.h>

namespace tapegrad::tests {

using Texts = std::map<std::string, std::string>;  // by path: "nn/layers/linear.h"

inline const std::vector<std::string> kLayers{"autograd", "nn",    "optim",     "distributed", "train",
                                              "checks",   "tasks", "tutorials", "command",     "examples"};
inline const std::set<std::string> kSources{".cpp", ".h"};

// The files with these extensions in folders of the checkout.
inline Texts texts_of(const std::set<std::string>& extensions, const std::vector<std::string>& folders,
                      const std::filesystem::path& checkout = kSourceDir) {
  Texts texts;
  for (const std::string& folder : folders)
    for (const auto& entry : std::filesystem::recursive_directory_iterator(checkout / folder))
      if (extensions.contains(entry.path().extension()))
        texts.emplace(std::filesystem::relative(entry.path(), checkout).generic_string(), slurp(entry.path()));
  return texts;
}

// All documents, but for what is built in the checkout.
inline Texts documents() {
  std::vector<std::string> folders = kLayers;
  folders.insert(folders.end(), {"tests", "bench", "docs"});
  Texts found = texts_of({".md"}, folders);
  for (const auto& entry : std::filesystem::directory_iterator(kSourceDir))
    if (entry.path().extension() == ".md") found.emplace(entry.path().filename(), slurp(entry.path()));
  return found;
}

}  // namespace tapegrad::tests
