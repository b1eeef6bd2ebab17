// `tapegrad tutorial`: how pages are found, printed and written.
#include <tapegrad/tests/support/testing.h>
#include <tapegrad/train/drawing/tables.h>

namespace tapegrad::tests {
namespace {

namespace fs = std::filesystem;

// Runs the command in the folder, in English unless the environment says otherwise.
Ran run_in(const TemporaryFolder& folder, const Arguments& arguments, Arguments environment = {"LC_ALL=C"}) {
  return run_command(arguments, {.folder = folder.path(), .environment = std::move(environment)});
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

using TutorialVerb = InAFolder;

TEST_F(TutorialVerb, ListsPages) {
  const Ran ran = successful(run_in(folder, {"tutorial"}));
  expect_parts(ran.out, {"000: causal mask (blog post by bellmake", "https://starknotes.tistory.com/m/204",
                         "001: causal masking", "003: chapter 8", "dldna", "003  8.2.5", "004: ch3.ipynb", "Haj1h0"});
  expect_narrow(ran.out);
  EXPECT_TRUE(fs::is_empty(folder.path()));
  successful(run_in(folder, {"tutorial", "003"}));
}

TEST_F(TutorialVerb, PrintsAndWritesASection) {
  const Ran ran = successful(run_in(folder, {"tutorial", "003", "8.2.5"}));
  EXPECT_TRUE(has(ran.out, "=== 003 8.2.5  Masking")) << ran.out;
  EXPECT_TRUE(has(slurp(folder / "out/tutorial/003-8.2.5.en.html"), "<html lang=\"en\">"));
  const Ran shown = successful(run_in(folder, {"show", "8.2.5", "--out", "pages"}));
  EXPECT_TRUE(fs::exists(folder / "pages/003-8.2.5.en.html"));
  EXPECT_TRUE(has(run_in(folder, {"tutorial", "8.2.5"}).out, "=== 003 8.2.5"));
}

TEST_F(TutorialVerb, SpeaksTheLanguageOfTheLocale) {
  const Arguments page{"tutorial", "003", "8.2.5"};
  const std::string korean = "인과 마스크";
  EXPECT_TRUE(has(run_in(folder, page, {"LC_ALL=ko_KR.UTF-8"}).out, korean));
  EXPECT_TRUE(has(run_in(folder, page, {"LC_ALL=", "LC_MESSAGES=ko_KR.UTF-8", "LANG=C"}).out, korean));
  EXPECT_TRUE(has(run_in(folder, page, {"LC_ALL=", "LC_MESSAGES=", "LANG=ko"}).out, korean));
  EXPECT_FALSE(has(run_in(folder, page, {"LC_ALL=C", "LANG=ko_KR.UTF-8"}).out, korean));
  EXPECT_TRUE(has(run_in(folder, joined(page, {"--lang", "ko"})).out, korean));
  EXPECT_FALSE(has(run_in(folder, joined(page, {"--lang", "en"}), {"LC_ALL=ko_KR.UTF-8"}).out, korean));
}

TEST_F(TutorialVerb, FindsWords) {
  for (const char* const word : {"마스크", "CAUSAL", "leakage"}) {
    const Ran ran = successful(run_in(folder, {"tutorial", "--find", word}));
    EXPECT_TRUE(has(ran.out, "8.2.5")) << word;
  }
}

TEST_F(TutorialVerb, FindsOneSectionInManySpellings) {
  for (const auto& [call, place] : pairs_of_lines("tutorials/pages/spellings.txt")) {
    SCOPED_TRACE(call);
    const Ran ran = successful(run_in(folder, words_of(call, folder)));
    EXPECT_TRUE(ran.out.starts_with("=== " + place + "  ")) << ran.out.substr(0, 100);
  }
  const std::string several = run_in(folder, {"tutorial", "마스크"}).out;
  for (const char* const place : {"000 1  ", "003 8.2.5  ", "004 28-33  "})
    EXPECT_TRUE(has(several, std::string("  tapegrad tutorial ") + place)) << several;
  EXPECT_EQ(run_in(folder, {"tutorial", "003-birth-of-the-transformer"}).out, run_in(folder, {"tutorial", "003"}).out);
}

TEST_F(TutorialVerb, ListsTheSectionsOfASection) {
  const auto commands = [&](const Arguments& words) {  // without the titles after them
    const Ran ran = successful(run_in(folder, joined({"tutorial"}, words)));
    expect_narrow(ran.out);
    std::vector<std::string> found;
    const std::string start = "  tapegrad tutorial ";
    for (std::size_t at = 0; (at = ran.out.find(start, at)) != std::string::npos; at += start.size()) {
      const std::size_t begin = at + start.size();
      found.push_back(ran.out.substr(begin, ran.out.find("  ", begin) - begin));
    }
    return found;
  };
  using Commands = std::vector<std::string>;
  EXPECT_EQ(commands({"003", "8.3"}),
            (Commands{"003 8.3.1", "003 8.3.2", "003 8.3.2/1", "003 8.3.2/3", "003 8.3.2/7"}));
  const Commands second = commands({"003", "8.2"});
  for (const char* const place : {"003 8.1", "003 8.2.2", "003 8.2.3", "003 8.2.3/7.1", "003 8.2.6"})
    EXPECT_NE(std::ranges::find(second, place), second.end()) << place;
  const Commands chapter = commands({"003", "8"});
  for (const char* const place : {"003 8.1", "003 8.2.5", "003 8.5.3"})
    EXPECT_NE(std::ranges::find(chapter, place), chapter.end()) << place;
  EXPECT_EQ(commands({"001", "2"}), (Commands{"001 2.1", "001 2.2"}));
  EXPECT_TRUE(has(run_in(folder, {"show", "8.4", "--lang", "ko"}).out, "tapegrad tutorial 003 8.4.2  인코더의 구성"));
  const std::string page = run_in(folder, {"tutorial", "003", "8.5"}).out;  // which has text of its own
  EXPECT_TRUE(page.starts_with("=== 003 8.5  ")) << page.substr(0, 100);
  for (const char* const place : {"8.5.1", "8.5.2", "8.5.3"})
    EXPECT_TRUE(has(page, std::string("  tapegrad tutorial 003 ") + place + "  ")) << place;
}

// A page that is written alone has the other language next to it, and names the command of every other page.
TEST_F(TutorialVerb, APageAloneHasNoDeadLinks) {
  successful(run_in(folder, {"tutorial", "003", "8.5", "--out", "pages"}));
  for (const char* const name : {"pages/003-8.5.ko.html", "pages/003-8.5.en.html"}) {
    const std::string page = slurp(folder / name);
    EXPECT_TRUE(has(page, "<code>tapegrad tutorial 003 8.5.1</code>")) << name;
    for (std::size_t at = 0; (at = page.find("href=\"", at)) != std::string::npos; ++at) {
      const std::string target = page.substr(at + 6, page.find('"', at + 6) - at - 6);
      EXPECT_TRUE(fs::exists(fs::path(folder / "pages") / target)) << target;
    }
  }
}

TEST_F(TutorialVerb, WritesTheWholeSite) {
  const Ran ran = successful(run_in(folder, {"tutorial", "--out", "site"}));
  for (const char* const name :
       {"index.html", "index.ko.html", "index.en.html", "003-8.2.5.ko.html", "003-8.2.5.en.html"})
    EXPECT_TRUE(fs::exists(fs::path(folder / "site") / name)) << name;
  for (const auto& entry : fs::directory_iterator(fs::path(folder / "site"))) {
    const std::string page = slurp(entry.path().string());
    for (std::size_t at = 0; (at = page.find("href=\"", at)) != std::string::npos; ++at) {
      const std::string target = page.substr(at + 6, page.find('"', at + 6) - at - 6);
      if (target.starts_with("https://")) {  // the original of a tutorial
        EXPECT_TRUE(entry.path().filename().string().starts_with("index.")) << entry.path() << ": " << target;
        continue;
      }
      EXPECT_TRUE(fs::exists(fs::path(folder / "site") / target)) << entry.path() << ": " << target;
    }
  }
  expect_parts(slurp(folder / "site/index.ko.html"), {"<h2>튜토리얼 003: 8장 트랜스포머의 탄생</h2>"});
  expect_parts(slurp(folder / "site/index.en.html"),
               {"bellmake", "<h2>Tutorial 003: chapter 8", "Quantum-Intelligence-Frontier/dldna\">", ">8.1, 8.2 <a",
                "8.2.5 병렬 학습을 위한 마스킹 전략", "CopyLoss", "<h2>Tutorial 004: ch3.ipynb, ", "type: \"search\""});
}

TEST_F(TutorialVerb, HangulIsTwoColumnsWide) {
  EXPECT_EQ(drawing::display_width("mask"), 4U);
  EXPECT_EQ(drawing::display_width("마스크"), 6U);
  EXPECT_EQ(drawing::display_width("e\u0301 \u1112\u1161\u11ab ①"), 6U);  // combining accent, conjoining jamo
  EXPECT_EQ(drawing::display_width("日本 ＡＢ 😀"), 12U);
  EXPECT_EQ(drawing::display_width("\xff"), 1U);
  EXPECT_EQ(drawing::padded("가", 4), "가  ");
  const std::string maps = drawing::shaded_maps({{"", {"나", "ab", "c"}, {1, 0, 0, 1, 1, 1}}});
  EXPECT_EQ(maps, "나 █\nab  █\n c ██\n\n");
  std::string text;
  for (int i = 0; i < 40; ++i) text += "어텐션 ";
  const std::string wrapped = drawing::wrapped(text);
  EXPECT_TRUE(wrapped.starts_with("어텐션 어텐션 ")) << wrapped;
  EXPECT_EQ(wrapped.find('\n'), 11 * std::string("어텐션 ").size() - 1)
      << wrapped;  // 77 of 80 columns, 84 with one more
}

}  // namespace
}  // namespace tapegrad::tests
