// What leads to a page: the tutorials' own headings and names in code, as a reader pastes them; and from a page, the
// experiments and exercises about it.
#include <tapegrad/tests/support/patterns.h>
#include <tapegrad/tests/support/testing.h>
#include <tapegrad/tutorials/computed.h>
#include <tapegrad/tutorials/exercises/exercises.h>
#include <tapegrad/tutorials/find.h>
#include <tapegrad/tutorials/html.h>
#include <tapegrad/tutorials/numbers.h>
#include <tapegrad/tutorials/originals.h>
#include <tapegrad/tutorials/pages.h>
#include <tapegrad/tutorials/pages/runs.h>
#include <tapegrad/tutorials/show/show.h>
#include <tapegrad/tutorials/sources.h>

namespace tapegrad::tests {
namespace {

using namespace tasks::tutorial;
using tasks::Language;

// The places of a tutorial that `is` is true of.
template <class Is>
std::set<std::string> places_where(const Original& original, const Is& is) {
  std::set<std::string> places;
  for (const OriginalPlace& place : original.places)
    if (is(place)) places.emplace(place.section);
  return places;
}

bool leads_to(const std::string& words, std::string_view tutorial, std::string_view section) {
  const PageList found = find_pages(pages(), std::vector<std::string>{words});
  return std::ranges::any_of(found, [&](const Page* page) {
    return page->tutorial == tutorial && (section.empty() || is_about(*page, section));
  });
}

TEST(TutorialOriginals, EveryHeadingFindsItsSection) {
  std::size_t headings = 0, numbered = 0;
  for (const Original& original : originals()) {
    for (const OriginalPlace& place : original.places) {
      for (const std::string_view heading : place.headings) {
        const std::string words(heading);
        SCOPED_TRACE(std::string(original.tutorial) + ": " + words);
        EXPECT_TRUE(leads_to(words, original.tutorial, place.section));
        EXPECT_TRUE(leads_to("## " + words + ":", original.tutorial, place.section));
        ++headings;
        if (!Pattern("^8[.][0-9]").found(words)) continue;
        EXPECT_EQ(find_pages(pages(), std::vector<std::string>{words}).size(), 1U);
        const std::string without = words.substr(words.find(' ') + 1);
        EXPECT_TRUE(leads_to(without, original.tutorial, place.section)) << without;
        ++numbered;
      }
    }
  }
  EXPECT_GE(headings, 160U);
  EXPECT_GE(numbered, 22U);
}

TEST(TutorialOriginals, EveryNameFindsItsSection) {
  std::set<std::string_view> names;
  for (const Original& original : originals()) {
    for (const OriginalPlace& place : original.places) {
      for (const std::string_view name : place.names) {
        SCOPED_TRACE(std::string(original.tutorial) + ": " + std::string(name));
        names.insert(name);
        for (const std::string& words : {std::string(name), fmt::format("{}(x)", name),
                                         fmt::format("class {}(nn.Module):", name), fmt::format("def {}(a, b):", name)})
          EXPECT_TRUE(leads_to(words, original.tutorial, place.section)) << words;
        const PageList found = pages_with(pages(), name);
        EXPECT_TRUE(std::ranges::any_of(found, [&](const Page* page) { return is_about(*page, place.section); }));
      }
    }
  }
  EXPECT_GE(names.size(), 56U);  // in the tutorials' code
  for (const char* name : {"GPTModel", "NoamOpt", "CopyLoss", "TOKEN_DICT", "create_pad_mask"})
    EXPECT_TRUE(names.contains(name)) << name;
}

// As a class of its own, under the tutorial's name.
TEST(TutorialOriginals, EveryClassIsWrittenOutOnItsPage) {
  int classes = 0;
  for (const Original& original : originals()) {
    for (const OriginalPlace& place : original.places) {
      std::string code;
      for (const Page* page : pages())
        if (page->tutorial == original.tutorial && is_about(*page, place.section))
          for (const Lines& lines : page->lines) code += snippet(lines.snippet);
      for (const std::string_view name : place.names) {
        if (name[0] < 'A' || name[0] > 'Z' || name == "TOKEN_DICT" || name == "Noam") continue;
        EXPECT_TRUE(Pattern(fmt::format("(struct|using|optim::) ?{}\\b", name)).found(code))
            << original.tutorial << " " << place.section << ": " << name;
        ++classes;
      }
    }
  }
  EXPECT_GE(classes, 29);
}

TEST(TutorialOriginals, EverySectionHasItsHeading) {
  const Json places = stored("tutorial_pages.json")["places"];
  for (const char* tutorial : {"000", "001", "003"}) {
    const std::set<std::string> known = places_where(original_of(tutorial), [](const OriginalPlace& place) {
      return !place.section.empty() && !place.headings.empty();
    });
    for (const std::string place : places[tutorial]) EXPECT_TRUE(known.contains(place)) << tutorial << " " << place;
  }
  for (const Original& one : originals()) {  // and leads to a place that has a page
    EXPECT_FALSE(one.title.empty() || one.by.empty()) << one.tutorial;
    for (const std::string& section : places_where(one, [](const OriginalPlace&) { return true; }))
      EXPECT_TRUE(
          section.empty() ||
          std::ranges::any_of(
              pages(), [&](const Page* page) { return page->tutorial == one.tutorial && is_about(*page, section); }))
          << one.tutorial << " " << section;
  }
  EXPECT_THROW(static_cast<void>(original_of("005")), Error);
}

// The pages about this section, or about its parts.
PageList pages_of(const std::string& tutorial, const std::string& section) {
  PageList found;
  for (const Page* page : pages())
    if (page->tutorial == tutorial &&
        (section.empty() || is_about(*page, section) || page->section.starts_with(section + ".") ||
         page->section.starts_with(section + "/")))
      found.push_back(page);
  return found;
}

bool names_command(const PageList& list, const std::string& command) {
  return std::ranges::any_of(list, [&](const Page* page) {
    static std::map<const Page*, std::string> made;
    std::string& html = made[page];
    if (html.empty()) html = html_of(computed(*page, Language::en), Language::en);
    return Pattern(command + "[\\s<]").found(html);
  });
}

TEST(TutorialOriginals, EveryExperimentIsOnThePageOfItsSection) {
  static const Pattern kNumber("tutorial (00[0-9])|[0-9]([.][0-9])+");
  for (const tasks::Topic& topic : tasks::topics()) {
    const std::string help(topic.help);
    std::string tutorial = "003";
    const std::string command = "tapegrad show " + std::string(topic.name);
    for (const Match& at : kNumber.in(help)) {
      const bool whole = !at[1].empty();
      if (whole) tutorial = at[1];
      EXPECT_TRUE(names_command(pages_of(tutorial, whole ? "" : at[0]), command)) << help << ": " << at[0];
    }
  }
  for (const char* name : {"mask-leak 003 8.2.5", "order-blindness 001 2.1", "hopfield 003 8.2.3/3.2",
                           "depth 003 8.2.3/4.1", "head-roles 003 8.2.4", "recurrent-lengths 003 8.1"}) {
    std::istringstream words(name);
    std::string topic, tutorial, section;
    words >> topic >> tutorial >> section;
    const PageList list = pages_of(tutorial, section);
    EXPECT_TRUE(std::ranges::any_of(list, [&](const Page* page) {
      return std::ranges::any_of(page->experiments, [&](const Experiment& one) { return one.topic == topic; });
    })) << name;
  }
  for (const Page* page : pages())
    for (const Experiment& one : page->experiments) {
      EXPECT_TRUE(std::ranges::any_of(tasks::topics(), [&](const tasks::Topic& t) { return t.name == one.topic; }));
      for (const std::string_view table : {one.table.ko, one.table.en})  // of a stored run
        EXPECT_FALSE(table_of(table, {}, {}).empty()) << place_of(*page) << ": " << one.topic;
    }
}

TEST(TutorialOriginals, EveryExerciseIsOnThePageOfItsSection) {
  for (const tasks::exercises::Exercise& exercise : tasks::exercises::all_exercises()) {
    const std::string id(exercise.id), place = id.substr(4, id.find('-', 4) - 4);
    PageList list = pages_of(id.substr(0, 3), place);
    std::erase_if(list, [&](const Page* page) { return !is_about(*page, place); });
    EXPECT_EQ(list.size(), 1U) << id;
    EXPECT_TRUE(names_command(list, "tapegrad exercise " + id)) << id;
  }
}

// The stored runs are those whose means of epochs PyTorch has, and their pages say where they come from.
TEST(TutorialRuns, AreTheTutorialsAsPyTorchTrainsThem) {
  const std::pair<std::string, const char*> goldens[] = {
      {"copy", "copy_epochs.json"}, {"addition", "curves_addition.json"}, {"parser", "parser_curves.json"}};
  const char* const sections[] = {"8.5.1", "8.5.2", "8.5.3"};
  ASSERT_EQ(stored_runs().size(), std::size(goldens));
  for (std::size_t i = 0; i < std::size(goldens); ++i) {
    const StoredRun& run = stored_run(goldens[i].first);
    SCOPED_TRACE(goldens[i].first);
    const std::vector<double> means = stored(goldens[i].second)["epoch_loss"];
    ASSERT_EQ(run.loss.size(), means.size());
    for (std::size_t epoch = 0; epoch < means.size(); ++epoch)
      EXPECT_NEAR(run.loss[epoch], means[epoch], std::max(0.05 * means[epoch], 0.02)) << epoch;
    EXPECT_GE(run.accuracy.back(), 0.98);
    EXPECT_TRUE(Pattern("([0-9a-f]{4} ){3}[0-9a-f]{4}").matches(std::string(run.bits))) << run.bits;
    const Page* page = pages_of("003", sections[i]).at(0);
    expect_parts(html_of(computed(*page, Language::ko), Language::ko),
                 {std::string(run.command), std::string(run.bits), fmt::format("{:.4f}", run.loss[0])});
  }
  EXPECT_THROW(static_cast<void>(stored_run("gpt")), Error);
}

}  // namespace
}  // namespace tapegrad::tests
