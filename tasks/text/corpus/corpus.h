// Text datasets: examples, their files, and the three datasets that are made from package records.
#pragma once

#include <tapegrad/tasks/text/corpus/packages.h>

#include <array>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tapegrad::tasks {

/// The tasks on texts.
///   classify   its class: the section of the archive
///   summarize  its summary: the synopsis of a long description
///   answer     the part of it that answers a question: the value of a field of a record
enum class TextTask { classify, summarize, answer };
inline constexpr std::string_view kTextTaskNames[] = {"classify", "summarize", "answer"};
std::string_view name(TextTask task);

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

/// The part of everything that is built from this source: a hash of its name without digits decides, so that the
/// versions of one program stay together; 80 % of the sources train, 10 % validate, 10 % test.
Part part_of(std::string_view source);

/// The examples of a task. A text that differs from an earlier one in digits alone is left out; so are classes with
/// fewer than `least` examples, and summaries and answers that are empty or longer than 200 bytes.
Corpus make_corpus(TextTask task, std::span<const Package> packages, int64_t least = 20);

/// FOLDER/TASK.PART.jsonl: one object per line, {"text":...,"label":...}, {"text":...,"summary":...} or
/// {"text":...,"question":...,"answer":...,"start":...}. Each file is replaced atomically.
void save_corpus(const std::filesystem::path& folder, TextTask task, const Corpus& corpus);
/// Reads what save_corpus wrote, or files of that form; other members of the objects are ignored. With an empty folder,
/// the examples of made_packages(). BadRequest about --data where a file is missing, has no example, or has a line of
/// another form.
Corpus load_corpus(const std::string& folder, TextTask task);

/// 200 records of packages that do not exist, as a Packages file: what tests and first tries run on. Their
/// sentences were written for tapegrad, so no other licence applies.
std::string made_packages();

}  // namespace tapegrad::tasks
