// The files of the checkout, for tests of all sources and documents.
#pragma once

#include <tapegrad/tests/support/testing.h>

#include <cctype>

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

// The comments of a source, `// ...` and what follows; a sign where code separates two of them.
inline std::string comments_of(const std::string& source) {
  std::string comments;
  for (const std::string& line : lines(source)) {
    std::size_t at = line.find("//");
    while (at != std::string::npos && at > 0 && line[at - 1] != ' ') at = line.find("//", at + 2);
    if (at == std::string::npos || line.find_first_not_of(' ') < at) comments += " . ";
    if (at != std::string::npos) comments += line.substr(std::min(line.find_first_not_of("/<", at), line.size()));
    comments += '\n';
  }
  return comments;
}

// A document without its blocks of code.
inline std::string sentences_of(const std::string& document) {
  std::string sentences;
  bool code = false;
  for (const std::string& line : lines(document)) {
    const bool fence = line.find("```") != std::string::npos;
    if (fence) code = !code;
    sentences += fence || code ? " . \n" : line + '\n';
  }
  return sentences;
}

// The words of a text: what has a letter or a digit, between blanks.
inline int count_words(const std::string& text) {
  std::istringstream words(text);
  return static_cast<int>(std::count_if(
      std::istream_iterator<std::string>(words), std::istream_iterator<std::string>(), [](const std::string& word) {
        return std::ranges::any_of(word, [](const unsigned char c) { return std::isalnum(c) || c >= 128; });
      }));
}

}  // namespace tapegrad::tests
