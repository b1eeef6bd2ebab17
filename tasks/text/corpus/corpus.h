// Text datasets: the files of examples, and the datasets that are made from package records.
#pragma once

#include <tapegrad/tasks/text/corpus/examples.h>

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tapegrad::tasks {

class TextTask;

/// One record of a software package, in the format of Debian's archive.
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

/// The part of everything that is built from this source: a hash of its name without digits decides, so that the
/// versions of one program stay together; 80 % of the sources train, 10 % validate, 10 % test.
Part part_of(std::string_view source);

/// The examples of a task. A text that differs from an earlier one in digits alone is left out; so are summaries and
/// answers that are empty or longer than 200 bytes.
Corpus make_corpus(const TextTask& task, std::span<const Package> packages);

/// FOLDER/TASK.PART.jsonl: one object per line, {"text":...,"label":...}, {"text":...,"summary":...} or
/// {"text":...,"question":...,"answer":...,"start":...}. Each file is replaced atomically.
void save_corpus(const std::filesystem::path& folder, const TextTask& task, const Corpus& corpus);
/// Reads what save_corpus wrote, or files of that form; other members of the objects are ignored. With an empty folder,
/// the examples of made_packages(). BadRequest about --data where a file is missing, has no example, or has a line of
/// another form.
Corpus load_corpus(const std::string& folder, const TextTask& task);

/// 200 records of packages that do not exist, as a Packages file: what tests and first tries run on. Their
/// sentences were written for tapegrad, so no other licence applies.
std::string made_packages();

}  // namespace tapegrad::tasks
