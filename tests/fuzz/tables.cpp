// Csv and JsonLines: an input that begins with '{' is read as JSONL, any other as CSV. What is read has columns of
// equal lengths, and classes that have names.
#include <tapegrad/tests/fuzz/fuzz.h>
#include <tapegrad/train/data/csv.h>
#include <tapegrad/train/data/json_lines.h>

namespace {

using namespace tapegrad::fuzz;
namespace data = tapegrad::data;

void check(const data::Table& table) {
  for (const char* name : {"x", "n"}) need(table[name].numel() == table.size());
  need(table.texts("t").size() == static_cast<std::size_t>(table.size()));
  const auto classes = static_cast<int64_t>(table.names("c").size());
  for (const int64_t id : table["c"].to_vector<int64_t>()) need(id >= 0 && id < classes);
}

}  // namespace

void fuzz(std::string_view text) {
  static const MemoryFile file;
  file.fill(text);
  const std::vector<data::Column> columns{data::numbers("x", {.missing = 0}),
                                          data::numbers("n", {.dtype = tapegrad::kInt64, .missing = 1}),
                                          data::classes("c", {.missing = "none"}), data::texts("t", {.missing = ""})};
  reads_or_throws([&] {
    if (text.starts_with('{')) {
      check(data::JsonLines(file.path(), columns));
    } else {
      check(data::Csv(file.path(), columns));
      check(data::Csv(file.path(), columns, {.separator = '\t', .quotes = false, .header = {"x", "n", "c", "t"}}));
    }
  });
}
