// The documents: every link between them leads to a file and a heading, every test that docs/ names and every path
// exists, blocks are parts of programs that run, and what the compiler says about a mistake is what its test expects.
#include <tapegrad/tests/house/sources.h>
#include <tapegrad/tests/support/patterns.h>

#include <glob.h>

#include <cctype>

namespace tapegrad::tests {
namespace {

namespace fs = std::filesystem;

using Names = std::set<std::string>;

// The anchors of a document's headings: in lower case, blanks as "-", without other signs.
Names anchors_of(const std::string& document) {
  static const Pattern heading("(?:^|\n)#+ ([^\n]*)");
  Names anchors;
  const std::string prose = sentences_of(document);
  for (const Match& match : heading.in(prose)) {
    std::string anchor;
    for (const unsigned char c : match[1]) {
      if (std::isalnum(c) || c == '_' || c >= 128) anchor += static_cast<char>(std::tolower(c));
      if (c == ' ' || c == '-') anchor += '-';
    }
    anchors.insert(anchor);
  }
  return anchors;
}

// Links to files or headings that are not there.
Names lost_links(const Texts& texts) {
  static const Pattern link(R"(\]\(([^)#\s]*)(#[^)\s]*)?\))");
  Names lost;
  for (const auto& [path, text] : texts) {
    const std::string prose = sentences_of(text);
    for (const Match& match : link.in(prose)) {
      const std::string target = match[1], anchor = match[2];
      if (target.find("://") != std::string::npos) continue;
      const fs::path file =
          target.empty() ? fs::path(path) : (fs::path(path).parent_path() / target).lexically_normal();
      const auto document = texts.find(file.generic_string());
      const bool there = document != texts.end() || fs::exists(fs::path(kSourceDir) / file);
      const bool heading =
          anchor.empty() || (document != texts.end() && anchors_of(document->second).contains(anchor.substr(1)));
      if (!there || !heading) lost.insert(path + " -> " + target + anchor);
    }
  }
  return lost;
}

// Tests that a document names, `Suite.Name`, and that no source has.
Names lost_tests(const Texts& texts, const Names& tests) {
  static const Pattern named("`([A-Z][A-Za-z0-9]+\\.[A-Z][A-Za-z0-9]+)`");
  Names lost;
  for (const auto& [path, text] : texts) {
    for (const Match& match : named.in(text)) {
      if (!tests.contains(match[1])) lost.insert(path + " -> " + match[1]);
    }
  }
  return lost;
}

// Whether a path from the root is there: a file, a folder, a source without its extension, or a match of "folder/*.h".
bool path_exists(const std::string& path) {
  glob_t found = {};
  const int missing = glob(fmt::format("{}/{}{{,.cpp,.h}}", kSourceDir, path).c_str(), GLOB_BRACE, nullptr, &found);
  globfree(&found);
  return missing == 0;
}

// Paths, `folder/file.h`, that are not there. Not ours: those of LibTorch, and outside of our folders those without one
// of these extensions, such as `out/copy/report.html`, which a run writes, and `comments/docs/models_1.inc`, generated.
Names lost_paths(const Texts& texts) {
  static const Pattern quoted("`([\\w.*-]+/[\\w.*/-]*)`"),
      extension("(?!torch/).*\\.(h|cpp|js|py|sh|txt|md|cmake|json)");
  static const Pattern folder(fmt::format("({}|tests|bench|docs|cmake|packaging)/.*", fmt::join(kLayers, "|")));
  Names lost;
  for (const auto& [path, text] : texts)
    for (const Match& match : quoted.in(sentences_of(text)))
      if ((folder.matches(match[1]) || extension.matches(match[1])) && !path_exists(match[1]))
        lost.insert(path + " -> " + match[1]);
  return lost;
}

// The blocks of code of a language in a page.
std::vector<std::string> blocks_in(const std::string& page, const std::string& language) {
  std::vector<std::string> blocks;
  bool inside = false;
  for (const std::string& line : lines(page)) {
    if (inside && line == "```") {
      inside = false;
    } else if (inside) {
      blocks.back() += line + '\n';
    } else if (line == "```" + language) {
      inside = true;
      blocks.emplace_back();
    }
  }
  return blocks;
}

// The lines of a text without their indentation.
std::string trimmed_lines(const std::string& text) {
  std::string trimmed = "\n";
  for (const std::string& line : lines(text))
    trimmed += line.substr(std::min(line.find_first_not_of(' '), line.size())) + '\n';
  return trimmed;
}

// Blocks of code of the language `language` in the pages of docs/ that are no lines of one of `files`, whatever the
// indentation, and that none of them includes by its number: "comments/docs/models_2.inc" (tests/comments/blocks.py).
Names lost_blocks(const Texts& pages, const std::string& language, const Texts& files) {
  std::vector<std::string> programs;
  for (const auto& [path, text] : files) programs.push_back(trimmed_lines(text));
  const auto somewhere = [&](const std::string& text) {
    return std::ranges::any_of(programs,
                               [&](const std::string& program) { return program.find(text) != program.npos; });
  };
  Names lost;
  for (const auto& [path, text] : pages) {
    if (!path.starts_with("docs/")) continue;
    int number = 0;
    for (const std::string& block : blocks_in(text, language)) {
      const std::string name = path.substr(0, path.size() - 3) + "_" + std::to_string(++number);
      if (!somewhere(trimmed_lines(block)) && !somewhere("\"comments/" + name + ".inc\""))
        lost.insert(path + ": " + block);
    }
  }
  return lost;
}

// The names of a row's tests of mistakes, `nn_mistake_x`, and `..._y` for the same folder.
std::vector<std::string> mistakes_in(const std::string& row) {
  static const Pattern name("`(?:(autograd|nn)_mistake|\\.\\.\\.)_(\\w+)`");
  std::vector<std::string> names;
  std::string folder;
  for (const Match& match : name.in(row)) {
    if (!match[1].empty()) folder = match[1];
    names.push_back(folder + "_mistake_" + match[2]);
  }
  return names;
}

// By the name of its test, the pattern that the compiler's message for each program of a table must match.
void add_messages(const std::string& folder, const std::string& table, std::map<std::string, std::string>& messages) {
  static const Pattern row("\n# (?!prelude)(\\w+)[^\n]*\n([^\n]*)\n"), brace("[{}]");  // plain in a pattern of CMake
  for (const Match& match : row.in(table)) messages[folder + "_mistake_" + match[1]] = brace.replaced(match[2], "\\$&");
}

// Mistakes in the tables of docs/ whose row does not have the message that their test expects, and those without a row.
Names lost_messages(const Texts& pages, const std::map<std::string, std::string>& messages) {
  Names lost, found;
  for (const auto& [path, text] : pages) {
    if (!path.starts_with("docs/")) continue;
    for (const std::string& row : lines(text)) {
      for (const std::string& name : mistakes_in(row)) {
        const auto there = messages.find(name);
        found.insert(name);
        if (there == messages.end() || !Pattern(there->second).found(row)) lost.insert(path + " -> " + name);
      }
    }
  }
  for (const auto& [name, message] : messages)
    if (!found.contains(name)) lost.insert(name + " has no row");
  return lost;
}

// Pages with lines of Python that no test of cmake/test_documents.cmake runs.
Names lost_python(const Texts& pages, const std::string& cmake) {
  Names lost;
  for (const auto& [path, text] : pages) {
    if (!path.starts_with("docs/") || text.find("```python\n") == std::string::npos) continue;
    const std::string name = path.substr(5, path.size() - 8);  // without docs/ and .md
    if (cmake.find(" " + name + "/") == std::string::npos) lost.insert(path);
  }
  return lost;
}

// Tables that list options: the heading says so, or a row begins with one. Options are declared in settings, from which
// --help, the man page and docs/manual follow.
Names tables_of_options(const Texts& texts) {
  static const Pattern heading(R"(\|(?:[^|]*\|)* *[Oo]ptions? *\|.*)"), row(R"(\| *`--?[a-zA-Z].*)");
  Names found;
  for (const auto& [path, text] : texts) {
    std::string before;
    for (const std::string& line : lines(sentences_of(text))) {
      if (line.starts_with("|---") && heading.matches(before)) found.insert(path + ": " + before);
      if (row.matches(line)) found.insert(path + ": " + line);
      before = line;
    }
  }
  return found;
}

// READMEs of folders with more than 15 lines: they lead to docs/. Blocks of code of recipes with more than 25 lines.
Names too_long(const Texts& pages) {
  Names found;
  for (const auto& [path, text] : pages) {
    const bool of_folder = path.ends_with("/README.md") && !path.starts_with("docs/");
    if (of_folder && std::ranges::count(text, '\n') > 15) found.insert(path);
    if (path != "docs/howto.md") continue;
    for (const std::string& block : blocks_in(text, "cpp"))
      if (std::ranges::count(block, '\n') > 25) found.insert(path + ": " + block.substr(0, block.find('\n')));
  }
  return found;
}

// The pages for users: docs/ without the folders in it.
Texts user_pages(const Texts& documents) {
  Texts pages;
  for (const auto& [path, text] : documents)
    if (path.starts_with("docs/") && path.find('/', 5) == std::string::npos) pages.emplace(path, text);
  return pages;
}

// What is not as in the other pages: one heading of the first level, at the top; no empty cell in the heading of a
// table.
Names faults_of_form(const Texts& pages) {
  static const Pattern empty_cell("\\|\\s*\\|");
  Names found;
  for (const auto& [path, text] : pages) {
    const std::string prose = sentences_of(text);
    if (!text.starts_with("# ") || prose.find("\n# ") != std::string::npos) found.insert(path + ": # headings");
    std::string before;
    for (const std::string& line : lines(prose)) {
      if (line.starts_with("|--") && empty_cell.found(before)) found.insert(path + ": " + before);
      before = line;
    }
  }
  return found;
}

Names all_tests() {
  static const Pattern test(R"(TEST(?:_F|_P)?\((\w+), (\w+)\))");
  Names names;
  for (const auto& [path, text] : texts_of({".cpp"}, {"tests"})) {
    for (const Match& match : test.in(text)) names.insert(match[1] + "." + match[2]);
  }
  return names;
}

TEST(Documents, LinksLeadSomewhere) { EXPECT_EQ(lost_links(documents()), Names()); }

TEST(Documents, TestsThatDocsNameExist) {
  const Texts docs = texts_of({".md"}, {"docs"});
  ASSERT_FALSE(docs.empty());
  EXPECT_EQ(lost_tests(docs, all_tests()), Names());
}

TEST(Documents, PathsThatDocsNameExist) {
  Texts texts = documents();
  for (const char* history : {"CHANGELOG.md", "docs/contributing/changelog-archive.md", "bench/NOTES.md"})
    EXPECT_EQ(texts.erase(history), 1u);
  EXPECT_EQ(lost_paths(texts), Names());
}

TEST(Documents, AWrongOfEachKindIsFound) {
  const Texts texts{
      {"docs/a.md", "# One two\n[b](b.md#there-it-is) [a](#one-two) [c](b.md#gone) [d](none.md)\n```\n[e](x)\n```\n"},
      {"docs/b.md", "## There it is\n`Suite.Kept` `Suite.Lost` `file.md`\n"}};
  EXPECT_EQ(lost_links(texts), (Names{"docs/a.md -> b.md#gone", "docs/a.md -> none.md"}));
  EXPECT_EQ(lost_tests(texts, {"Suite.Kept"}), (Names{"docs/b.md -> Suite.Lost"}));
  EXPECT_EQ(lost_paths({{"a.md",
                         "`nn/layers/linear.h` `nn/layers/linear` `nn/` `docs/p*.md` `torch/all.h` `out/copy`\n"
                         "`nn/lost` `layers/linear.h` `docs/p*.cpp` `lost/p*.md`\n```\n`nn/code.h`\n```\n"}}),
            (Names{"a.md -> docs/p*.cpp", "a.md -> layers/linear.h", "a.md -> lost/p*.md", "a.md -> nn/lost"}));
}

// The programs are compiled and run, and print their text files (cmake/test_programs.cmake); so are the examples, and
// the tests of blocks. Commands in ```sh are run by tests/consumer/sh_blocks.sh.
TEST(Documents, BlocksAreLinesOfProgramsThatRun) {
  Texts programs = texts_of({".cpp"}, {"examples/documents", "examples"});
  programs.merge(texts_of({".h"}, {"examples/ported"}));
  programs.merge(texts_of({".cpp"}, {"tests/comments"}));
  EXPECT_EQ(lost_blocks(documents(), "cpp", programs), Names());
  Texts pages = documents();
  pages.erase("docs/manual.md");  // made of the help
  EXPECT_EQ(lost_blocks(pages, "text", texts_of({".txt"}, {"examples/documents"})), Names());
}

// What pages compare with, in LibTorch and Python, is run by hand.
TEST(Documents, BlocksOfOthersAreLinesOfPeers) {
  EXPECT_EQ(lost_blocks(documents(), "c++", texts_of({".cpp"}, {"examples/documents/peers"})), Names());
  EXPECT_EQ(lost_blocks(documents(), "py", texts_of({".py"}, {"examples/documents/peers"})), Names());
}

// tests/consumer/check.sh builds the project of docs/start.md as the page shows it.
TEST(Documents, ProjectsAreThoseOfConsumers) {
  Texts pages = documents();
  EXPECT_EQ(blocks_in(pages.at("docs/start.md"), "cmake").size(), 1u);
  pages.erase("docs/start.md");
  EXPECT_EQ(lost_blocks(pages, "cmake", texts_of({".txt"}, {"tests/consumer"})), Names());
}

TEST(Documents, BlocksThatNothingRunsAreFound) {
  const Texts pages = {{"docs/a.md", "```cpp\nint x = 1;\n  f(x);\n```\n```cpp\nf(y);\n```\n```cpp\nh(`z`);\n```\n"},
                       {"nn/b.md", "```cpp\ng();\n```\n"}};
  EXPECT_EQ(
      lost_blocks(pages, "cpp",
                  {{"a.cpp", "  int x = 1;\n  f(x);\n  g(x);\n"}, {"b.cpp", "#include \"comments/docs/a_3.inc\"\n"}}),
      Names{"docs/a.md: f(y);\n"});
}

TEST(Documents, MistakesHaveTheWordsOfTheirTests) {
  std::map<std::string, std::string> messages;
  for (const std::string folder : {"autograd", "nn"})
    add_messages(folder, slurp(fs::path(kTestsDir) / folder / "not_compiling.txt"), messages);
  EXPECT_GE(messages.size(), 60u);
  EXPECT_EQ(lost_messages(documents(), messages), Names());
}

TEST(Documents, MistakesWithOtherWordsAreFound) {
  std::map<std::string, std::string> messages;
  add_messages("nn", "\n# a -O2\nuse x.0, {2}. instead\n  int x;\n\n# prelude\n-\n\n# b\nsay b\n\n# c\nsay c\n",
               messages);
  const Texts pages = {
      {"docs/a.md", "| `use x(0, {2}) instead` | `nn_mistake_a`, `..._b` |\n| d | `nn_mistake_d` |\n"}};
  EXPECT_EQ(lost_messages(pages, messages),
            (Names{"docs/a.md -> nn_mistake_b", "docs/a.md -> nn_mistake_d", "nn_mistake_c has no row"}));
}

TEST(Documents, PythonIsRun) {
  EXPECT_EQ(lost_python(documents(), slurp(fs::path(kSourceDir) / "cmake/test_documents.cmake")), Names());
  EXPECT_EQ(lost_python({{"docs/a/b.md", "```python\n1\n```\n"}, {"docs/c.md", "```python\n1\n```\n"}}, "(page a/b/x)"),
            Names{"docs/c.md"});
}

TEST(Documents, OptionsAreListedByTheirDeclarations) { EXPECT_EQ(tables_of_options(documents()), Names()); }

TEST(Documents, TablesOfOptionsAreFound) {
  const Texts texts = {
      {"a.md", "| verb | what | options |\n|---|---|---|\n| walk | walks | fast |\n"},
      {"b.md", "| | |\n|---|---|\n| `--seed N` | random seed |\n| `-v` | more |\n"},
      {"c.md", "| a new | is |\n|---|---|\n| option | a line |\n| `x - 1` | `--seed` |\n- `--seed`: its help\n"}};
  EXPECT_EQ(tables_of_options(texts),
            (Names{"a.md: | verb | what | options |", "b.md: | `--seed N` | random seed |", "b.md: | `-v` | more |"}));
}

TEST(Documents, DoorsAndRecipesAreShort) {
  EXPECT_EQ(too_long(documents()), Names());
  const std::string lines(26, '\n');
  EXPECT_EQ(too_long({{"a/README.md", "# A" + std::string(16, '\n')},
                      {"b/c/README.md", std::string(15, '\n')},
                      {"docs/README.md", lines},
                      {"docs/howto.md", "```cpp\nint x;" + lines + "```\n```cpp\nint y;\n```\n"}}),
            (Names{"a/README.md", "docs/howto.md: int x;"}));
}

TEST(Documents, PagesForUsersAreFewAndAlike) {
  const Texts pages = user_pages(documents());
  EXPECT_LE(pages.size(), 31u);
  int words = 0;  // code included
  for (const auto& [path, text] : pages) words += count_words(text);
  EXPECT_LE(words, 60'000);
  EXPECT_EQ(faults_of_form(pages), Names());
  EXPECT_EQ(count_words("# One two\n| 3 | `x = y`, z |\n"), 6);
  EXPECT_EQ(
      faults_of_form({{"a", "# A\n| x | y |\n|---|---|\n"}, {"b", "B\n# B\n"}, {"c", "# C\n| x | |\n|---|---|\n"}}),
      (Names{"b: # headings", "c: | x | |"}));
  EXPECT_EQ(user_pages({{"docs/a.md", ""}, {"docs/b/c.md", ""}, {"d.md", ""}}), (Texts{{"docs/a.md", ""}}));
}

}  // namespace
}  // namespace tapegrad::tests
