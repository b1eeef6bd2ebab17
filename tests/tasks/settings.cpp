// The table of settings: limits, choices, JSON of other versions, and the settings that all runs have.
#include <tapegrad/tasks/gpt/options.h>
#include <tapegrad/tasks/seq2seq/copy/copy.h>
#include <tapegrad/tasks/seq2seq/recipe.h>
#include <tapegrad/tasks/seq2seq/task.h>
#include <tapegrad/tests/support/runs/small_loop.h>
#include <tapegrad/tests/support/testing.h>

namespace tapegrad::tasks {
namespace {

using tests::error_of;

constexpr std::string_view kColours[] = {"red", "green"};

struct Sample {
  int64_t count = 3;
  double share = 0.5;
  std::string colour = "red", file;
  bool flag = false;
  uint64_t seed = 7;

  void list(Fields& f) {
    f.add({"item-count", "", Group::data, {.least = 1, .most = 10}}, count);
    f.add({"share", "", Group::data, kProbability}, share);
    f.add({.name = "colour", .help = "", .choices = kColours}, colour);
    f.add({"file", ""}, file);
    f.add({"flag", ""}, flag);
    f.add({"seed", ""}, seed);
  }
};

std::string wrong(auto change) {
  Sample sample;
  change(sample);
  return error_of([&] { check_limits(fields_of(sample)); });
}

TEST(Settings, LimitsAndChoicesAreChecked) {
  EXPECT_EQ(wrong([](Sample& s) { s.count = 0; }), "[--item-count] expected a number in [1, 10], got 0");
  EXPECT_EQ(wrong([](Sample& s) { s.share = 1; }), "[--share] expected a number in [0, 1), got 1");
  EXPECT_EQ(wrong([](Sample& s) { s.share = std::nan(""); }), "[--share] expected a number to be finite, got nan");
  EXPECT_EQ(wrong([](Sample& s) { s.colour = "blue"; }), "[--colour] expected one of red, green, got \"blue\"");
  Sample good;
  check_limits(fields_of(good));
}

TEST(Settings, RoundTripThroughJson) {
  Sample sample{.count = 9, .share = 0.1, .colour = "green", .file = "caf\xe9.txt", .flag = true, .seed = ~uint64_t{0}};
  const std::string json = to_json("sample", fields_of(sample));
  EXPECT_EQ(task_of_json("here", json), "sample");
  Sample read;
  from_json("here", json, "sample", fields_of(read));
  EXPECT_EQ(read.count, 9);
  EXPECT_EQ(read.share, 0.1);
  EXPECT_EQ(read.colour, "green");
  EXPECT_EQ(read.file, "caf\xe9.txt");  // not UTF-8
  EXPECT_TRUE(read.flag);
  EXPECT_EQ(read.seed, ~uint64_t{0});
}

TEST(Settings, OlderJsonLacksSettingsAndNewerJsonIsRejected) {
  Sample read;
  from_json("here", R"({"task":"sample","share":0.25})", "sample", fields_of(read));
  EXPECT_EQ(read.share, 0.25);
  EXPECT_EQ(read.count, 3);
  const auto error = [&](const char* json) {
    return error_of([&] { from_json("here", json, "sample", fields_of(read)); });
  };
  EXPECT_TEXT(error(R"({"task":"sample","version":99})"));
  EXPECT_EQ(error(R"({"task":"other"})"), "[here] expected the settings of the task sample, got settings of other");
  for (const char* json : {"", "[]", "{}", R"({"task":"sample","item_count":"3"})", R"({"task":"sample","share":[1]})",
                           R"({"task":"sample","item_count":2.5})", R"({"task":"sample","flag":1})"})
    EXPECT_TRUE(error(json).starts_with("[here] the settings ")) << json << ": " << error(json);
}

TEST(Settings, GivenOnesOverrideAndMustBeEqualOnResume) {
  Sample run, asked;
  asked.count = 5;
  require_same(fields_of(run), fields_of(asked), {"share"}, "out/x");
  EXPECT_ERROR(require_same(fields_of(run), fields_of(asked), {"item-count", "share"}, "out/x"));
  override_with(fields_of(run), fields_of(asked), {"item-count"});
  EXPECT_EQ(run.count, 5);
}

TEST(Settings, AllRunsHaveTheCommonOnes) {
  TrainingSettings common;
  GPTOptions gpt;
  const Fields of_gpt = fields_of(gpt);
  for (const Field& field : fields_of(common)) {
    EXPECT_NE(of_gpt.find(field.setting.name), nullptr) << field.setting.name;
    for (const TaskInfo* task : all_tasks()) {
      RunOptions options = task->defaults();
      const Fields of_task = fields_of(options);
      EXPECT_NE(of_task.find(field.setting.name), nullptr) << task->name << " " << field.setting.name;
    }
  }
}

TEST(Settings, AttentionIsAChoiceOfTheModel) {
  RunOptions options = CopyTask::defaults();
  EXPECT_EQ(options.model().attention.name(), "full");
  options.attention.kind = "window";
  options.attention.forms[1] = nn::WindowAttention{.window = 3, .dilation = 2, .global_tokens = 1};
  resolve(options);
  Seq2SeqRecipe again(CopyTask::kInfo);
  again.read_json("here", Seq2SeqRecipe(options).json());
  const nn::AttentionChoice form = again.options().model().attention;
  const auto* const window = form.as<nn::WindowAttention>();
  ASSERT_NE(window, nullptr);
  EXPECT_EQ(window->window, 3);
  EXPECT_EQ(window->dilation, 2);
  EXPECT_EQ(window->global_tokens, 1);
  EXPECT_EQ(options.attention.keys_per_query(100), 8);
  EXPECT_EQ(options.attention.keys_per_query(5), 5);
  options.positions = "alibi";
  EXPECT_ERROR(resolve(options));
  options.attention.kind = "wide";
  EXPECT_TRUE(error_of([&] { resolve(options); }).starts_with("[--attention] expected one of full, window"));
}

TEST(TrainingSettings, ClippingIsTransformsOfALoop) {
  TrainingSettings settings;
  EXPECT_TRUE(settings.transforms().empty());
  settings.clip_grad = 1e9;
  settings.clip_value = 0.5;
  std::vector<optim::GradientTransform> transforms = settings.transforms();
  ASSERT_EQ(transforms.size(), 2U);
  const auto sign = [](optim::StepGradients& g) { g.map([](auto x) { return x > 0 ? 1 : x < 0 ? -1 : 0; }); };
  transforms.insert(transforms.begin(), sign);
  for (const int64_t accumulate : {1, 3}) {  // without transforms, a step of one batch updates while backward runs
    tests::Trained run({.accumulate = accumulate, .transforms = transforms, .schedule = optim::Constant{0.25}});
    const std::vector<float> before = run.weights();
    run.loop.step();
    for (std::size_t i = 0; i < 2; ++i) EXPECT_NEAR(std::abs(run.weights()[i] - before[i]), 0.125, 1e-6);
  }
  EXPECT_EQ(train::gradients_at_once(1, false, 1), 0);
  EXPECT_EQ(train::gradients_at_once(1, true, 1), 1);
}

}  // namespace
}  // namespace tapegrad::tasks
