// The text files of sections and exercises: how entries are read, that each file has its page or exercise, and that
// numbers and captions which do not match what is computed are errors.
#include <tapegrad/tasks/language/texts.h>
#include <tapegrad/tests/support/testing.h>
#include <tapegrad/tutorials/computed.h>
#include <tapegrad/tutorials/exercises/exercises.h>
#include <tapegrad/tutorials/find.h>
#include <tapegrad/tutorials/pages.h>
#include <tapegrad/tutorials/texts.h>

namespace tapegrad::tests {
namespace {

using namespace tasks::tutorial;
using tasks::Language;

TEST(TutorialTexts, AreEntriesOfLines) {
  const std::vector<Entry> entries = entries_of({"a", R"(# A comment.
ko: one
  two  three

lines:
    x = 1

  # no comment
)"});
  ASSERT_EQ(entries.size(), 2U);
  EXPECT_EQ(entries[0].key + "|" + entries[0].value + "|" + entries[0].text, "ko|one|one two three");
  EXPECT_EQ(entries[1].key + "|" + entries[1].value + "|" + entries[1].lines, "lines||  x = 1\n\n# no comment\n");
  EXPECT_ERROR(entries_of({"a", "ko: one\nno entry\n"}));
  EXPECT_THROW(entries_of({"a", "  no key\n"}), Error);
}

TEST(TutorialTexts, AreReadInOrder) {
  EntryReader reader("sections/003-8.2.5");
  EXPECT_EQ(reader.take("place").text, "003 8.2.5");
  EXPECT_EQ(reader.take_if("about"), nullptr);
  EXPECT_ERROR(reader.take("about"));
  EXPECT_ERROR(reader.expect_end());
  EXPECT_TRUE(reader.take_text().en.starts_with("Masking for training in parallel"));
  EXPECT_TRUE(reader.take_text_if().empty());
  EXPECT_ERROR(EntryReader("sections/none"));
}

TEST(TutorialTexts, EachHasItsPageOrExercise) {
  std::set<std::string> files, used;
  for (const tasks::EmbeddedFile& file : tasks::embedded_files())
    if (file.name.starts_with("tutorials/") && file.name.ends_with(".txt"))
      files.emplace(file.name.substr(10, file.name.size() - 14));
  for (const Page* page : pages()) used.insert("sections/" + file_stem(*page));
  for (const tasks::exercises::Exercise& exercise : tasks::exercises::all_exercises())
    used.insert("exercises/set/" + std::string(exercise.id));
  for (const char* task : {"copy", "addition", "parser"}) used.insert(std::string("explain/") + task);
  used.insert({"originals", "pages/runs", "show/texts"});
  EXPECT_EQ(files, used);
}

TEST(TutorialTexts, NumbersAndCaptionsMatchWhatIsComputed) {
  const Page& right = *find_pages(pages(), std::vector<std::string>{"004", "28-33"}).at(0);
  const auto error_with = [&](auto change) {
    Page page = right;
    change(page);
    return error_of([&] { computed(page, Language::en); });
  };
  EXPECT_EQ(error_with([](Page& page) { page.printed.pop_back(); }),
            "[tutorial] page 004 [28-33]: expected 5 numbers, as in its file, got 6 numbers");
  EXPECT_EQ(error_with([](Page& page) { page.printed[1].label = "cell 29"; }),
            "[tutorial] page 004 [28-33]: expected \"cell 29\", as in its file, got \"cell 29: mask_simple\"");
  EXPECT_EQ(error_with([](Page& page) { page.captions.pop_back(); }),
            "[tutorial] page 004 [28-33]: expected 1 figures, as in its file, got 2 figures");
}

}  // namespace
}  // namespace tapegrad::tests
