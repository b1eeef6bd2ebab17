// What verbs print in Korean, and the pages of a run: no English is left, and the numbers are the same.
#include <tapegrad/tests/support/patterns.h>
#include <tapegrad/tests/support/pictures/shown.h>
#include <tapegrad/tests/support/runs/tiny_run.h>
#include <tapegrad/tests/support/testing.h>
#include <tapegrad/tutorials/show/show.h>

namespace tapegrad::tests {
namespace {

// Words that stay English: names, and code. A heading, a column or a sentence consists of others.
const std::set<std::string>& english_words() {
  static const std::set<std::string> kWords = [] {
    std::set<std::string> words;
    for (const std::string& line : lines(slurp(std::string(kTestsDir) + "/tasks/language/english_words.txt"))) {
      std::istringstream text(line.starts_with("#") ? "" : line);
      words.insert(std::istream_iterator<std::string>(text), {});
    }
    return words;
  }();
  return kWords;
}

std::vector<std::string> left_in_english(const std::string& text) {
  std::vector<std::string> left;
  const Pattern word("[A-Za-z][A-Za-z0-9_'-]*[A-Za-z0-9]"), exponent("[0-9.]+e[-+]?[0-9]+");
  const std::string words = exponent.replaced(text, "");
  for (const Match& it : word.in(words)) {
    const std::string found = it[0];
    if (!english_words().contains(found)) left.push_back(found);
  }
  return left;
}

std::multiset<std::string> numbers_of(const std::string& text) {
  std::multiset<std::string> out;
  const Pattern number("[0-9]+(\\.[0-9]+)?");
  for (const Match& it : number.in(text)) out.insert(it[0]);
  return out;
}

// Whether each number of the English text is in the Korean one, as often; Korean also writes "zeros" as a number.
bool has_numbers_of(const std::string& english, const std::string& korean) {
  const std::multiset<std::string> in = numbers_of(english), out = numbers_of(korean);
  return std::includes(out.begin(), out.end(), in.begin(), in.end());
}

// Without the C++ of `show architecture`: indented lines, and those that continue them.
std::string without_code(const std::string& text) {
  return Pattern("\\n {4,}[^\\n]*nn::[^\\n]*(\\n {8,}[^\\n]*)*").replaced(text, "");
}

std::string without_scripts(std::string page) {
  for (std::size_t at = 0; (at = page.find("<script", at)) != std::string::npos;)
    page.erase(at, page.find("</script>", at) - at);
  return page;
}

// The texts that a page shows, without its style, its scripts and its code.
std::string visible(const std::string& page) {
  std::string text = without_code(without_scripts(page.substr(page.find("<h1>"))));
  text = Pattern("<text[^>]* class=\"code\"[^>]*>[^<]*</text>").replaced(text, "");
  return Pattern("&[a-z#0-9]+;").replaced(Pattern("<[^>]*>").replaced(text, " "), " ");
}

const std::set<std::string> kMeasured{"attention-cost", "attention-accuracy", "gpt-cost", "recurrent-lengths",
                                      "relative-positions"};

using KoreanOutput = InAFolder;

TEST_F(KoreanOutput, OfEveryTopicOfShow) {
  for (const tasks::Topic& topic : tasks::topics()) {
    const std::string name(topic.name);
    std::vector<std::string> options;  // of topics without a line: none
    for (const auto& [of, line] : pairs_of_lines("tasks/language/topics.txt"))
      if (of == name) options.push_back(line);
    if (options.empty()) options.emplace_back();
    for (const std::string& line : options) {
      SCOPED_TRACE(name + " " + line);
      const Arguments more = words_of(line, TemporaryFolder());
      const Shown korean = expect_shows(name, more, "ko"), english = expect_shows(name, more, "en");
      EXPECT_EQ(left_in_english(without_code(korean.text)), std::vector<std::string>()) << korean.text;
      EXPECT_EQ(left_in_english(visible(korean.page)), std::vector<std::string>());
      EXPECT_NE(korean.page.find("<html lang=\"ko\">"), std::string::npos);
      EXPECT_GT(left_in_english(english.text).size(), 10u);
      EXPECT_TRUE(kMeasured.contains(name) || has_numbers_of(english.text, korean.text)) << korean.text;
    }
  }
}

TEST_F(KoreanOutput, OfExplain) {
  train_tiny(folder, "copy", "run", {"--max-steps", "2", "--no-progress"});
  for (const Arguments& words : std::vector<Arguments>{{"copy"},
                                                       {"copy", "--seed", "3"},
                                                       {"addition"},
                                                       {"addition", "--expression", "48+5"},
                                                       {"parser"},
                                                       {"parser", "--expression", "z=(9-8*7)/6*(5+4)"},
                                                       {"step", "--model", "run"}}) {
    SCOPED_TRACE(words[0]);
    const auto in = [&](const std::string& language) {
      return run_command(joined(joined({"explain"}, words), {"--lang", language}), folder).out;
    };
    std::string korean = in("ko"), english = in("en");
    for (std::string* const text : {&korean, &english})  // a path
      *text = Pattern("run/step.html").replaced(*text, "");
    EXPECT_EQ(left_in_english(korean), std::vector<std::string>()) << korean;
    EXPECT_GT(left_in_english(english).size(), 5u);
    EXPECT_TRUE(has_numbers_of(english, korean)) << korean;
    for (const std::string& text : {korean, english}) expect_fits(text);
  }
}

// The figures on the tutorials' pages; of titles and axes only names, formulas and the tutorials' words are English.
TEST_F(KoreanOutput, OfTheTutorialsFigures) {
  successful(run_command({"tutorial", "--out", "site"}, folder));
  int drawings = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path() / "site")) {
    if (!entry.path().string().ends_with(".ko.html")) continue;
    SCOPED_TRACE(entry.path().filename().string());
    for (const std::string& drawing : pictures_in(without_scripts(slurp(entry.path())))) {
      EXPECT_EQ(left_in_english(visible("<h1>" + drawing)), std::vector<std::string>());
      ++drawings;
    }
  }
  EXPECT_GT(drawings, 100);
}

