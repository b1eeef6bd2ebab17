// An example of a text task, and the parts of a dataset.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tapegrad::tasks {

inline constexpr std::size_t kLongestTarget = 200;  // bytes, of summaries and answers in our datasets

struct TextExample {
  std::string text = {};
  std::string target = {};    ///< the class, the summary, or the answer
  std::string question = {};  ///< answer only
  int64_t start = 0;          ///< answer only: the byte of `text` at which the answer starts

  bool operator==(const TextExample&) const = default;
};

enum class Part { train, validation, test };
inline constexpr std::string_view kPartNames[] = {"train", "validation", "test"};

/// The examples of one task in three parts.
struct Corpus {
  std::array<std::vector<TextExample>, 3> parts;
  const std::vector<TextExample>& operator[](Part part) const { return parts[static_cast<std::size_t>(part)]; }
};

}  // namespace tapegrad::tasks
