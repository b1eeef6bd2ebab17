// The words of comments and documents: phrases that the house's style replaces by plainer ones.
#include <gtest/gtest.h>
#include <tapegrad/test_paths.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace tapegrad::tests {
namespace {

// A phrase in lower case, word by word with alternatives, and what to write instead.
struct Phrase {
  std::string_view words, better;
};

constexpr Phrase kPhrases[] = {
    {"byte|bytes|token|tokens|step|steps|time|times|vector|vectors|row|rows|call|calls|number|numbers|gb|mb|ms "
     "a|an second|step|token|position|row|epoch|batch|class|word|file|line|element|channel|head|thread|process",
     "one vector per position"},
    {"is|are|was|were|be refused", "is rejected, raises an Error"},
    {"tell|tells|told of|which|whether", "has, shows"},
    {"stand|stands|stood in|at|on|here|there", "is, is declared"},
    {"is no shape|probability|number|size|index", "is not a valid shape"},
    {"error where|when", "Error if"},
    {"behind it|them|the", "after, later, past"},
    {"in front of", "before"},
    {"beside", "next to, besides"},
    {"whoever", "the process that"},
    {"for ever", "never changes"},
    {"anew", "again"},
    {"asked for", "chosen, needed"},
    {"so for", "the same holds for"},
    {"of the one", "repeat the noun"},
    {"adapter|adapters|header|vectors of peft's|highway's", "PEFT's adapter"},
    {"folder|folders of hugging face's", "Hugging Face's folder"},
    {"one's own", "your own"},
    {"right as a whole", "exact match"},
    {"seed 000|001|002|003|004", "tutorial 004, with its title"},
};

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

// The comments of a source, `// ...` and what follows; a sign where code separates two of them.
std::string comments_of(const std::string& source) {
  std::string comments, line;
  for (std::istringstream lines(source); std::getline(lines, line);) {
    std::size_t at = line.find("//");
    while (at != std::string::npos && at > 0 && line[at - 1] != ' ') at = line.find("//", at + 2);
    if (at == std::string::npos || line.find_first_not_of(' ') < at) comments += " . ";
    if (at != std::string::npos) comments += line.substr(std::min(line.find_first_not_of("/<", at), line.size()));
    comments += '\n';
  }
  return comments;
}

// A document without its blocks of code.
std::string sentences_of(const std::string& document) {
  std::string sentences, line;
  bool code = false;
  for (std::istringstream lines(document); std::getline(lines, line);) {
    const bool fence = line.find("```") != std::string::npos;
    if (fence) code = !code;
    sentences += fence || code ? " . \n" : line + '\n';
  }
  return sentences;
}

// Each phrase of `words` that kPhrases has, with what to write.
std::vector<std::string> house_words(const std::vector<std::string>& words) {
  std::vector<std::string> found;
  for (const Phrase& phrase : kPhrases) {
    std::vector<std::vector<std::string>> pattern;
    for (const std::string& alternatives : divided(phrase.words, ' ')) pattern.push_back(divided(alternatives, '|'));
    for (std::size_t i = 0; i + pattern.size() <= words.size(); ++i) {
      std::string text;
      std::size_t k = 0;
      for (; k < pattern.size() && std::ranges::find(pattern[k], words[i + k]) != pattern[k].end(); ++k) {
        text += (k > 0 ? " " : "") + words[i + k];
      }
      if (k == pattern.size()) found.push_back("\"" + text + "\": " + std::string(phrase.better));
    }
  }
  return found;
}

TEST(Words, CommentsAndDocumentsAreInPlainEnglish) {
  const std::filesystem::path checkout = kSourceDir;
  int files = 0;
  for (const char* const folder : {".", "autograd", "nn", "optim", "distributed", "tasks", "tests", "bench", "docs"}) {
    for (std::filesystem::recursive_directory_iterator entry(checkout / folder), end; entry != end; ++entry) {
      if (folder == std::string_view(".")) entry.disable_recursion_pending();
      const std::filesystem::path& path = entry->path();
      const bool document = path.extension() == ".md";
      if (!document && path.extension() != ".h" && path.extension() != ".cpp") continue;
      std::ostringstream text;
      text << std::ifstream(path).rdbuf();
      ++files;
      for (const std::string& fault :
           house_words(words_of_text(document ? sentences_of(text.str()) : comments_of(text.str())))) {
        ADD_FAILURE() << std::filesystem::relative(path, checkout).generic_string() << ": " << fault;
      }
    }
  }
  EXPECT_GT(files, 500);
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