// Without paths, options, and the bits of a model.
std::string without_names(const std::string& text) {
  return Pattern("/\\S*tapegrad [a-z]+|run/[a-z.]+|--[a-z-]+[a-z]|[0-9a-f]{4}( [0-9a-f]{4}){3}").replaced(text, "");
}

// The report, without the values of settings. The texts of their help are tested with help.
void expect_korean_report(const TemporaryFolder& folder) {
  const std::string page = slurp(folder / "run/report.html");
  const std::size_t settings = page.find("<h2>설정</h2>");
  ASSERT_NE(settings, std::string::npos);
  EXPECT_EQ(left_in_english(without_names(visible(page.substr(0, settings)))), std::vector<std::string>());
  EXPECT_NE(page.find("(0: 제한 없음)", settings), std::string::npos) << page.substr(settings);
}

// `attention --analyze`: what it prints and its page, both with the numbers of the English ones.
void expect_korean_attention(const Arguments& words, const TemporaryFolder& folder) {
  const auto in = [&](const std::string& language) {
    const Ran ran = successful(run_command(joined(words, {"--lang", language}), folder));
    return std::pair(without_names(ran.out), visible(slurp(folder / "run/attention.html")));
  };
  const auto [english, english_page] = in("en");
  const auto [korean, page] = in("ko");
  EXPECT_EQ(left_in_english(korean), std::vector<std::string>()) << korean;
  EXPECT_EQ(left_in_english(page), std::vector<std::string>());
  EXPECT_GT(left_in_english(english).size(), 50u);
  EXPECT_TRUE(has_numbers_of(english, korean)) << korean;
  EXPECT_TRUE(has_numbers_of(english_page, page));
  expect_fits(korean);
  EXPECT_EQ(faults_of_svg(slurp(folder / "run/attention.svg")), std::vector<std::string>());
  EXPECT_EQ(faults_of_svg(slurp(folder / "run/analysis.svg")), std::vector<std::string>());
  const Ran one = successful(run_command(joined(words, {"--lang", "ko", "--only", "층 0, 헤드 1", "--json"}), folder));
  EXPECT_NE(slurp(folder / "run/attention.svg").find("층 0, 헤드 1"), std::string::npos);
  EXPECT_EQ(slurp(folder / "run/attention.svg").find("헤드 0"), std::string::npos);
  EXPECT_NE(one.out.find("\"name\":\"" + std::string(words[1] == "gpt" ? "" : "encoder ") + "layer 0, head 1\""),
            std::string::npos)
      << "names in JSON stay English";
}

TEST_F(KoreanOutput, OfARunOfATransformer) {
  for (const std::string& task : names_of_tasks()) {
    SCOPED_TRACE(task);
    const TemporaryFolder folder;
    successful(run_command(tiny_run(task, "run", {"--no-progress", "--lang", "ko"}), folder));
    expect_korean_report(folder);
    expect_korean_attention({"attention", task, "--model", "run", "--analyze"}, folder);
  }
}

TEST_F(KoreanOutput, OfARunOfAGPT) {
  std::string text;
  for (int i = 0; i < 60; ++i) text += "나는 학교에 간다. 고양이가 매트 위에 앉았다.\n";
  spill(folder / "text", text);
  successful(run_command({"train", "gpt", "--text", "text", "--start-context", "나는",
                          // a small model, and what is printed
                          "--emb-dim", "8", "--n-heads", "2", "--n-layers", "2", "--context-length", "16",
                          "--num-epochs", "2", "--no-progress", "--lang", "ko", "--out", "run"},
                         folder));
  expect_korean_report(folder);
  expect_korean_attention({"attention", "gpt", "--model", "run", "--prompt", "나는 학교에", "--analyze"}, folder);
}

TEST_F(KoreanOutput, EnglishWordsAreFound) {
  EXPECT_EQ(left_in_english("1. 점수 softmax GPT Scores: the tokens"),
            (std::vector<std::string>{"Scores", "the", "tokens"}));
}

}  // namespace
}  // namespace tapegrad::tests
