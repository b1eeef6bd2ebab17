// The Korean report: each text that a report looks up has a message, and there are no other messages.
#include <tapegrad/tasks/language/messages.h>
#include <tapegrad/tests/support/testing.h>
#include <tapegrad/tests/tasks/report/texts.h>
#include <tapegrad/train/report.h>

namespace tapegrad::tests {
namespace {

namespace fs = std::filesystem;
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

// The literals of one piece in calls of shown(), said() and translatable().
Keys asked_by_recipes() {
  Keys keys;
  const std::regex call("(?:shown|said|translatable)\\(\\s*\"([^\"]+)\"\\s*[,)]");
  for (const char* const file :
       {"seq2seq/recipe.cpp", "seq2seq/report.cpp", "gpt/recipe.cpp", "text/recipe.cpp", "text/task.h",
        "text/classify.cpp", "text/summarize.cpp", "text/answer.cpp", "run/train.cpp"}) {
    const std::string source = slurp(fs::path(kTestsDir) / "../tasks" / file);
    for (std::sregex_iterator it(source.begin(), source.end(), call), end; it != end; ++it)
      keys.insert(std::regex_replace(std::string((*it)[1]), std::regex(R"(\\n)"), "\n"));
  }
  for (const char* const group :
       {"encoder self-attention", "decoder self-attention", "cross-attention (decoder to encoder)"})
    keys.insert(group);
  return keys;
}

}  // namespace

std::set<std::string> texts_of_reports() {
  Keys texts = asked_by_reports();
  texts.merge(asked_by_recipes());
  return texts;
}

namespace {

TEST(KoreanReport, HasAMessageForEveryText) {
  EXPECT_GT(asked_by_reports().size(), 40u);
  EXPECT_GT(asked_by_recipes().size(), 15u);
  for (const std::string& text : texts_of_reports())
    EXPECT_NE(tasks::in_language(text, tasks::tutorial::Language::ko), text) << "no Korean message";
}

TEST(KoreanReport, SaysItsLanguageAndKeepsTheNumbers) {
  const auto page = [](tasks::tutorial::Language language) {
    return report_html({.title = "A run",
                        .language = std::string(code_of(language)),
                        .words = [language](std::string_view text) { return tasks::in_language(text, language); }},
                       metrics_of({4, 3, 2.5}, {0.5}, false), 3, 12345);
  };
  const std::string ko = page(tasks::tutorial::Language::ko), en = page(tasks::tutorial::Language::en);
  EXPECT_NE(ko.find("<html lang=\"ko\">"), std::string::npos);
  EXPECT_NE(en.find("<html lang=\"en\">"), std::string::npos);
  expect_parts(ko, {"<h2>곡선</h2>", "<b>12,345</b><span>파라미터</span>"});
  EXPECT_NE(ko.find("<p class=\"outcome\">1에포크 뒤의 손실 4.0000"), std::string::npos) << ko.substr(0, 5000);
  EXPECT_EQ(report_html({.title = "A run"}, metrics_of({4, 3, 2.5}, {0.5}, false), 3, 12345), en);
}

}  // namespace
}  // namespace tapegrad::tests
