// The pages of `tapegrad tutorial`: every section and cell has one, in both languages with the same code and numbers,
// and the numbers are the tutorials', which tests/data/tutorial_pages.json has independently of the pages.
#include <tapegrad/tests/support/patterns.h>
#include <tapegrad/tests/support/pictures/svg_check.h>
#include <tapegrad/tests/support/testing.h>
#include <tapegrad/train.h>
#include <tapegrad/tutorials/computed.h>
#include <tapegrad/tutorials/find.h>
#include <tapegrad/tutorials/html.h>
#include <tapegrad/tutorials/numbers.h>
#include <tapegrad/tutorials/pages.h>
#include <tapegrad/tutorials/sources.h>
#include <tapegrad/tutorials/terminal.h>
#include <tapegrad/tutorials/widgets/widget.h>

#include <cctype>

namespace tapegrad::tests {
namespace {

using namespace tasks::tutorial;
using tasks::Language, tasks::Text;
using Words = std::set<std::string>;

const Json& contents() {
  static const Json kContents = stored("tutorial_pages.json");
  return kContents;
}

std::vector<Computed> make_pages(Language language) {
  std::vector<Computed> made;
  for (const Page* page : pages()) made.push_back(computed(*page, language));
  return made;
}

// All pages, with figures and names of heads in English or Korean; the rest is the same.
const std::vector<Computed>& made_pages() {
  static const std::vector<Computed> kMade = make_pages(Language::en);
  return kMade;
}
const std::vector<Computed>& korean_pages() {
  static const std::vector<Computed> kMade = make_pages(Language::ko);
  return kMade;
}

std::vector<drawing::Drawing> drawings_of(const Computed& made) {
  std::vector<drawing::Drawing> drawings;
  for (const Figure& figure : made.figures) {
    if (!figure.drawing.body.empty()) drawings.push_back(figure.drawing);
    drawings.insert(drawings.end(), figure.panels.begin(), figure.panels.end());
  }
  return drawings;
}

// How many elements of each kind a drawing has; the words of a language may only move them.
std::map<std::string, int> shapes_of(const drawing::Drawing& one) {
  std::map<std::string, int> shapes;
  const Pattern name("<([a-z]+)");
  for (const Match& it : name.in(one.body)) ++shapes[it[1]];
  return shapes;
}

// "003 8.2.5" for each place that no page is written for yet.
Words places_to_do() {
  std::ifstream file(std::string(kTestsDir) + "/data/tutorial_pages_todo.txt");
  EXPECT_TRUE(file);
  Words places;
  for (std::string line; std::getline(file, line);)
    if (!line.empty() && !line.starts_with("#")) places.insert(line);
  return places;
}

PageList pages_at(const std::string& tutorial, const std::string& place) {
  PageList found;
  for (const Page* page : pages())
    if (page->tutorial == tutorial && is_about(*page, place)) found.push_back(page);
  return found;
}

Words rows_of_numbers(const Computed& made, bool only_equal) {
  Words rows;
  for (const tasks::tutorial::Number& number : made.numbers) {
    if (only_equal && number.mark != Mark::equal) continue;
    for (const std::string& row : lines(number.printed)) rows.insert(row);
  }
  return rows;
}

bool has_hangul(std::string_view text) { return Pattern("[\xea-\xed]").found(text); }

// A page's texts, with where they are.
std::vector<std::pair<std::string, Text>> texts_of(const Computed& made) {
  const Page& page = *made.page;
  std::vector<std::pair<std::string, Text>> texts{{"title", page.title}, {"about", page.about}};
  for (const Lines& one : page.lines) texts.emplace_back("lines", one.what);
  for (const Figure& one : made.figures) texts.emplace_back("caption", one.caption);
  for (const Touch& one : page.touch) texts.emplace_back("touch", one.what);
  for (const Fault& one : page.faults) texts.emplace_back("claim", one.claim), texts.emplace_back("proof", one.proof);
  for (const Exercise& one : page.exercises)
    texts.emplace_back("question", one.question), texts.emplace_back("answer", one.answer);
  for (const tasks::tutorial::Number& one : made.numbers)
    if (!one.why.empty() || one.mark == Mark::different) texts.emplace_back("why", one.why);
  for (const Experiment& one : page.experiments) texts.emplace_back("break", one.what);
  for (const Without& one : page.without) texts.emplace_back("without", one.why);
  return texts;
}

// The contents of all elements of this name.
std::vector<std::string> elements(const std::string& html, const std::string& name) {
  std::vector<std::string> found;
  for (std::size_t at = 0; (at = html.find("<" + name, at)) != std::string::npos;) {
    const std::size_t begin = html.find('>', at) + 1, end = html.find("</" + name + ">", begin);
    found.push_back(html.substr(begin, end - begin));
    at = end;
  }
  return found;
}

TEST(TutorialPages, EveryPlaceHasOneOrIsToDo) {
  const Words to_do = places_to_do();
  Words all;
  for (const auto& [tutorial, places] : contents()["places"].items()) {
    for (const std::string place : places) {
      const std::string name = fmt::format("{} {}", tutorial, place);
      all.insert(name);
      const std::size_t found = pages_at(tutorial, place).size();
      if (to_do.contains(name)) {
        EXPECT_EQ(found, 0U) << "delete this line of tests/data/tutorial_pages_todo.txt: " << name;
      } else {
        EXPECT_GE(found, 1U) << "no page about " << name;
      }
    }
  }
  for (const std::string& name : to_do) EXPECT_TRUE(all.contains(name)) << name;
  Words stems;
  for (const Page* page : pages()) EXPECT_TRUE(stems.insert(file_stem(*page)).second) << file_stem(*page);
}

// The table in docs/contributing/tutorials.md has every page, in the order of the pages: `tapegrad tutorial 000 1`,
// `2`, `4`.
TEST(TutorialPages, AreInTheTableOfSections) {
  static const Pattern row(R"(\| [^|]*\| `tapegrad tutorial (\S+) (\S+)`((?:, `[^`]+`)*) \|.*)"), more("`([^`]+)`");
  std::ifstream table(std::string(kSourceDir) + "/docs/contributing/tutorials.md");
  std::vector<std::string> order, in_table;
  for (const Page* page : pages()) order.push_back(file_stem(*page));
  std::size_t last = 0;
  for (std::string line; std::getline(table, line);) {
    const Match found = row.whole(line);
    if (found.empty()) continue;
    std::vector<std::string> places{found[2]};
    for (const Match& other : more.in(found[3])) places.push_back(other[1]);
    for (std::size_t i = 0; i < places.size(); ++i) {
      const PageList named = find_pages(pages(), std::vector<std::string>{found[1], places[i]});
      ASSERT_EQ(named.size(), 1U) << line;
      in_table.push_back(file_stem(*named[0]));
      const auto at = static_cast<std::size_t>(std::ranges::find(order, in_table.back()) - order.begin());
      if (i > 0) continue;
      EXPECT_GE(at, last) << "expected an earlier row for " << line;
      last = at;
    }
  }
  for (const std::string& page : order)
    EXPECT_NE(std::ranges::find(in_table, page), in_table.end())
        << "expected a row of docs/contributing/tutorials.md for " << page;
}

TEST(TutorialPages, TextsAreInBothLanguages) {
  for (const Computed& made : made_pages()) {
    for (const auto& [where, text] : texts_of(made)) {
      SCOPED_TRACE(place_of(*made.page) + ", " + where + ": " + std::string(text.en));
      EXPECT_TRUE(has_hangul(text.ko)) << text.ko;
      EXPECT_FALSE(text.en.empty());
    }
    static const Pattern kEnd("[.?](\\s|$)");
    const std::string about(made.page->about.en);
    EXPECT_EQ(kEnd.in(about).size(), 3U) << place_of(*made.page) << ": expected three sentences: " << about;
  }
}

constexpr Part kParts[] = {Part::about,  Part::figures, Part::touch,    Part::lines,
                           Part::faults, Part::numbers, Part::exercises};

// How many things the page has in each of these parts, in their order.
std::vector<std::size_t> sizes_of_parts(const Computed& made) {
  const Page& page = *made.page;
  return {page.about.empty() ? 0U : 1U, made.figures.size(), page.touch.size(),    page.lines.size(),
          page.faults.size(),           made.numbers.size(), page.exercises.size()};
}

// Every part has a heading and something below it; only where the section gives nothing to show, a reason instead.
TEST(TutorialPages, HaveAllParts) {
  for (std::size_t at = 0; at < made_pages().size(); ++at) {
    const Computed& made = made_pages()[at];
    SCOPED_TRACE(place_of(*made.page));
    for (const auto& [language, page] : {std::pair{Language::en, &made}, {Language::ko, &korean_pages()[at]}}) {
      const std::vector<std::string> headings = elements(html_of(*page, language), "h2");
      const std::string text = text_of(*page, language);
      for (std::size_t i = 0; i < std::size(kParts); ++i) {
        const std::string heading(heading_of(kParts[i]).in(language));
        EXPECT_EQ(headings[i], drawing::escape_markup(heading));
        EXPECT_NE(text.find("--- " + heading + " ---"), std::string::npos) << heading;
      }
    }
    const std::vector<std::size_t> sizes = sizes_of_parts(made);
    std::set<Part> explained;
    for (const Without& one : made.page->without) EXPECT_TRUE(explained.insert(one.part).second);
    for (std::size_t i = 0; i < std::size(kParts); ++i)
      EXPECT_EQ(sizes[i] == 0, explained.contains(kParts[i])) << heading_of(kParts[i]).en;
    EXPECT_TRUE(explained.empty() || explained == std::set<Part>{Part::faults})
        << "only a page without faults is whole";
  }
}

TEST(TutorialPages, APageThatLacksAPartIsAnError) {
  const Page& whole = *find_pages(pages(), std::vector<std::string>{"003", "8.2.5"}).at(0);
  const auto without = [&](auto change) {
    Page page = whole;
    change(page);
    return page;
  };
  const Page planted[] = {
      without([](Page& page) { page.about = {}; }),       without([](Page& page) { page.figures = nullptr; }),
      without([](Page& page) { page.touch.clear(); }),    without([](Page& page) { page.lines.clear(); }),
      without([](Page& page) { page.faults.clear(); }),   without([](Page& page) { page.numbers = nullptr; }),
      without([](Page& page) { page.exercises.clear(); })};
  for (std::size_t i = 0; i < std::size(planted); ++i) {
    const Computed made = computed(planted[i], Language::ko);
    const std::string expected = fmt::format("[tutorial] page 003 8.2.5: expected something under \"{}\", got nothing",
                                             heading_of(kParts[i]).en);
    EXPECT_TRUE(error_of([&] { html_of(made, Language::ko); }).starts_with(expected));
    EXPECT_TRUE(error_of([&] { text_of(made, Language::en); }).starts_with(expected));
    Page explained = planted[i];
    explained.without = {{kParts[i], {"까닭", "the reason"}}};
    EXPECT_NE(html_of(computed(explained, Language::en), Language::en).find("<p>the reason</p>"), std::string::npos);
  }
}

TEST(TutorialPages, LeadToThePagesBeforeAndAfter) {
  const std::string first = html_of(made_pages().front(), Language::en),
                    last = html_of(made_pages().back(), Language::en);
  EXPECT_EQ(first.find("previous: "), std::string::npos);
  EXPECT_EQ(last.find("next: "), std::string::npos);
  for (std::size_t at = 0; at + 1 < made_pages().size(); ++at) {
    const Computed &here = made_pages()[at], &next = made_pages()[at + 1];
    SCOPED_TRACE(place_of(*here.page));
    const auto link_to = [](const Computed& to) {
      return fmt::format("<a href=\"{}\">", file_name(*to.page, Language::en));
    };
    EXPECT_NE(html_of(here, Language::en).find("next: " + link_to(next)), std::string::npos);
    EXPECT_NE(html_of(next, Language::en).find("previous: " + link_to(here)), std::string::npos);
    EXPECT_NE(text_of(here, Language::ko).find("다음  " + command_of(*next.page)), std::string::npos);
    EXPECT_NE(text_of(next, Language::ko).find("이전  " + command_of(*here.page)), std::string::npos);
  }
}

TEST(TutorialPages, ShowTheirSections) {
  const auto sections = [](std::string_view of) {
    std::vector<std::string> places;
    for (const Page* page :
         sections_of(pages(), *find_pages(pages(), std::vector<std::string>{"003", std::string(of)}).at(0)))
      places.emplace_back(page->section);
    return places;
  };
  EXPECT_EQ(sections("8.5"), (std::vector<std::string>{"8.5.1", "8.5.2", "8.5.3"}));
  EXPECT_EQ(sections("8.4"), (std::vector<std::string>{"8.4.1", "8.4.2", "8.4.3", "8.4.4"}));
  EXPECT_EQ(sections("8.3.2"), (std::vector<std::string>{"8.3.2/1", "8.3.2/3", "8.3.2/7"}));
  EXPECT_EQ(sections("8.2.5"), std::vector<std::string>());
}

std::vector<std::string> without_proofs(std::vector<std::string> lines, const Computed& made) {
  for (const std::string& proof : made.proofs) std::erase(lines, drawing::escape_markup(proof));
  return lines;
}

TEST(TutorialPages, BothLanguagesHaveTheSameCodeAndNumbers) {
  for (std::size_t at = 0; at < made_pages().size(); ++at) {
    const Computed& made = made_pages()[at];
    SCOPED_TRACE(place_of(*made.page));
    const std::string ko = html_of(korean_pages()[at], Language::ko), en = html_of(made, Language::en);
    EXPECT_EQ(without_proofs(elements(ko, "pre"), korean_pages()[at]), without_proofs(elements(en, "pre"), made));
    EXPECT_EQ(elements(ko, "svg").size(), elements(en, "svg").size());
    const Pattern names("\"(name|group|groups)\":(\"[^\"]*\"|\\[[^\\]]*\\])");  // of heads
    const auto without_names = [&](const std::string& html) {
      std::vector<std::string> scripts = elements(html, "script");
      for (std::string& one : scripts) one = names.replaced(one, "");
      return scripts;
    };
    EXPECT_EQ(without_names(ko), without_names(en));
    EXPECT_EQ(elements(ko, "h2").size(), elements(en, "h2").size());
    EXPECT_NE(ko.find("<html lang=\"ko\">"), std::string::npos);
    EXPECT_NE(en.find("<html lang=\"en\">"), std::string::npos);
    for (const std::string& html : {ko, en})
      for (const char* address : {"http:", "https:"}) EXPECT_EQ(html.find(address), std::string::npos) << address;
    const std::vector<drawing::Drawing> english = drawings_of(made), korean = drawings_of(korean_pages()[at]);
    ASSERT_EQ(english.size(), korean.size());
    for (std::size_t i = 0; i < english.size(); ++i) {
      EXPECT_EQ(shapes_of(korean[i]), shapes_of(english[i])) << i;
      for (const drawing::Drawing& one : {english[i], korean[i]})
        EXPECT_EQ(faults_of_svg(drawing::svg_file(one)), std::vector<std::string>()) << i;
    }
  }
}

TEST(TutorialPages, EqualNumbersAreTheTutorials) {
  for (const Computed& made : made_pages()) {
    Words known;
    for (const auto& [place, rows] : contents()["printed"].items()) {
      const std::string tutorial = place.substr(0, 3);
      if (const PageList found = pages_at(tutorial, place.substr(4));
          std::find(found.begin(), found.end(), made.page) != found.end()) {
        for (const std::string row : rows) known.insert(row);
      }
    }
    SCOPED_TRACE(place_of(*made.page));
    for (const tasks::tutorial::Number& number : made.numbers)
      EXPECT_TRUE(number.mark != Mark::equal || number.ours == number.printed) << number.label << "\n" << number.ours;
    for (const std::string& row : rows_of_numbers(made, true))
      EXPECT_TRUE(known.contains(row)) << "the tutorial does not print: " << row;
  }
}

TEST(TutorialPages, EveryPrintedNumberIsOnAPage) {
  for (const auto& [place, rows] : contents()["printed"].items()) {
    if (places_to_do().contains(place)) continue;
    Words shown;
    for (const Page* page : pages_at(place.substr(0, 3), place.substr(4)))
      shown.merge(rows_of_numbers(computed(*page, Language::en), false));
    for (const std::string row : rows) EXPECT_TRUE(shown.contains(row)) << place << ": " << row;
  }
}

TEST(TutorialPages, ProofsAndWidgetsHaveTheirParts) {
  for (const Computed& made : made_pages()) {
    SCOPED_TRACE(place_of(*made.page));
    for (std::size_t i = 0; i < made.touch.size(); ++i) {
      const std::string name(made.page->touch[i].widget);
      EXPECT_NE(script(name).find("touch." + name + " = "), std::string_view::npos) << name;
      EXPECT_NO_THROW(Json::parse(made.touch[i])) << made.touch[i];
    }
    for (const std::string& proof : made.proofs) EXPECT_EQ(proof.find("nan"), std::string::npos) << proof;
  }
}

// Formulas and rules with English words have their Korean.
TEST(TutorialPages, RulesOfTheStepPageAreInBothLanguages) {
  const std::string all(script("step"));
  const std::size_t begin = all.find("const gathered ="), end = all.find("touch.stepKorean"),
                    last = all.find("\n};", end);
  const std::string rules = all.substr(begin, end - begin), korean = all.substr(end, last - end);
  static const Pattern kText("\"([^\"]*)\""),
      kWord("\\b(over|where|with|each|the|repeated|moved|times|there|as|in)\\b");
  int found = 0;
  for (const Match& at : kText.in(rules)) {
    const std::string text = at[1];
    if (!kWord.found(text) || text.find(" ") == text.npos) continue;
    EXPECT_NE(korean.find("\"" + text + "\": "), std::string::npos) << text;
    ++found;
  }
  EXPECT_GE(found, 25);
}

// The figures of a text, in order of size: languages order them differently.
std::multiset<std::string> figures_in(const std::string& text) {
  static const Pattern kFigure("[0-9]+([.][0-9]+)?(e[-+][0-9]+)?");
  std::multiset<std::string> figures;
  for (const Match& match : kFigure.in(text)) figures.insert(match[0]);
  return figures;
}

TEST(TutorialPages, ProofsAreInBothLanguagesWithTheSameFigures) {
  static const Pattern kEnglish("\\b(the|of|to|by|no|are|as|largest|words?)\\b");
  for (std::size_t at = 0; at < made_pages().size(); ++at) {
    SCOPED_TRACE(place_of(*made_pages()[at].page));
    const std::vector<std::string>&en = made_pages()[at].proofs, &ko = korean_pages()[at].proofs;
    ASSERT_EQ(en.size(), ko.size());
    for (std::size_t i = 0; i < en.size(); ++i) {
      EXPECT_EQ(figures_in(en[i]), figures_in(ko[i])) << ko[i];
      EXPECT_FALSE(kEnglish.found(ko[i])) << ko[i];
    }
  }
}

TEST(TutorialPages, LinesInTheTerminalAreNarrow) {
  for (const Computed& made : made_pages()) {
    Words code;
    for (const std::string& text : made.snippets)
      for (const std::string& line : lines(text)) code.insert("    " + line);
    for (const Language language : {Language::ko, Language::en})
      for (const std::string& line : lines(text_of(made, language)))
        EXPECT_TRUE(code.contains(line) || drawing::display_width(line) <= 80) << place_of(*made.page) << ": " << line;
  }
}

TEST(TutorialPages, NumbersHaveTheTutorialsWords) {
  const Table words = table_of("1.5 -inf\n2 30", {"I", "love"}, {"dim1", "dim2"});
  EXPECT_EQ(words.terminal(), "     dim1 dim2\nI     1.5 -inf\nlove    2   30\n");
  EXPECT_EQ(table_of("1.5 -inf\n2 30", {}, {}).terminal(), "1.5 -inf\n  2   30\n");
  EXPECT_EQ(table_of("4 10 32\n4 10", {"x", "mask"}, {}).terminal(), "x    4 10 32\nmask 4 10\n");
  EXPECT_NE(words.html().find("<tr><th>love</th><td>2</td><td>30</td></tr>"), std::string::npos) << words.html();
  for (const char* const alone : {"7", "1 2\n3", ""}) EXPECT_TRUE(table_of(alone, {}, {}).empty()) << alone;
  EXPECT_EQ(error_of([] { (void)table_of("1 2\n3 4", {"I"}, {}); }), "[tutorial] expected words of 2 rows, got 1");
  int named = 0;
  for (const Computed& made : made_pages())
    for (const tasks::tutorial::Number& number : made.numbers) named += !number.rows.empty() || !number.columns.empty();
  EXPECT_GE(named, 50);
}

TEST(TutorialPages, PlainNumbersHaveNoBrackets) {
  EXPECT_EQ(plain("[[0.2  0.8 0.3]\n [0.7 1. ]]"), "0.2 0.8 0.3\n0.7 1.");
  EXPECT_EQ(plain("tensor([1, 2])"), "tensor( 1 2 )");
  EXPECT_EQ(plain(""), "");
}

TEST(TutorialPages, SayHowToRunTheProgramsOfTheirLines) {
  const std::filesystem::path programs = std::filesystem::path(kSourceDir) / "tutorials/programs";
  for (const Computed& made : made_pages()) {
    const std::string text = text_of(made, Language::en);
    for (const tasks::tutorial::Lines& lines : made.page->lines) {
      const std::string program(program_of(lines.snippet));
      EXPECT_NE(slurp(programs / (program + ".cpp")).find("int main("), std::string::npos) << lines.snippet;
      EXPECT_NE(text.find("  g++ " + program + ".cpp "), std::string::npos) << place_of(*made.page);
    }
    EXPECT_EQ(text.find("--variable=tutorials") == std::string::npos, made.page->lines.empty()) << place_of(*made.page);
  }
  EXPECT_EQ(program_of("003_transformer:config"), "003_transformer");
  EXPECT_EQ(program_of("roles.h:basic"), "003_words_and_masks");  // which includes the header
  EXPECT_THROW(static_cast<void>(program_of("roles:basic")), Error);
}

TEST(TutorialPages, SnippetsAreUnindented) {
  const std::string lines = snippet("003_words_and_masks:causal");
  EXPECT_TRUE(lines.starts_with("const tg::Tensor past = tg::nn::causal_mask(4);")) << lines;
  EXPECT_EQ(lines.find("// ["), std::string::npos);
  EXPECT_THROW(static_cast<void>(snippet("003_words_and_masks:casual")), Error);
}

}  // namespace
}  // namespace tapegrad::tests
