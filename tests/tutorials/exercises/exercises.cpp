// The verb `exercise`: solutions are right, mistakes are found where the exercise says, and no skeleton is right as it
// is.
// ctest: unsanitized
#include <tapegrad/tests/support/patterns.h>
#include <tapegrad/tests/support/testing.h>
#include <tapegrad/tutorials/exercises/check.h>
#include <tapegrad/tutorials/exercises/compile.h>
#include <tapegrad/tutorials/exercises/exercises.h>

namespace tapegrad::tests {
namespace {

// The text without its includes, which the program has already.
std::string without_includes(const std::string& text) { return Pattern("#include <[^>]*>\n").replaced(text, ""); }

// One program with all solutions, mistakes and skeletons, each in a namespace of its own, as a compiler takes about a
// second for the library's headers. It is called with one folder, which has the tensors given to each exercise.
std::string program_of_all() {
  std::string text = tasks::exercises::start_of_program(), calls;
  for (const char* const kind : {"solutions", "wrong", "skeletons"}) {
    int number = 0;
    for (const tasks::exercises::Exercise& exercise : tasks::exercises::all_exercises()) {
      const std::string space = fmt::format("{}_{}", kind, number++);
      const std::string_view reader = kind == std::string_view("solutions") ? exercise.solution
                                      : kind == std::string_view("wrong")   ? exercise.wrong
                                                                            : exercise.skeleton;
      text += fmt::format("namespace {} {{\n{}\n{}}}\n", space, without_includes(std::string(reader)),
                          tasks::exercises::function_of(exercise));
      calls += fmt::format("  run(folder + \"/{}.given\", folder + \"/{}-{}\", {}::check_answers);\n", exercise.id,
                           kind, exercise.id, space);
    }
  }
  return text + R"(
static void run(const std::string& given, const std::string& answers,
                void (*check)(const exercise_check::Given&, exercise_check::Answers&)) {
  exercise_check::Answers all;
  check({tapegrad::load_safetensors(given)}, all);
  tapegrad::save_safetensors(answers, all.all);
}
int main(int, char** argv) {
  const std::string folder = argv[1];
)" + calls +
         "}\n";
}

std::string difference(const tasks::exercises::Exercise& exercise, const std::string& answers,
                       tasks::Language language = tasks::Language::en) {
  return first_difference(exercise, load_safetensors(answers).tensors, language);
}

using Exercises = InAFolder;

TEST_F(Exercises, SolutionsAreRightAndMistakesAreFound) {
  spill(folder / "all.cpp", program_of_all());
  for (const tasks::exercises::Exercise& exercise : tasks::exercises::all_exercises())
    save_safetensors(folder / (std::string(exercise.id) + ".given"), exercise.numbers().given);
  const std::string build = kBinaryDir;
  const Ran compiled = successful(run_program({"c++", "-std=c++20", "-I" + build + "/include", folder / "all.cpp", "-o",
                                               folder / "all", "-L" + build, "-ltapegrad", "-Wl,-rpath," + build}));
  successful(run_program({folder / "all", folder.path().string()}));
  for (const tasks::exercises::Exercise& exercise : tasks::exercises::all_exercises()) {
    const std::string id(exercise.id);
    EXPECT_EQ(difference(exercise, folder / ("solutions-" + id)), "") << id;
    EXPECT_EQ(difference(exercise, folder / ("wrong-" + id)), exercise.mistake) << id;
    EXPECT_NE(difference(exercise, folder / ("skeletons-" + id)), "") << id;
  }
}

TEST_F(Exercises, AreInBothLanguages) {
  std::set<std::string_view> ids;
  const Pattern hangul("[\xea-\xed]");
  for (const tasks::exercises::Exercise& exercise : tasks::exercises::all_exercises()) {
    EXPECT_TRUE(ids.insert(exercise.id).second) << exercise.id;
    for (const tasks::Text& text : {exercise.title, exercise.task, exercise.hint}) {
      EXPECT_TRUE(hangul.found(text.ko)) << text.ko;
      EXPECT_FALSE(hangul.found(text.en)) << text.en;
    }
  }
}

TEST_F(Exercises, CommandChecksAFile) {
  const tasks::exercises::Exercise& exercise = *tasks::exercises::find_exercises("004-31").at(0);
  spill(folder / "solution.cpp", std::string(exercise.solution));
  const Ran right = successful(run_command({"exercise", "004-31", folder / "solution.cpp", "--lang", "en"}));
  EXPECT_EQ(right.out, "004-31: right. All 36 numbers agree.\n");
  spill(folder / "mistake.cpp", std::string(exercise.wrong));
  const Ran wrong = run_command({"exercise", "004-31", folder / "mistake.cpp", "--lang", "ko"});
  EXPECT_EQ(wrong.code, 1) << wrong.err;
  EXPECT_EQ(wrong.out, "004-31: 틀렸습니다. weights, 1행 1열: 기댓값은 1.0000인데 0.1921 값이 나왔습니다\n");
}

TEST_F(Exercises, CommandTellsHowAProgramFails) {
  spill(folder / "throws.cpp",
        "#include <stdexcept>\n#include <tapegrad/tapegrad.h>\n"
        "tapegrad::Tensor subsequent_mask(int64_t) { throw std::runtime_error(\"no idea\"); }\n");
  const Ran threw = run_command({"exercise", "001-2.2", folder / "throws.cpp", "--lang", "en"});
  EXPECT_EQ(threw.code, 1);
  EXPECT_EQ(threw.out, "001-2.2: wrong. it threw an exception (see above)\n");
  EXPECT_EQ(threw.err, "no idea\n");
  spill(folder / "shape.cpp", "tapegrad::Tensor subsequent_mask(int64_t n) { return tapegrad::ones({n, n}); }\n");
  EXPECT_EQ(run_command({"exercise", "001-2.2", folder / "shape.cpp", "--lang", "en"}).out,
            "001-2.2: wrong. shape of mask of 5: expected [1, 5, 5], got [5, 5]\n");
}

TEST_F(Exercises, WrongRequests) {
  spill(folder / "broken.cpp", "this is no C++\n");
  EXPECT_TEXT(rejected(run_command({"exercise", "004-31", folder / "broken.cpp", "--compiler", "no-such-compiler"})));
  const Ran broken = run_command({"exercise", "004-31", folder / "broken.cpp"});
  EXPECT_EQ(broken.code, 2);
  expect_parts(broken.err, {"broken.cpp:1:1: error", "[exercise] c++ cannot compile the file (see above)"});
}

TEST_F(Exercises, ListsAndPrints) {
  const Ran list = successful(run_command({"exercise", "--lang", "ko"}));
  EXPECT_NE(list.out.find("subsequent_mask 작성하기"), std::string::npos);
  expect_narrow(list.out);
  const Ran skeleton = run_command({"exercise", "004-31", "--skeleton"});
  EXPECT_EQ(skeleton.out, tasks::exercises::find_exercises("004-31").at(0)->skeleton);
  EXPECT_NE(run_command({"exercise", "004-31", "--lang", "en"}).out.find(skeleton.out), std::string::npos);
}

TEST_F(Exercises, AreFoundByTheirPlaceAsPagesAre) {
  const auto ids = [](std::string_view words) {
    std::vector<std::string> found;
    for (const tasks::exercises::Exercise* one : tasks::exercises::find_exercises(words)) found.emplace_back(one->id);
    return found;
  };
  using Ids = std::vector<std::string>;
  for (const char* words : {"8.2.5", "003 8.2.5", "3 8.2.5절", "003_8.2.5", "003-8.2.5"})
    EXPECT_EQ(ids(words), Ids{"003-8.2.5"}) << words;
  EXPECT_EQ(ids("31"), Ids{"004-31"});
  EXPECT_EQ(ids("30-33"), Ids{"004-31"});
  EXPECT_EQ(ids("8.4.1"), (Ids{"003-8.4.1", "003-8.4.1-feed-forward", "003-8.4.1-pre-ln"}));
  EXPECT_EQ(ids("8.4").size(), 8U);
  EXPECT_EQ(ids("003-8.4"), Ids{"003-8.4"});
  const Ran page = successful(run_command({"exercise", "003", "8.2.5", "--lang", "en"}));
  EXPECT_EQ(page.out, run_command({"exercise", "003-8.2.5", "--lang", "en"}).out);
  EXPECT_TRUE(page.out.starts_with("=== 003-8.2.5 ")) << page.out;
  const tasks::exercises::Exercise& exercise = *tasks::exercises::find_exercises("31").at(0);
  EXPECT_EQ(run_command({"exercise", "31", "--solution"}).out, exercise.solution);
  EXPECT_NE(run_command({"exercise", "31", "--hint", "--lang", "ko"}).out.find("tril은"), std::string::npos);
  spill(folder / "solution.cpp", std::string(exercise.solution));
  EXPECT_EQ(successful(run_command({"exercise", "004", "31", folder / "solution.cpp", "--lang", "en"})).out,
            "004-31: right. All 36 numbers agree.\n");
}

}  // namespace
}  // namespace tapegrad::tests
