// Options of the command that change how models are made, trained and decoded.
#include <tapegrad/tasks/seq2seq/task.h>
#include <tapegrad/tasks/settings/training.h>
#include <tapegrad/tasks/text/options.h>
#include <tapegrad/tests/support/runs/gpt_run.h>
#include <tapegrad/tests/support/runs/tiny_run.h>
#include <tapegrad/tests/support/testing.h>

namespace tapegrad::tasks {
namespace {

using namespace tests;

using TaskOptions = InAFolder;

TEST_F(TaskOptions, PresetsSetTheSizesThatAreNotGiven) {  // tutorial 003, section 8.4.3
  RunOptions options = task_named("copy").defaults();
  options.preset = "base";
  options.config.num_hidden_layers = 1;
  apply_preset(options, {"preset", "num-hidden-layers"});
  EXPECT_EQ(options.config.hidden_size, 512);
  EXPECT_EQ(options.config.num_attention_heads, 8);
  EXPECT_EQ(options.config.intermediate_size, 2048);
  EXPECT_EQ(options.config.num_hidden_layers, 1);
  EXPECT_EQ(options.config.vocab_size, 20);
  options = task_named("copy").defaults();
  apply_preset(options, {});
  EXPECT_EQ(options.config.hidden_size, 64);
  options.config.post_norm = true;
  options.config.activation = nn::Activation::gelu;
  EXPECT_TRUE(options.model().post_norm);
  EXPECT_EQ(options.model().activation, nn::Activation::gelu);

  successful(run_command({"train", "copy", "--preset", "base", "--num-hidden-layers", "1", "--num-epochs", "0", "--out",
                          folder / "base"}));
  const SafeTensors model = load_safetensors(folder / "base/model.safetensors");
  EXPECT_EQ(model["encoder.layers.0.feed_forward.w_1.weight"].shape(), (Shape{2048, 512}));
}

// A step of eight batches has four sets of gradients at its peak, where a step of one batch has one; none without
// clipping, because backward then updates the parameters.
TEST_F(TaskOptions, TheMemoryOfTrainingHasAllGradientsOfAStep) {
  const auto added = [](auto options, const auto& bytes, int64_t accumulate, int64_t processes) {
    const double one = bytes(options, 1);
    options.accumulate = accumulate;
    return bytes(options, processes) - one;
  };
  const auto check = [&](const auto& options, const auto& bytes, double parameters) {
    const auto near = [&](double expected, int64_t accumulate, int64_t processes) {
      EXPECT_NEAR(added(options, bytes, accumulate, processes), expected * 4 * parameters,
                  0.05 * 4 * parameters * std::max(1.0, expected))
          << accumulate << " batches, " << processes << " processes";
    };
    near(1, 2, 1);
    near(3, 8, 1);
    near(2, 8, 2);
    near(0, 8, 8);
    near(4, 16, 1);
    auto unclipped = options;
    unclipped.clip_grad = 0;
    EXPECT_NEAR(bytes(options, 1) - bytes(unclipped, 1), 4 * parameters, 0.05 * 4 * parameters);
    unclipped.clip_value = 1;
    EXPECT_EQ(bytes(unclipped, 1), bytes(options, 1));
  };
  GPTOptions gpt = gpt_options("gpt2");
  gpt.clip_grad = 1;
  resolve(gpt);
  const auto bytes_of_gpt = [](const GPTOptions& o, int64_t n) { return training_bytes(o, 50257, n); };
  check(gpt, bytes_of_gpt, 162.9e6);
  gpt.lora_rank = 8;
  EXPECT_LT(added(gpt, bytes_of_gpt, 8, 1), 0.1 * 4 * 162.9e6);
  RunOptions copy = task_named("copy").defaults();
  copy.clip_grad = 1;
  resolve(copy);
  const auto bytes_of_copy = [](const RunOptions& o, int64_t n) { return training_bytes(o, n); };
  check(copy, bytes_of_copy, static_cast<double>(nn::count_parameters(nn::Transformer(copy.model()))));
  TextOptions text(text_task("classify"));
  text.clip_grad = 1;
  const auto bytes_of_text = [](const TextOptions& o, int64_t n) { return training_bytes(o, n); };
  const auto of_text = added(text, bytes_of_text, 2, 1);
  EXPECT_GT(of_text, 0);
  EXPECT_DOUBLE_EQ(added(text, bytes_of_text, 8, 1), 3 * of_text);
}

TEST_F(TaskOptions, StepsThatTakeTooMuchMemoryAreRejected) {
  const double memory = static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
  // The largest number of layers with which one batch per step fits.
  const auto layers = [&](const auto& bytes) {
    const double one = bytes(1), two = bytes(2);
    return std::to_string(1 + static_cast<int64_t>((memory - one) / (two - one)));
  };
  const auto expect = [&](const Arguments& request) {
    expect_error(run_command(joined({"train"}, joined(request, {"--accumulate", "1024", "--out", folder / "run"}))), 2,
                 {"[train] a model with batches of these sizes takes about", " GB, this machine has "});
  };
  GPTOptions gpt = gpt_options(kGPTDefaultPreset);
  gpt.gpt().emb_dim = 4096;
  resolve(gpt);
  expect({"gpt", "--emb-dim", "4096", "--n-layers", layers([&](int64_t n) {
            gpt.gpt().n_layers = n;
            return training_bytes(gpt, 60, 1);
          })});
  RunOptions copy = task_named("copy").defaults();
  copy.config.hidden_size = 4096;
  resolve(copy);
  expect({"copy", "--hidden-size", "4096", "--num-hidden-layers", layers([&](int64_t n) {
            copy.config.num_hidden_layers = n;
            return training_bytes(copy, 1);
          })});
}

TEST_F(TaskOptions, ActivationsAndNormsTrainAndResume) {
  const Arguments options{"--activation", "gelu", "--norm", "post"};
  train_tiny(folder, "copy", "post", options);
  train_tiny(folder, "copy", "post", joined(options, {"--resume"}));
  successful(run_command({"test", "copy", "--model", folder / "post", "--count", "5", "--target", "0"}));
  EXPECT_TEXT(rejected(run_command({"train", "copy", "--resume", "--out", folder / "post", "--norm", "pre"})));
}

TEST_F(TaskOptions, GradientsAreClippedByValue) {
  const auto weights = [&](const std::string& name, const Arguments& more) {
    const Arguments sgd{"--max-steps", "1", "--optimizer", "sgd", "--lr", "1", "--schedule", "constant"};
    train_tiny(folder, "copy", name, joined(sgd, more));
    return load_safetensors(folder / (name + "/model.safetensors"))["generator.weight"];
  };
  const Tensor start = weights("start", {"--num-epochs", "0"}), usual = weights("usual", {});
  const Tensor clipped = weights("clipped", {"--clip-value", "0.001"}), both = weights("both", {"--clip-value", "1e9"});
  EXPECT_GT(amax(abs(usual - start)).item(), 0.01);
  EXPECT_NEAR(amax(abs(clipped - start)).item(), 0.001, 1e-6);
  EXPECT_EQ(both.to_vector<float>(), usual.to_vector<float>());
}

// The stream of MKL drops other elements; with neither is there a difference without dropout.
TEST_F(TaskOptions, StreamsOfMasks) {
  const auto bits = [&](const Arguments& more) {
    return printed_bits(train_tiny(folder, "copy", "run", joined({"--max-steps", "3"}, more)).out);
  };
  const std::string usual = bits({});
  EXPECT_NE(usual, bits({"--mask-stream", "mkl"}));
  EXPECT_EQ(usual, bits({"--mask-stream", "mt19937"}));
  EXPECT_EQ(bits({"--dropout", "0"}), bits({"--dropout", "0", "--mask-stream", "mkl"}));
  train_small_gpt(folder, "gpt", {"--max-steps", "2", "--mask-stream", "mkl"});
}

TEST_F(TaskOptions, TheTrapNamesTheOperation) {
  // Masks with infinite scores are not a fault, whatever the positions (positions.cpp) and the form of attention.
  for (const char* positions : {"shaw", "t5"})
    train_small_gpt(folder, "gpt", {"--max-steps", "2", "--trap-nan", "--shaw-values", "--positions", positions});
  const Arguments composite{"--max-steps", "2",         "--trap-nan",          "--shaw-values",
                            "--positions", "composite", "--composite-relative"};
  for (const std::string_view relative : nn::relative_position_names())
    train_tiny(folder, "copy", "composite", joined(composite, {std::string(relative)}));
  for (const std::string_view kind : nn::attention_names()) {
    const std::string attention(kind);
    SCOPED_TRACE(attention);
    const Arguments more{"--max-steps", "2", "--trap-nan", "--attention", attention};
    train_tiny(folder, "parser", attention, more);
    if (attention == "linformer") continue;
    train_small_gpt(folder, "gpt-" + attention, more);
  }
  const Ran ran = run_command(tiny_run("copy", folder / "run", {"--lr", "1e30", "--trap-nan"}), folder);
  EXPECT_EQ(ran.code, 1);
  EXPECT_NE(ran.err.find("is not finite at position "), std::string::npos) << ran.err;
}

TEST_F(TaskOptions, ProfilesOfRuns) {
  const Ran plain = train_tiny(folder, "copy", "plain", {"--max-steps", "4"});
  const Arguments profiled{"--max-steps", "4", "--profile", "--profile-steps", "3"};
  const Ran ran = train_tiny(folder, "copy", "run", profiled);
  EXPECT_EQ(printed_bits(ran.out), printed_bits(plain.out));
  expect_parts(ran.out, {"3 steps (first ", "linear backward", "optimizer.step", "encoder.layers.", "of peak",
                         "peak rates", "Trace: "});
  const auto trace = Json::parse(slurp(folder / "run/trace.json"));
  EXPECT_GT(trace.at("traceEvents").size(), 100u);

  const Ran gpt = train_small_gpt(folder, "gpt", {"--max-steps", "2", "--profile", "--json", "--untrained-losses"});
  const auto report = Json::parse(gpt.out);  // nothing else is printed
  EXPECT_EQ(report.at("steps"), 2);
  EXPECT_GT(report.at("phases").at("evaluation"), 0);
  double linear = 0;
  for (const auto& row : report.at("operations"))
    if (row.at("name") == "linear" && row.at("phase") == "forward") linear = row.at("flops");
  // Per token: 4 matrices of 16 x 16, two of 16 x 64, and the head.
  const double head = 16 * load_safetensors(folder / "gpt/model.safetensors")["out_head.weight"].numel() / 16;
  EXPECT_EQ(std::fmod(linear, 2 * 16 * (4 * 16 * 16 + 2 * 16 * 64 + head)), 0) << linear;
  EXPECT_TRUE(std::any_of(report.at("modules").begin(), report.at("modules").end(),
                          [](const auto& row) { return row.at("name") == "trf_blocks.0.att.W_query"; }));
}

TEST_F(TaskOptions, ExpressionsArePadded) {
  const Arguments nested{"--depth", "2", "--max-tokens", "24", "--max-steps", "2", "--num-attention-heads", "2"};
  train_tiny(folder, "parser", "run", nested);
  const SafeTensors model = load_safetensors(folder / "run/model.safetensors");
  EXPECT_EQ(model["encoder.embeddings.position_embeddings.weight"].size(0), 24);
  train_tiny(folder, "parser", "flat", {"--max-tokens", "5", "--max-steps", "1"});
}

TEST_F(TaskOptions, Generation) {
  train_small_gpt(folder, "run", {"--max-steps", "4"});
  const CommandLine generate{{"generate", "gpt", "--model", folder / "run", "--prompt", "The"}};
  // Samples: one line of ids each, sample i drawn as with --seed 4 + i alone.
  const Arguments draws{"--ids", "--temperature", "1", "--max-new-tokens", "6", "--seed", "4"};
  const Ran three = successful(generate(joined(draws, {"--num-samples", "3"})));
  const std::vector<std::string> rows = lines(three.out);
  ASSERT_EQ(rows.size(), 3U) << three.out;
  for (const std::string& row : rows) EXPECT_EQ(std::count(row.begin(), row.end(), ' '), 8) << row;
  EXPECT_NE(rows[0], rows[1]);
  EXPECT_EQ(generate({"--ids", "--temperature", "1", "--max-new-tokens", "6", "--seed", "6"}).out, rows[2] + "\n");
  // Prompts of a file, continued together as alone.
  spill(folder / "prompts.txt", "The cat\n\nThe\n");
  const CommandLine from_file{
      {"generate", "gpt", "--model", folder / "run", "--ids", "--max-new-tokens", "6", "--prompt-file"}};
  const Ran both = successful(from_file({folder / "prompts.txt"}));
  ASSERT_EQ(lines(both.out).size(), 2U) << both.out;
  EXPECT_EQ(lines(both.out)[1] + "\n", generate({"--ids", "--max-new-tokens", "6"}).out);
  spill(folder / "windows.txt", "\xEF\xBB\xBFThe cat\r\n\r\nThe\r\n");
  EXPECT_EQ(from_file({folder / "windows.txt"}).out, both.out);
  const Ran searched = from_file({folder / "prompts.txt", "--beams", "2"});
  ASSERT_EQ(lines(searched.out).size(), 2U) << searched.err;
  EXPECT_EQ(lines(searched.out)[1] + "\n", generate({"--ids", "--max-new-tokens", "6", "--beams", "2"}).out);
  expect_parts(generate({"--temperature", "1", "--max-new-tokens", "6", "--num-samples", "2"}).out, {"\n\nThe"});

  // A stop: the text of the first two new tokens ends the generation after them, with one beam and with several.
  for (const char* beams : {"1", "2"}) {
    const Arguments search{"--max-new-tokens", "9", "--beams", beams};
    const std::string whole = generate(search).out, two = generate({"--max-new-tokens", "2", "--beams", beams}).out;
    const std::string stop = two.substr(3, two.size() - 4);
    const std::string stopped = generate(joined(search, {"--stop", stop})).out;
    EXPECT_LE(stopped.size(), whole.size());
    EXPECT_TRUE(stopped == two || (*beams == '2' && stopped.starts_with("The"))) << stopped;
  }
  EXPECT_EQ(generate({"--beams", "3", "--length-penalty", "0.8"}).code, 0);
  spill(folder / "none.txt", "\n");
  spill(folder / "long.txt", "The cat sat on the mat\n");
  expect_errors("tasks/errors/gpt.txt", "generation", folder);

  // A test on the first tokens only.
  const CommandLine tested{{"test", "gpt", "--model", folder / "run", "--text", folder / "text.txt", "--json"}};
  const auto of = [&](const char* count) { return Json::parse(tested({"--max-tokens", count}).out); };
  const auto six = of("97"), all = of("100"), seven = of("113");  // windows of 16; the last of `all` has 3 targets
  EXPECT_EQ(six["tokens"], 96);
  EXPECT_EQ(all["tokens"], 99);
  EXPECT_EQ(seven["tokens"], 112);
  const auto sum = [](const Json& json) { return json["loss"].get<double>() * json["tokens"].get<double>(); };
  EXPECT_GT(sum(all), sum(six));
  EXPECT_LT(sum(all), sum(seven));
  EXPECT_EQ(Json::parse(tested({"--max-tokens", "1000000"}).out)["tokens"], Json::parse(tested({}).out)["tokens"]);
}

TEST_F(TaskOptions, EveryUpdateRuleTrains) {
  std::map<std::string, std::string> rule_of_bits;
  const auto bits_with = [&](const std::string& rule) {
    const std::string decay = rule == "rprop" ? "0" : "0.1";  // without decay, AdamW is Adam
    const Arguments options{"--optimizer", rule, "--weight-decay", decay, "--num-epochs", "1"};
    return printed_bits(train_tiny(folder, "copy", rule, options).out);
  };
  for (const std::string_view name : optimizer_names()) {
    const std::string rule(name), bits = bits_with(rule);
    EXPECT_TRUE(rule_of_bits.emplace(bits, rule).second) << rule << " trains as " << rule_of_bits[bits];
  }
  const Ran usual = train_tiny(folder, "copy", "usual", {"--weight-decay", "0.1", "--num-epochs", "1"});
  EXPECT_EQ(rule_of_bits[printed_bits(usual.out)], "adamw");
}

}  // namespace
}  // namespace tapegrad::tasks
