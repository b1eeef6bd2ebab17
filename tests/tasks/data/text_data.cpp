// Datasets of package records: parsing, splitting, files, and the verb `data`.
#include <tapegrad/tasks/text/corpus/corpus.h>
#include <tapegrad/tasks/text/task.h>
#include <tapegrad/tests/support/testing.h>

namespace tapegrad::tasks {
namespace {

using namespace tests;
using Json = nlohmann::json;

constexpr std::string_view kPackages =
    "Package: small\nVersion: 1.0-1\nDescription: a small thing\n It reads files\n and writes files.\n .\n"
    " Features:\n  * one\n  * two\n   more\n .\n The end \xff.\nSection: contrib/net\nTag: a, b,\n c\n"
    "Priority: optional\n\n\n"
    "Package: small-doc\nSource: small (1.0)\nSection: doc\nDescription: a manual\n of the first kind\n\n"
    "Package: empty\nSection: net\nDescription: without a long text\n\n"
    "Package: nowhere\nDescription: no section\n at all\n";

TEST(Packages, RecordsWithTheirDescriptions) {
  const std::vector<Package> found = parse_packages(kPackages);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].name, "small");
  EXPECT_EQ(found[0].source, "small");
  EXPECT_EQ(found[0].section, "net");
  EXPECT_EQ(found[0].synopsis, "a small thing");
  EXPECT_EQ(found[0].description,
            "It reads files and writes files.\nFeatures:\n* one\n* two\nmore\nThe end \xef\xbf\xbd.");
  using Fields = std::vector<std::pair<std::string, std::string>>;
  EXPECT_EQ(found[0].fields,
            (Fields{{"Package", "small"}, {"Version", "1.0-1"}, {"Section", "contrib/net"}, {"Priority", "optional"}}));
  EXPECT_EQ(found[1].source, "small");
  EXPECT_EQ(found[1].description, "of the first kind");
  EXPECT_TRUE(parse_packages("").empty());
  EXPECT_TRUE(parse_packages(" begins with a continuation\n:\nno colon\n\n").empty());
}

TEST(Corpus, NothingLeaks) {
  EXPECT_EQ(part_of("gcc-11"), part_of("gcc-12"));
  std::set<Part> parts;
  for (char c = 'a'; c <= 'z'; ++c) parts.insert(part_of(std::string("lib") + c));
  EXPECT_EQ(parts.size(), 3U);
  // A text that differs in digits alone occurs once, whatever its source.
  std::vector<Package> packages = parse_packages(kPackages);
  Package again = packages[0];
  again.source = "other";
  again.synopsis = "a small thing 2";
  packages[0].synopsis = "a small thing 1";
  packages.push_back(again);
  const Corpus corpus = make_corpus(text_task("classify"), packages);
  EXPECT_EQ(corpus.parts[0].size() + corpus.parts[1].size() + corpus.parts[2].size(), 2U);
}

TEST(Corpus, OfTheInventedRecords) {
  const std::vector<Package> packages = parse_packages(made_packages());
  EXPECT_EQ(packages.size(), 200U);
  for (const TextTask* task : text_tasks()) {
    const Corpus corpus = load_corpus("", *task);
    EXPECT_GT(corpus[Part::train].size(), 130U);
    EXPECT_GT(corpus[Part::validation].size(), 8U);
    EXPECT_GT(corpus[Part::test].size(), 8U);
    if (!task->asks) continue;
    std::set<std::string> asked;
    for (const TextExample& example : corpus[Part::train]) {
      asked.insert(example.question);
      EXPECT_EQ(example.text.substr(static_cast<std::size_t>(example.start), example.target.size()), example.target);
      EXPECT_NE(example.text.find(example.question + ": " + example.target + "\n"), std::string::npos);
    }
    EXPECT_EQ(asked.size(), 10U);
  }
}

TEST(Corpus, FilesAndBack) {
  const TemporaryFolder folder;
  for (const TextTask* task : text_tasks()) {
    const Corpus corpus = load_corpus("", *task);
    save_corpus(folder.path(), *task, corpus);
    EXPECT_EQ(load_corpus(folder.path(), *task).parts, corpus.parts);
  }
}

TEST(Corpus, FaultsOfFiles) {
  const TemporaryFolder folder;
  const auto fault = [&](const std::string& name, const std::string& line) {
    for (const std::string_view part : kPartNames) spill(folder / (name + "." + std::string(part) + ".jsonl"), line);
    std::string text = error_of([&] { load_corpus(folder.path(), text_task(name)); });
    const std::string path = folder.path().string() + "/" + name + ".train.jsonl";
    const std::size_t at = text.find(path);
    return at == std::string::npos ? text : text.replace(at, path.size(), "FILE");
  };
  EXPECT_EQ(fault("classify", "{\"text\":\"a\",\"label\":\"b\"}\r\n\r\n"), "no error");  // of Windows
  expect_said("tasks/errors/texts.txt", "records", [&](const std::string& text) {
    const std::size_t blank = std::min(text.find(' '), text.size());
    return fault(text.substr(0, blank), text.substr(std::min(blank + 1, text.size())));
  });
  EXPECT_ERROR(load_corpus("/nowhere", text_task("classify")));
}

TEST(DataVerb, Sample) {
  const TemporaryFolder folder;
  const tests::Ran ran = successful(run_command({"data", "sample", "--out", folder / "sample", "--json"}));
  const Json json = Json::parse(ran.out);
  EXPECT_EQ(json["packages"], 200);
  EXPECT_EQ(json["classify"]["classes"], 8);
  EXPECT_EQ(load_corpus(folder / "sample", text_task("answer")).parts, load_corpus("", text_task("answer")).parts);
}

}  // namespace
}  // namespace tapegrad::tasks
