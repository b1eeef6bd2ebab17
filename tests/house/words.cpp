// The words of comments, documents and programs: phrases that the house's style replaces by plainer ones, and private
// words that README.md and what the command prints say in the words of the field.
#include <tapegrad/tests/house/sources.h>
#include <tapegrad/tests/support/patterns.h>

#include <cctype>

namespace tapegrad::tests {
namespace {

// Pairs of words.txt.
using Phrases = std::vector<std::pair<std::string, std::string>>;
const Phrases& phrases(const std::string& section) {
  static std::map<std::string, Phrases> all;
  const auto [at, fresh] = all.try_emplace(section);
  if (fresh) at->second = pairs_of_lines("house/words.txt", section);
  return at->second;
}

std::vector<std::string> divided(std::string_view text, char at) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == at) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

// The words of a text in lower case; "." for any sign between two of them, so that no phrase reaches over it. Code in
// `...` is such a sign, too.
std::vector<std::string> words_of_text(const std::string& text) {
  std::vector<std::string> words;
  bool inside = false, code = false;
  for (const unsigned char c : text) {
    if (c == '`') code = !code;
    const bool letter = !code && (std::isalnum(c) || c == '_' || c == '\'' || c >= 128);
    if (letter) {
      if (!inside) words.emplace_back();
      words.back() += static_cast<char>(std::tolower(c));
    } else if (!std::isspace(c) && (words.empty() || words.back() != ".")) {
      words.emplace_back(".");
    }
    inside = letter;
  }
  return words;
}

// The literals of a source, with those that follow one another joined, except single words and style sheets.
std::vector<std::string> literals_of(const std::string& source) {
  std::vector<std::string> literals;
  std::string text;
  const auto end = [&] {
    const bool style_sheet = text.find("; }") != std::string::npos;
    if (text.find(' ') != std::string::npos && !style_sheet) literals.push_back(text);
    text.clear();
  };
  for (std::size_t i = 0; i < source.size(); ++i) {
    const char c = source[i];
    if (source.compare(i, 2, "//") == 0) {
      i = std::min(source.find('\n', i), source.size());
    } else if (c == '\'' && i > 0 && !std::isalnum(static_cast<unsigned char>(source[i - 1]))) {
      i += source[i + 1] == '\\' ? 3 : 2;
    } else if (source.compare(i, 2, "R\"") == 0) {
      const std::size_t open = source.find('(', i);
      const std::size_t close = source.find(")" + source.substr(i + 2, open - i - 2) + "\"", open);
      text += source.substr(open + 1, close - open - 1);
      i = close + open - i - 1;
    } else if (c == '"') {
      for (++i; source[i] != '"'; ++i) {
        const bool escaped = source[i] == '\\';
        if (escaped) ++i;
        text += escaped && source[i] == 'n' ? '\n' : source[i];
      }
    } else if (!std::isspace(static_cast<unsigned char>(c))) {
      end();
    }
  }
  end();
  return literals;
}

// The same without the targets of links.
std::string without_targets(const std::string& sentences) {
  static const Pattern target(R"(\]\([^)]*\))");
  return target.replaced(sentences, "]");
}

// Each of the phrases in the section that `words` has, with what to write.
std::vector<std::string> house_words(const std::vector<std::string>& words, const std::string& section = "phrases") {
  std::vector<std::string> found;
  for (const auto& [phrase, better] : phrases(section)) {
    std::vector<std::vector<std::string>> pattern;
    for (const std::string& alternatives : divided(phrase, ' ')) pattern.push_back(divided(alternatives, '|'));
    for (std::size_t i = 0; i + pattern.size() <= words.size(); ++i) {
      std::string text;
      std::size_t k = 0;
      for (; k < pattern.size() && std::ranges::find(pattern[k], words[i + k]) != pattern[k].end(); ++k) {
        text += (k > 0 ? " " : "") + words[i + k];
      }
      if (k == pattern.size()) found.push_back("\"" + text + "\": " + better);
    }
  }
  return found;
}

// The sentences of a page for users, with links by their texts and code as one word: of paragraphs, of items of lists,
// and of what a cell of a table lists. With the number of words of each.
std::vector<std::pair<std::string, int>> sentences_with_words(const std::string& page) {
  static const Pattern code("`[^`]*`"), end("[.!?][)\\]\"*]*\\s+"), item("(- |[0-9]+[.] ).*");
  std::vector<std::string> texts(1);
  for (std::string line : lines(without_targets(sentences_of(page)))) {
    line.erase(0, std::min(line.find_first_not_of(' '), line.size()));
    line = code.replaced(line, "code");
    const bool alone = line.starts_with("#") || line.starts_with("!") || line.starts_with("<!--") || line == ". ";
    if (line.empty() || alone || line.starts_with("|") || item.matches(line)) texts.emplace_back();
    if (alone) continue;
    if (!line.starts_with("|")) {
      texts.back() += line + ' ';
      continue;
    }
    for (const std::string& cell : divided(line, '|'))
      for (const std::string& entry : divided(cell, ';')) texts.push_back(entry);
    texts.emplace_back();
  }
  std::vector<std::pair<std::string, int>> found;
  for (const std::string& text : texts) {
    for (const std::string& sentence : end.divided(text))
      if (const int count = count_words(sentence); count > 0) found.emplace_back(sentence, count);
  }
  return found;
}

// What is no text of the command: data, programs and pages that have documents' or tutorials' words.
bool has_other_words(const std::string& path) {
  for (const char* const folder : {"tutorials/exercises/", "tutorials/programs/", "tutorials/pages/", "examples/",
                                   "checks/cases/", "tasks/text/corpus/made_packages"}) {
    if (path.starts_with(folder)) return true;
  }
  return false;
}

TEST(Words, CommentsAndDocumentsAreInPlainEnglish) {
  std::vector<std::string> folders = kLayers;
  folders.insert(folders.end(), {"tests", "bench", "docs"});
  Texts texts = texts_of(kSources, folders);
  texts.merge(documents());
  for (const auto& [path, text] : texts)
    for (const std::string& fault :
         house_words(words_of_text(path.ends_with(".md") ? sentences_of(text) : comments_of(text))))
      ADD_FAILURE() << path << ": " << fault;
  EXPECT_GT(texts.size(), 500U);
}

TEST(Words, CommentsOfPublicHeadersAreInTheWordsOfTheField) {
  static const Pattern hidden("/(detail|internal|kernels)/");
  int headers = 0;
  for (const auto& [path, text] : texts_of({".h"}, {"autograd", "nn", "optim", "distributed", "train"})) {
    if (hidden.found(path) || path.starts_with("train/drawing/")) continue;  // which draws
    for (const std::string& fault : house_words(words_of_text(comments_of(text)), "headers"))
      ADD_FAILURE() << path << ": " << fault;
    ++headers;
  }
  EXPECT_GT(headers, 200);
}

// Help, errors and reports are literals of the sources. Korean words are none of the phrases'.
TEST(Words, ReadmeAndWhatTheCommandPrintsAreInTheWordsOfTheField) {
  for (const char* const name : {"README.md", "README.ko.md"})
    for (const std::string& fault :
         house_words(words_of_text(without_targets(sentences_of(documents().at(name)))), "private"))
      ADD_FAILURE() << name << ": " << fault;
  int literals = 0;
  for (const auto& [path, source] : texts_of(kSources, kLayers)) {
    if (has_other_words(path)) continue;
    for (const std::string& text : literals_of(source)) {
      ++literals;
      const std::vector<std::string> words = words_of_text(text);
      for (const auto& faults : {house_words(words, "private"), house_words(words)})
        for (const std::string& fault : faults) ADD_FAILURE() << path << ": " << fault << "\n  " << text;
    }
  }
  EXPECT_GT(literals, 2000);
}

// Pages for users are docs/*.md; that of all options is made of the help. Errors, which say "must be" otherwise, are
// literals.
TEST(Words, PagesForUsersAreShortSentencesInTheWordsOfTheField) {
  constexpr int kMostWords = 35;
  int sentences = 0;
  for (const auto& [path, text] : documents()) {
    if (!path.starts_with("docs/") || path.find('/', 5) != std::string::npos || path == "docs/manual.md") continue;
    for (const std::string& fault : house_words(words_of_text(without_targets(sentences_of(text))), "private"))
      if (fault.find("[where]") == std::string::npos) ADD_FAILURE() << path << ": " << fault;
    for (const auto& [sentence, words] : sentences_with_words(text)) {
      EXPECT_LE(words, kMostWords) << path << ": " << sentence;
      ++sentences;
    }
  }
  EXPECT_GT(sentences, 2000);
}

TEST(Words, SentencesAreCounted) {
  const auto counts = [](const std::string& page) {
    std::vector<int> found;
    for (const auto& [sentence, words] : sentences_with_words(page)) found.push_back(words);
    return found;
  };
  EXPECT_EQ(
      counts(
          "# A b\nOne `two x` [three\nfour](five.md). Six?\n\n- Seven = 8:\n  nine\n- Ten\n```cpp\nint x;\n```\nEnd."),
      (std::vector<int>{4, 1, 3, 1, 1}));
  EXPECT_EQ(counts("| a b | c; d e |\n|---|---|\n| f |"), (std::vector<int>{2, 1, 2, 1}));
}

TEST(Words, LiteralsAreFoundAndTheirPrivateWords) {
  EXPECT_EQ(literals_of("f(\"a b\" // \"c d\"\n  \" \\\"e\\n\", '\"', x ? \"f\" : R\"(g \"h)\", 1'000, \"i j\");"),
            (std::vector<std::string>{"a b \"e\n", "g \"h", "i j"}));
  const auto found = [](const std::string& text) { return house_words(words_of_text(text), "private").size(); };
  EXPECT_EQ(found("Draws a picture of the same bits. A training, and those of others; the file has it."), 6U);
  EXPECT_EQ(found("Plots of 32 bits, `the same bits`. The house_words of a training run; numerical."), 0U);
}

TEST(Words, AnyOfThePhrasesIsFound) {
  const auto found = [](const std::string& text) { return house_words(words_of_text(text)).size(); };
  EXPECT_EQ(found("Takes 3 ms a step, and a batch is\nrefused. Stands there, TELLS of x."), 4u);
  EXPECT_EQ(found("An adapter of PEFT's. The weights of PEFT's adapter."), 1u);
  EXPECT_EQ(found("Counts steps. A second pass; 3 ms per step, `beside`. A letter stands for a number."), 0u);
  EXPECT_EQ(words_of_text(comments_of("int beside;  // one\n/// two\nint x = 1;\n///< three http://x\n")),
            words_of_text(" . one two . three http . x"));
  EXPECT_EQ(words_of_text(sentences_of("one\n```\nbeside\n```\ntwo")), words_of_text("one . two"));
}

}  // namespace
}  // namespace tapegrad::tests
