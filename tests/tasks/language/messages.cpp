// The Korean messages: one for every text of help and of reports, with the same numbers and options, and no other.
#include <tapegrad/command/verbs.h>
#include <tapegrad/tasks/language/messages.h>
#include <tapegrad/tasks/language/texts.h>
#include <tapegrad/tests/house/sources.h>
#include <tapegrad/tests/support/patterns.h>
#include <tapegrad/tests/support/testing.h>
#include <tapegrad/train/drawing/tables.h>
#include <tapegrad/train/report.h>

namespace tapegrad::tests {
namespace {

using Pieces = std::multiset<std::string>;

// Options, numbers and placeholders, as "--lr", "-1.5" and "{message}". A Korean sentence may begin with "3분의 1" for
// a third, so numbers that English writes as words are not compared.
Pieces pieces_of(std::string_view text, const Pattern& form) {
  Pieces found;
  for (const Match& match : form.in(text)) found.insert(match[0]);
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

// The literals in calls of said(), shown() and translatable(), in all sources of the command; and what it says by
// said() of a function's text, or of groups of attention heads.
const std::set<std::string>& texts_of_calls() {
  static const std::set<std::string> kTexts = [] {
    std::set<std::string> texts{std::string(drawing::shades_legend()), "encoder self-attention",
                                "decoder self-attention", "cross-attention (decoder to encoder)"};
    for (const auto& [path, source] : texts_of(kSources, {"tasks", "tutorials", "command"})) {
      for (const std::string call : {"said(", "shown(", "translatable("}) {
        for (std::size_t at = 0; (at = source.find(call, at)) != std::string::npos;) {
          at += call.size();
          const std::string text = literal_at(source, at);
          if (!text.empty()) texts.insert(text);
        }
      }
    }
    return texts;
  }();
  return kTexts;
}

using Keys = std::set<std::string>;

train::Metrics metrics_of(const std::vector<double>& losses, const std::vector<double>& accuracies, bool evaluated) {
  train::Metrics out;
  for (const double loss : losses) {
    const auto step = static_cast<int64_t>(out.steps.size()) + 1;
    out.steps.push_back({.step = step, .loss = loss, .accuracy = 0.5, .lr = 1 / double(step), .tokens_per_s = 9});
    if (evaluated) out.steps.back().train_loss = out.steps.back().validation_loss = loss;
  }
  for (const double accuracy : accuracies)
    out.epochs.push_back({static_cast<int64_t>(out.epochs.size()), losses.at(out.epochs.size()), accuracy});
  out.bits = "0000";
  return out;
}

// What the reports of runs with every outcome look up.
Keys asked_by_reports() {
  Keys keys;
  const auto words = [&keys](std::string_view english) {
    keys.emplace(english);
    return english;
  };
  const std::vector<double> falling = {9, 8, 7, 6, 5, 4, 3, 2}, rising = {2, 3, 4, 5, 6, 7, 8, 9},
                            flat = {2, 2, 2, 2, 2, 2, 2, 2};
  for (const std::vector<double>& losses : {falling, rising, flat, {1}, {}}) {
    for (const std::vector<double>& accuracies :
         std::vector<std::vector<double>>{{}, {0}, {1}, {1, 0}, {0.5, 0}, {train::kNotMeasured}}) {
      if (accuracies.size() > losses.size()) continue;
      for (const bool evaluated : {false, true}) {
        for (const bool has_target : {false, true}) {
          train::ReportText text{.guess = 3, .settings = {{"--lr", "1", "help", has_target}}, .words = words};
          if (evaluated) text.made = {"2026-01-02", 61, has_target, "a machine", "tapegrad train copy"};
          if (has_target) text.target = train::Target{.name = "exact match", .least = 0.9}, text.unit = "target tokens";
          report_html(text, metrics_of(losses, accuracies, evaluated), 1, 1);
        }
      }
    }
  }
  return keys;
}

TEST(KoreanMessages, CallsWithLiteralsAreFound) {
  EXPECT_EQ(literal_at("f( \"a\\n\\\"b\\\"\"\n  \" c\", 1)", 2), "a\n\"b\" c");
  EXPECT_EQ(literal_at("f(name)", 2), "");
  const std::set<std::string>& texts = texts_of_calls();
  EXPECT_GT(texts.size(), 300u);
  for (const char* const text : {"Step by step", "mixed", "4. The difference:\n", "\nQueries that write:\n"})
    EXPECT_TRUE(texts.contains(text)) << text;
}

TEST(KoreanMessages, EveryTextOfHelpAndReportsHasOneAndNoneIsUnused) {
  std::set<std::string> used;
  for (const std::string& text : tasks::help_texts()) {
    used.insert(text);
    EXPECT_NE(tasks::in_language(text, tasks::Language::ko), text) << "no Korean message";
    EXPECT_EQ(tasks::in_language(text, tasks::Language::en), text);
  }
  EXPECT_GT(asked_by_reports().size(), 40u);
  for (const std::set<std::string>& texts : {asked_by_reports(), texts_of_calls()}) {
    for (const std::string& text : texts) {
      used.insert(text);
      EXPECT_NE(tasks::in_language(text, tasks::Language::ko), text) << "no Korean message";
    }
  }
  std::set<std::string_view> keys;
  for (const tasks::Text& message : tasks::all_messages()) {
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
  expect_parts(run_command({"help", "train", "gpt", "--lang", "ko"}).out, {"none: 어텐션이 순서를 모름;"});
}

TEST(KoreanMessages, HaveTheSameOptionsNumbersAndPlaceholders) {
  const Pattern options("--[a-z-]*[a-z]"), placeholders("\\{[a-z]+\\}"), decimals("[0-9]+\\.[0-9.]*[0-9]");
  for (const auto& [ko, en] : tasks::all_messages()) {
    for (const Pattern& form : {options, placeholders, decimals})
      EXPECT_EQ(pieces_of(en, form), pieces_of(ko, form)) << en << "\n" << ko;
    const Pattern numbers("[0-9]+");
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
  for (const auto& [ko, en] : tasks::all_messages()) EXPECT_EQ(fields_of(en), fields_of(ko)) << en << "\n" << ko;
}

TEST(KoreanMessages, OptionAndLocaleChooseThem) {
  expect_parts(run_command({"help", "train", "copy", "--lang", "en"}).out, {"Usage: tapegrad train copy [options]"});
  const Ran korean = successful(run_command({"help", "train", "copy", "--lang", "ko"}));
  expect_parts(korean.out, {"사용법: tapegrad train copy [옵션]", "학습률:"});
  expect_narrow(korean.out);
  for (const char* const variable : {"TAPEGRAD_LANG=ko", "LC_ALL=ko_KR.UTF-8"})
    EXPECT_EQ(run_command({"help", "train", "copy"}, {.environment = {variable}}).out, korean.out) << variable;
  EXPECT_EQ(run_command({"--lang=ko", "help", "train", "copy"}).out, korean.out);
  EXPECT_NE(run_command({"--lang", "ko", "help"}).out.find("\n학습과 사용:\n"), std::string::npos);
}

// Essays are files with parts in both languages; what is computed takes the places of {name}.
TEST(KoreanMessages, EssaysHaveTheSamePlacesInBothLanguages) {
  const Pattern heading("\n\\[([a-z.]*)en\\]"), places("\\{[a-z_0-9]+\\}");
  int parts = 0;
  for (const auto& [name, text] : tasks::embedded_files()) {
    for (const Match& match : heading.in(text)) {
      const std::string& part = match[1];
      ++parts;
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

TEST(KoreanReport, SaysItsLanguageAndKeepsTheNumbers) {
  const auto page = [](tasks::Language language) {
    return report_html({.title = "A run",
                        .language = std::string(code_of(language)),
                        .words = [language](std::string_view text) { return tasks::in_language(text, language); }},
                       metrics_of({4, 3, 2.5}, {0.5}, false), 3, 12345);
  };
  const std::string ko = page(tasks::Language::ko), en = page(tasks::Language::en);
  EXPECT_NE(ko.find("<html lang=\"ko\">"), std::string::npos);
  EXPECT_NE(en.find("<html lang=\"en\">"), std::string::npos);
  expect_parts(ko, {"<h2>곡선</h2>", "<b>12,345</b><span>파라미터</span>"});
  EXPECT_NE(ko.find("<p class=\"outcome\">1에포크 뒤의 손실 4.0000"), std::string::npos) << ko.substr(0, 5000);
  EXPECT_EQ(report_html({.title = "A run"}, metrics_of({4, 3, 2.5}, {0.5}, false), 3, 12345), en);
}

}  // namespace
}  // namespace tapegrad::tests
