// The words of comments, documents and programs: phrases that the house's style replaces by plainer ones, and private
// words that README.md and what the command prints say in the words of the field.
#include <tapegrad/tests/support/testing.h>

#include <cctype>

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

// Private words, in README.md, help, errors and reports: what PyTorch's and NumPy's documents say instead. (The other
// documents still have some.)
constexpr Phrase kPrivate[] = {
    {"same|the|published|has|have|give|gives bits", "bit-identical; fingerprint"},
    {"bits of|are|is", "bit-identical; fingerprint"},
    {"matrix product|products", "matrix multiplication"},
    {"products of matrices", "matrix multiplication"},
    {"draw|draws|drawn", "plot; sample"},
    {"picture|pictures", "plot, figure"},
    {"figures of|that|whose", "metrics"},
    {"fault|faults|defect|defects", "bug"},
    {"is|are an error|errors", "throws Error"},
    {"refuse|refused|refusal", "reject"},
    {"recompute|recomputes|recomputed|recomputation|recomputing", "gradient checkpointing"},
    {"tensor|tensors|result|results in between", "intermediate tensor"},
    {"training|train|validation|test part|parts", "split"},
    {"in turns", "interleaved"},
    {"family|families", "instruction set"},
    {"ours|numeric|theirs", "analytic, numerical; repeat the noun"},
    {"tape|tapes alive", "in scope"},
    {"still alive", "in scope"},
    {"ended tape|tapes", "a tape that has gone out of scope"},
    {"floor|floors|room|rooms|house|door|doors", "layer, folder, layout"},
    {"told|said|asked", "documented, printed, queried"},
    {"trainings", "training runs"},
    {"a training .", "a training run"},
    {"the trained one", "the trained model"},
    {"those|that of", "repeat the noun"},
    {"of the above", "repeat the noun"},
    {"of its|their|your|our own .", "its own ..."},
    {"as a whole", "all of it"},
    {"the given", "repeat the noun"},
    {"must be|not|have|fit", "[where] expected ..., got ..."},
    {"page|file|table|document|report|manual|library has", "contains, lists, describes, is"},
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

// The same without the targets of links.
std::string without_targets(const std::string& sentences) {
  static const std::regex target(R"(\]\([^)]*\))");
  return std::regex_replace(sentences, target, "]");
}

// Each phrase of `words` that `phrases` has, with what to write.
std::vector<std::string> house_words(const std::vector<std::string>& words,
                                     std::span<const Phrase> phrases = kPhrases) {
  std::vector<std::string> found;
  for (const Phrase& phrase : phrases) {
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

std::string contents_of(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
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
  const std::filesystem::path checkout = kSourceDir;
  int files = 0;
  for (const char* const folder : {".", "autograd", "nn", "optim", "distributed", "train", "checks", "tasks",
                                   "tutorials", "examples", "tests", "bench", "docs"}) {
    for (std::filesystem::recursive_directory_iterator entry(checkout / folder), end; entry != end; ++entry) {
      if (folder == std::string_view(".")) entry.disable_recursion_pending();
      const std::filesystem::path& path = entry->path();
      const bool document = path.extension() == ".md";
      if (!document && path.extension() != ".h" && path.extension() != ".cpp") continue;
      const std::string text = contents_of(path);
      ++files;
      for (const std::string& fault : house_words(words_of_text(document ? sentences_of(text) : comments_of(text)))) {
        ADD_FAILURE() << std::filesystem::relative(path, checkout).generic_string() << ": " << fault;
      }
    }
  }
  EXPECT_GT(files, 500);
}

// Help, errors and reports are literals of the sources. Korean words are none of the phrases'.
TEST(Words, ReadmeAndWhatTheCommandPrintsAreInTheWordsOfTheField) {
  const std::filesystem::path checkout = kSourceDir;
  for (const char* const name : {"README.md", "README.ko.md"}) {
    for (const std::string& fault :
         house_words(words_of_text(without_targets(sentences_of(contents_of(checkout / name)))), kPrivate))
      ADD_FAILURE() << name << ": " << fault;
  }
  int literals = 0;
  for (const char* const folder :
       {"autograd", "nn", "optim", "distributed", "train", "checks", "tasks", "tutorials", "examples"}) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(checkout / folder)) {
      const std::string path = std::filesystem::relative(entry.path(), checkout).generic_string();
      if ((entry.path().extension() != ".h" && entry.path().extension() != ".cpp") || has_other_words(path)) continue;
      for (const std::string& text : literals_of(contents_of(entry.path()))) {
        ++literals;
        const std::vector<std::string> words = words_of_text(text);
        for (const auto& faults : {house_words(words, kPrivate), house_words(words)})
          for (const std::string& fault : faults) ADD_FAILURE() << path << ": " << fault << "\n  " << text;
      }
    }
  }
  EXPECT_GT(literals, 2000);
}

TEST(Words, LiteralsAreFoundAndTheirPrivateWords) {
  EXPECT_EQ(literals_of("f(\"a b\" // \"c d\"\n  \" \\\"e\\n\", '\"', x ? \"f\" : R\"(g \"h)\", 1'000, \"i j\");"),
            (std::vector<std::string>{"a b \"e\n", "g \"h", "i j"}));
  const auto found = [](const std::string& text) { return house_words(words_of_text(text), kPrivate).size(); };
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
