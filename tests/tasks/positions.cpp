// The command with every positional encoding and its options, with beam search, and the comparison of encodings.
#include <tapegrad/tests/support/pictures/shown.h>
#include <tapegrad/tests/support/runs/gpt_run.h>
#include <tapegrad/tests/support/testing.h>

namespace tapegrad::tasks {
namespace {

using namespace tests;

using TasksPositions = InAFolder;

TEST_F(TasksPositions, EveryKindTrainsAndAnswersLongerSequencesToo) {
  for (const std::string_view positions : nn::position_names()) {
    SCOPED_TRACE(positions);
    const std::string out = folder / std::string(positions);
    train_tiny(folder, "copy", std::string(positions), {"--positions", std::string(positions), "--trap-nan"});
    // The report has the options of this kind alone; those of a composite are of its pair.
    const std::string report = slurp(out + "/report.html");
    constexpr std::pair<std::string_view, const char*> kOptions[] = {
        {"learned", "--interpolate-to"}, {"rope", "--rope-base"},       {"shaw", "--shaw-distance"},
        {"t5", "--t5-buckets"},          {"conv", "--conv-width"},      {"lstm", "--lstm-size"},
        {"ode", "--ode-steps"},          {"dynamic", "--dynamic-size"}, {"composite", "--composite-added"},
        {"dopri5", "--ode-tolerance"},   {"window", "--global-tokens"}, {"reformer", "--reformer-rounds"}};
    for (const auto& [kind, option] : kOptions) {
      const bool used = kind == positions || (positions == "composite" && kind == "rope");
      EXPECT_EQ(report.find(option) != std::string::npos, used) << option;
    }
    const std::string model = out + "/model.safetensors";
    const Ran tested = successful(run_command(
        {"test", "copy", "--model", model, "--count", "20", "--target", "0", "--beams", "3", "--json"}, folder));
    EXPECT_EQ(Json::parse(tested.out)["beams"], 3);
    const Ran longer =
        run_command({"test", "copy", "--model", model, "--count", "10", "--target", "0", "--seq-length", "9"}, folder);
    if (positions == "learned") {
      expect_error(longer, 2, {"[--seq-length] 9 is longer than --max-position-embeddings 4"});
    } else {
      EXPECT_EQ(longer.code, 0) << longer.err;
    }
  }
}

TEST(TasksAttention, EveryFormTrainsAndIsReadBack) {
  const TemporaryFolder folder;
  const std::vector<std::vector<std::string>> forms{{"window", "--window", "1", "--global-tokens", "1"},
                                                    {"linformer", "--linformer-rank", "2", "--linformer-per-head"},
                                                    {"performer", "--performer-features", "8"},
                                                    {"reformer", "--reformer-bucket-size", "2"}};
  for (const std::vector<std::string>& form : forms) {
    SCOPED_TRACE(form[0]);
    const std::string out = folder / form[0];
    train_tiny(folder, "copy", form[0], joined({"--positions", "rope", "--attention"}, form));
    const CommandLine tested{{"test", "copy", "--model", out, "--count", "20", "--target", "0"}, folder};
    EXPECT_EQ(tested({"--beams", "2"}).code, 0);
    if (form[0] == "linformer") {
      expect_error(tested({"--seq-length", "9"}), 2, {"[--seq-length] 9 is longer than --max-position-embeddings 4"});
    } else {
      EXPECT_EQ(tested({"--seq-length", "9"}).code, 0);
    }
    const std::string report = slurp(out + "/report.html");
    for (const char* option : {"--global-tokens", "--linformer-rank", "--performer-features", "--reformer-rounds"})
      EXPECT_EQ(report.find(option) != std::string::npos,
                form[0].substr(0, 3) == std::string(option).substr(2, 3) || (form[0] == "window" && option[2] == 'g'))
          << option;
    successful(run_command({"attention", "copy", "--model", out, "--out", folder / "maps"}, folder));
  }
}

// The options decide the shapes and the values of what is saved, and are saved with it.
TEST_F(TasksPositions, EveryOptionReachesTheModel) {
  const auto shape_of = [&](const std::string& out, const std::string& name) {
    return str(load_safetensors(folder / out + "/model.safetensors")[name].shape());
  };
  const auto expect = [&](const std::string& kind, const Arguments& options, const std::string& name,
                          const std::string& shape) {
    SCOPED_TRACE(kind + " " + name);
    const Arguments all = joined({"--positions", kind, "--num-epochs", "1", "--trap-nan"}, options);
    train_tiny(folder, "copy", "run", all);
    EXPECT_EQ(shape_of("run", name), shape);
    successful(run_command({"test", "copy", "--model", folder / "run", "--count", "8", "--target", "0"}, folder));
  };
  const std::string added = "encoder.embeddings.position_embeddings.";
  expect("conv", {"--conv-width", "5"}, added + "conv.weight", "[8, 1, 5]");
  expect("lstm", {"--lstm-size", "3"}, added + "lstm.projection.weight", "[8, 3]");
  expect("ode", {"--ode-size", "3", "--ode-interval", "0.5", "--ode-steps", "2", "--ode-adjoint"}, added + "ode.time",
         "[3]");
  expect("ode", {"--ode-solver", "dopri5", "--ode-tolerance", "1e-3"}, added + "ode.time", "[8]");
  expect("dynamic", {"--dynamic-size", "3"}, added + "dynamic.w_1.weight", "[3, 16]");
  expect("shaw", {"--shaw-distance", "2", "--shaw-values"}, "decoder.layers.0.self_attn.shaw.values", "[5, 4]");
  expect("t5", {"--t5-buckets", "8", "--t5-distance", "20"}, "encoder.relative_positions.weight", "[8, 2]");
  expect("rope", {"--rope-base", "500", "--ntk-scale", "2"}, "generator.weight", "[6, 8]");
  expect("composite", {"--composite-added", "conv", "--composite-relative", "alibi"}, added + "alpha", "[]");
  EXPECT_EQ(shape_of("run", "decoder.relative_positions.beta"), "[]");
  EXPECT_EQ(shape_of("run", added + "conv.weight"), "[8, 1, 3]");
}

TEST_F(TasksPositions, StretchATrainedModel) {
  for (const char* kind : {"learned", "rope"}) train_tiny(folder, "copy", kind, {"--positions", kind});
  const CommandLine test{{"test", "copy", "--count", "20", "--target", "0", "--seq-length", "9", "--json", "--model"},
                         folder};
  successful(test({"learned", "--interpolate-to", "9"}));
  EXPECT_NE(successful(test({"rope"})).out, successful(test({"rope", "--ntk-scale", "8"})).out);
  expect_errors("tasks/errors/runs.txt", "stretched positions", folder, test);
}

TEST_F(TasksPositions, AGptWithoutAnEndReadsMoreThanItsContext) {
  const std::string prompt = "The cat sat on the mat, and again";  // more than 16 tokens
  const CommandLine generate{{"generate", "gpt", "--prompt", prompt, "--max-new-tokens", "9", "--model"}, folder};
  for (const std::string kind : {"learned", "rope", "lstm", "composite"}) {
    SCOPED_TRACE(kind);
    train_small_gpt(folder, kind, {"--positions", kind, "--num-epochs", "1"});
    const Ran asked = generate({kind});
    if (kind == "learned") {
      expect_error(asked, 2, {"[--prompt] expected at most 16 tokens, the model's context, got 33"});
      const Ran stretched = successful(generate({kind, "--interpolate-to", "64"}));
      EXPECT_TRUE(stretched.out.starts_with(prompt)) << stretched.out;
    } else {
      EXPECT_EQ(asked.code, 0) << asked.err;
      EXPECT_TRUE(asked.out.starts_with(prompt)) << asked.out;
      successful(generate({kind, "--beams", "2"}));
    }
  }
}

TEST_F(TasksPositions, LongerProblemsOfTheOtherTasks) {
  const auto widest = [&](const Arguments& model) -> int64_t {
    const Arguments test{"test", "addition", "--count", "10", "--target", "0", "--json", "--model"};
    return Json::parse(successful(run_command(joined(test, model), folder)).out)["digits"].back()["digits"];
  };
  train_tiny(folder, "addition", "table", {"--max-digits", "2", "--max-position-embeddings", "5"});
  train_tiny(folder, "addition", "pair",
             {"--max-digits", "2", "--positions", "composite", "--composite-added", "learned"});
  train_tiny(folder, "addition", "waves", {"--max-digits", "2", "--positions", "complex"});
  EXPECT_EQ(widest({"table"}), 2);
  EXPECT_EQ(widest({"table", "--interpolate-to", "9"}), 4);
  EXPECT_EQ(widest({"pair"}), 4);   // ten positions
  EXPECT_EQ(widest({"waves"}), 5);  // three digits more than in training
  successful(
      run_command({"test", "addition", "--model", "waves", "--max-digits", "6", "--expression", "123456+7"}, folder));

  train_tiny(folder, "parser", "flat", {"--positions", "alibi"});
  train_tiny(folder, "parser", "deep", {"--depth", "2", "--positions", "alibi"});
  const CommandLine parse{{"test", "parser", "--model"}, folder};
  expect_parts(successful(parse({"deep", "--expression", "x=1+2*(3-4)"})).out, {"'4']]]]"});
  expect_errors("tasks/errors/runs.txt", "expressions that are too deep", folder, parse);
}

// --- compare positions ---

Arguments tiny_comparison(const TemporaryFolder& folder, const Arguments& more) {
  return joined(
      {"compare", "positions", "--hidden-size", "8", "--num-hidden-layers", "1", "--num-attention-heads", "2",
       "--intermediate-size", "8", "--steps", "3", "--batch-size", "4", "--count", "6", "--out", folder / "out"},
      more);
}

TEST(ComparePositions, WritesATableAndPicturesAndContinues) {
  const TemporaryFolder folder;
  const auto compare = [&](const Arguments& more) { return run_command(tiny_comparison(folder, more), folder); };
  const std::string results = folder / "out/results.jsonl";
  const Ran first = successful(compare({"--kinds", "sinusoidal,conv-multiscale", "--seeds", "1", "--threads", "1"}));
  expect_parts(first.out, {"=== addition: up to 3 digits in training, 4 beyond ===",
                           "=== parser: depth 2 in training, 3 beyond ===", "\nconv-multiscale  0.",
                           "Mean and standard deviation over 1 seed."});
  EXPECT_NE(first.err.find("4 of 4: parser with conv-multiscale, seed 0: exact "), std::string::npos) << first.err;
  expect_narrow(first.out.substr(0, first.out.find("Plots")));
  const std::string four = slurp(results);
  ASSERT_EQ(lines(four).size(), 5u);  // the settings, and four runs

  // More kinds and seeds run what is missing, and nothing again; a line that was cut off is run again. Two runs at a
  // time have the results of one at a time.
  spill(results, four.substr(0, four.size() - 20));
  const Ran more =
      successful(compare({"--kinds", "conv-multiscale,sinusoidal,rope", "--seeds", "2", "--threads", "2", "--json"}));
  const std::vector<std::string> all = lines(slurp(results)), before = lines(four);
  ASSERT_EQ(all.size(), 13u);
  EXPECT_TRUE(std::equal(before.begin(), before.end() - 1, all.begin()));
  const auto accuracies = [](const std::string& line) {
    Json found = Json::parse(line);
    for (const char* measured : {"step_ms", "answer_ms"}) found.erase(measured);
    return found;
  };
  const Json repeated = accuracies(before.back());
  EXPECT_TRUE(std::any_of(all.begin() + 4, all.end(), [&](const auto& line) { return accuracies(line) == repeated; }));
  expect_correct_figure(folder / "out/positions");

  const Json told = Json::parse(more.out);
  EXPECT_EQ(told["seeds"], 2);
  EXPECT_EQ(told["steps"], 3);
  ASSERT_EQ(told["parser"].size(), 3u);
  const Json& rope = told["parser"][2];
  EXPECT_EQ(rope["kind"], "rope");
  for (const char* name :
       {"trained", "trained_tokens", "longer", "longer_tokens", "step_ms", "answer_ms", "memory_mb"}) {
    SCOPED_TRACE(name);
    const Json& of = rope[name];
    ASSERT_EQ(of["runs"].size(), 2u);
    const double a = of["runs"][0], b = of["runs"][1];
    EXPECT_NEAR(of["mean"], (a + b) / 2, 1e-12);
    EXPECT_NEAR(of["deviation"], std::abs(a - b) / std::sqrt(2), 1e-12);
  }
  EXPECT_GT(rope["step_ms"]["mean"], 0);

  expect_errors("tasks/errors/runs.txt", "a comparison that is continued", folder, compare);
}

TEST(ComparePositions, ARunThatFailsEndsTheComparison) {
  const TemporaryFolder folder;
  expect_error(run_command(tiny_comparison(folder, {"--kinds", "none", "--lr", "1e30", "--warmup", "0"})), 1,
               {"with none, seed 0", "is not finite (a smaller learning rate may help; trap_nan names"});
}

}  // namespace
}  // namespace tapegrad::tasks
