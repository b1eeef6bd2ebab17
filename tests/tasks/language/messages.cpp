// The Korean messages: one for every text of help, with the same numbers and options, and no other.
#include <tapegrad/tasks/language/messages.h>
#include <tapegrad/tasks/language/texts.h>
#include <tapegrad/tasks/verbs.h>
#include <tapegrad/tests/support/testing.h>
#include <tapegrad/tests/tasks/report/texts.h>
#include <tapegrad/train/drawing/tables.h>

namespace tapegrad::tests {
namespace {

namespace fs = std::filesystem;
using Pieces = std::multiset<std::string>;

// Options, numbers and placeholders, as "--lr", "-1.5" and "{message}". A Korean sentence may begin with "3분의 1" for
// a third, so numbers that English writes as words are not compared.
Pieces pieces_of(std::string_view text, const std::regex& form) {
  Pieces found;
  using Matches = std::regex_iterator<std::string_view::const_iterator>;
  for (Matches it(text.begin(), text.end(), form), end; it != end; ++it) found.insert(it->str());
  return found;
}

// The literal at `at`, with those that follow it, as the compiler joins them; "" if there is none.
std::string literal_at(const std::string& source, std::size_t at) {
  std::string out;
  while ((at = source.find_first_not_of(" \n", at)) != std::string::npos && source[at] == '"') {
    for (++at; source[at] != '"'; ++at) {
      if (source[at] != '\\') {
        out += source[at];
      } else if (source[++at] == 'n') {
        out += '\n';
      } else {
        out += source[at];
      }
    }
    ++at;
  }
  return out;
}

// The literals in calls of said() and translatable(), in all sources of the command; and what it says by said() of a
// function's text.
const std::set<std::string>& texts_of_calls() {
  static const std::set<std::string> kTexts = [] {
    std::set<std::string> texts{std::string(drawing::shades_legend())};
    for (const char* const layer : {"../tasks", "../tutorials"}) {
      for (const auto& entry : fs::recursive_directory_iterator(fs::path(kTestsDir) / layer)) {
        if (entry.path().extension() != ".cpp" && entry.path().extension() != ".h") continue;
        const std::string source = slurp(entry.path());
        for (const std::string call : {"said(", "translatable("}) {
          for (std::size_t at = 0; (at = source.find(call, at)) != std::string::npos;) {
            at += call.size();
            const std::string text = literal_at(source, at);
            if (!text.empty()) texts.insert(text);
          }
        }
      }
    }
    return texts;
  }();
  return kTexts;
}

TEST(KoreanMessages, CallsWithLiteralsAreFound) {
  EXPECT_EQ(literal_at("f( \"a\\n\\\"b\\\"\"\n  \" c\", 1)", 2), "a\n\"b\" c");
  EXPECT_EQ(literal_at("f(name)", 2), "");
  const std::set<std::string>& texts = texts_of_calls();
  EXPECT_GT(texts.size(), 300u);
  for (const char* const text : {"Step by step", "mixed", "4. The difference:\n", "\nQueries that write:\n"})
    EXPECT_TRUE(texts.contains(text)) << text;
}

TEST(KoreanMessages, EveryTextOfHelpHasOneAndNoneIsUnused) {
  std::set<std::string> used;
  for (const std::string& text : tasks::help_texts()) {
    used.insert(text);
    EXPECT_NE(tasks::in_language(text, tasks::tutorial::Language::ko), text) << "no Korean message";
    EXPECT_EQ(tasks::in_language(text, tasks::tutorial::Language::en), text);
  }
  used.merge(texts_of_reports());
  for (const std::string& text : texts_of_calls()) {
    used.insert(text);
    EXPECT_NE(tasks::in_language(text, tasks::tutorial::Language::ko), text) << "no Korean message";
  }
  std::set<std::string_view> keys;
  for (const tasks::Message& message : tasks::all_messages()) {
    EXPECT_TRUE(keys.insert(message.en).second) << "twice: " << message.en;
    EXPECT_TRUE(used.contains(std::string(message.en))) << "unused: " << message.en;
    EXPECT_EQ(message.en.ends_with('\n'), message.ko.ends_with('\n')) << message.en;  // as msgfmt demands
  }
}

// A table's rows have messages of their own, so that a new row is a new message.
TEST(KoreanMessages, OfATableAreThoseOfItsRows) {
  using Parts = std::vector<std::string_view>;
  EXPECT_EQ(tasks::parts_of_help("positional encoding; none: attention ignores the order; new: a row"),
            (Parts{"positional encoding", "attention ignores the order", "a row"}));
  EXPECT_EQ(tasks::parts_of_help("number of blocks"), Parts{"number of blocks"});
  EXPECT_EQ(tasks::parts_of_help("no message; nor a table"), Parts{"no message; nor a table"});
  EXPECT_EQ(tasks::parts_of_help(""), Parts{});
  const std::string korean = run_command({"help", "train", "gpt", "--lang", "ko"}).out;
  EXPECT_NE(korean.find("none: 어텐션이 순서를 모름;"), std::string::npos) << korean;
}

TEST(KoreanMessages, HaveTheSameOptionsNumbersAndPlaceholders) {
  const std::regex options("--[a-z-]*[a-z]"), placeholders("\\{[a-z]+\\}"), decimals("[0-9]+\\.[0-9.]*[0-9]");
  for (const auto& [en, ko] : tasks::all_messages()) {
    for (const std::regex& form : {options, placeholders, decimals})
      EXPECT_EQ(pieces_of(en, form), pieces_of(ko, form)) << en << "\n" << ko;
    const std::regex numbers("[0-9]+");
    const Pieces of_korean = pieces_of(ko, numbers);
    for (const std::string& number : pieces_of(en, numbers))
      EXPECT_TRUE(of_korean.contains(number)) << en << "\n" << ko;
  }
}

// The replacement fields of a format, with their numbers: "0:>8". Names in braces are none.
Pieces fields_of(std::string_view text) {
  Pieces found;
  int next = 0;
  for (std::size_t at = 0; (at = text.find('{', at)) != std::string_view::npos;) {
    const std::size_t end = text.find('}', at), digits = text.find_first_not_of("0123456789", at + 1);
    const std::string number(text.substr(at + 1, digits - at - 1)), rest(text.substr(digits, end - digits));
    at = end;
    if (!rest.empty() && rest[0] != ':') continue;
    found.insert((number.empty() ? std::to_string(next++) : number) + rest);
  }
  return found;
}

TEST(KoreanMessages, HaveTheSameReplacementFields) {
  EXPECT_EQ(fields_of("{} {:>8} {1}"), (Pieces{"0", "1:>8", "1"}));
  for (const auto& [en, ko] : tasks::all_messages()) EXPECT_EQ(fields_of(en), fields_of(ko)) << en << "\n" << ko;
}

TEST(KoreanMessages, OptionAndLocaleChooseThem) {
  const std::string english = run_command({"help", "train", "copy", "--lang", "en"}).out;
  EXPECT_NE(english.find("Usage: tapegrad train copy [options]"), std::string::npos);
  const Ran korean = successful(run_command({"help", "train", "copy", "--lang", "ko"}));
  expect_parts(korean.out, {"사용법: tapegrad train copy [옵션]", "학습률:"});
  expect_narrow(korean.out);
  for (const char* const variable : {"TAPEGRAD_LANG=ko", "LC_ALL=ko_KR.UTF-8"})
    EXPECT_EQ(run_command({"help", "train", "copy"}, {.environment = {variable}}).out, korean.out) << variable;
  EXPECT_EQ(run_command({"--lang=ko", "help", "train", "copy"}).out, korean.out);
  EXPECT_NE(run_command({"--lang", "ko", "help"}).out.find("\n학습과 사용:\n"), std::string::npos);
}

TEST(KoreanMessages, ErrorsStayEnglish) {
  expect_error(run_command({"--lang", "ko", "train", "copi"}), 2, {"unknown task \"copi\"", "did you mean copy"});
  expect_error(run_command({"--lang", "fr", "help"}), 2, {"--lang", "expected one of ko, en, got \"fr\""});
  expect_error(run_command({"help", "--lang"}), 2, {"--lang", "expected a value, got none"});
}

// Essays are files with parts in both languages; what is computed takes the places of {name}.
TEST(KoreanMessages, EssaysHaveTheSamePlacesInBothLanguages) {
  const std::regex heading("\n\\[([a-z.]*)en\\]"), places("\\{[a-z_0-9]+\\}");
  int parts = 0;
  for (const auto& [name, text] : tasks::embedded_files()) {
    for (std::cregex_iterator it(text.begin(), text.end(), heading), end; it != end; ++it, ++parts) {
      const std::string part = it->str(1);
      EXPECT_EQ(pieces_of(tasks::text_of_file(name, part + "en"), places),
                pieces_of(tasks::text_of_file(name, part + "ko"), places))
          << name << ": " << part;
    }
  }
  EXPECT_EQ(parts, 7);
  EXPECT_TEXT(tasks::filled("{a} and {b}, {a}; {c}", {{"a", "{a}"}, {"b", std::vector{2, 3}}}));
  EXPECT_THROW(tasks::text_of_file("tutorials/explain/copy.txt", "nothing"), Error);
  EXPECT_THROW(tasks::text_of_file("nothing.txt"), Error);
  for (const std::string task : {"copy", "addition", "parser"})
    EXPECT_EQ(pieces_of(run_command({"explain", task}).out, places), Pieces()) << "not computed";
}

}  // namespace
}  // namespace tapegrad::tests
