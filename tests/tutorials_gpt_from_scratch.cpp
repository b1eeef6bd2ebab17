// GPT from scratch, by chapter: the tokens of The Verdict, sizes of GPT-2, draws of the next token, and what chapter
// 5's training run prints.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/random.h>
#include <tapegrad/tasks/gpt_trainer.h>
#include <tapegrad/test_paths.h>
#include <tapegrad/tests/command_runner.h>
#include <tapegrad/tests/long.h>
#include <tapegrad/tests/stored.h>

#include <cmath>
#include <cstdio>
#include <string_view>

namespace tapegrad::tasks {
namespace {

using tests::stored;
using Ids = std::vector<std::int64_t>;

std::string data_path(const std::string& name) { return std::string(tests::kTestsDir) + "/data/" + name; }

// GPT-2's tokenizer, cut to what The Verdict needs.
std::unique_ptr<Tokenizer> gpt2_tokenizer() { return load_tokenizer(data_path("gpt2_verdict")); }

// What `tapegrad train gpt --preset book --text the-verdict.txt --tokenizer gpt2` trains.
GPTOptions book_options() {
  GPTOptions options = gpt_options("book");
  options.text = data_path("the_verdict.txt");
  options.tokenizer = data_path("gpt2_verdict");
  check(options);
  return options;
}

double rounded(double x, int digits) { return std::round(x * std::pow(10, digits)) / std::pow(10, digits); }

// ---- Chapter 2: text as tokens ----

TEST(GPTFromScratch_2, TheVerdictHas5145Tokens) {
  const std::string text = tests::slurp(data_path("the_verdict.txt"));
  ASSERT_EQ(text.size(), 20479U);
  const std::unique_ptr<Tokenizer> tokenizer = gpt2_tokenizer();
  EXPECT_EQ(tokenizer->size(), 50257);
  const Ids ids = tokenizer->encode(text);
  EXPECT_EQ(ids.size(), 5145U);
  EXPECT_EQ(tokenizer->decode(ids), text);

  // The parts that are trained on and validated with, each encoded for itself.
  const nlohmann::json parts = stored("the_verdict.json");
  const std::string_view all = text;
  EXPECT_EQ(tokenizer->encode(all.substr(0, 18431)), parts["train"].get<Ids>());
  EXPECT_EQ(tokenizer->encode(all.substr(18431)), parts["validation"].get<Ids>());
  EXPECT_EQ(tokenizer->encode("Every effort moves you"), (Ids{6109, 3626, 6100, 345}));
}

// ---- Chapter 4: the model ----

TEST(GPTFromScratch_4, ParameterCounts) {
  EXPECT_EQ(nn::gpt_preset("gpt2").parameter_count(), 163'009'536);
  EXPECT_EQ(nn::gpt_preset("gpt2-medium").parameter_count(), 406'212'608);
  EXPECT_EQ(nn::gpt_preset("gpt2-large").parameter_count(), 838'220'800);
  EXPECT_EQ(nn::gpt_preset("gpt2-xl").parameter_count(), 1'637'792'000);
  EXPECT_EQ((nn::GPTConfig{.tied_head = true}.parameter_count()), 124'412'160);
}

TEST(GPTFromScratch_4, UntrainedModelContinuesHelloIAmSeed123) {
  manual_seed(123);
  nn::GPTModel model{nn::GPTConfig{}};
  nn::eval(model);
  EXPECT_EQ(nn::count(model), 163'009'536);
  Ids ids{15496, 11, 314, 716};
  while (ids.size() < 10) {
    const Tensor logits = model(tensor(ids, {1, static_cast<std::int64_t>(ids.size())}));
    ids.push_back(argmax(logits[0], -1).to_vector<std::int64_t>().back());
  }
  EXPECT_EQ(ids, (Ids{15496, 11, 314, 716, 27018, 24086, 47843, 30961, 42348, 7267}));
}

// ---- Chapter 5: training and drawing ----

TEST(GPTFromScratch_5, LoadersOfTheTrainingRun) {
  const GPTData data = load_gpt_data(book_options());
  EXPECT_EQ(data.train.size(), 9);
  EXPECT_EQ(data.validation.size(), 1);
  EXPECT_EQ(data.start, (Ids{6109, 3626, 6100, 345}));
}

// Every line that the run prints: of each evaluation, and of the sample after each epoch. The first two always, all 28
// with TAPEGRAD_LONG=1 (3.2 GB).
TEST(GPTFromScratch_5, TrainingRunLineByLineSeed123) {
  const nlohmann::json expected = stored("the_verdict_run.json");
  const std::vector<std::string> lines = expected["lines"];
  ASSERT_EQ(lines.size(), 28U);
  const std::size_t wanted = tests::long_tests_are_wanted() ? lines.size() : 2;

  const GPTOptions options = book_options();
  GPTTrainer trainer(options, load_gpt_data(options));
  const GPTLosses untrained = trainer.untrained_losses();
  EXPECT_EQ(rounded(untrained.train, 5), rounded(expected["untrained"]["train"], 5));
  EXPECT_EQ(rounded(untrained.validation, 5), rounded(expected["untrained"]["validation"], 5));

  std::vector<std::string> printed;
  const auto print = [&](const std::string& line) {
    ASSERT_LT(printed.size(), wanted) << line;
    EXPECT_EQ(line, lines[printed.size()]) << "line " << printed.size() + 1;
    printed.push_back(line);
    std::printf("%s\n", line.c_str());
    std::fflush(stdout);
  };
  while (printed.size() < wanted) {
    ASSERT_FALSE(trainer.finished()) << "after " << printed.size() << " lines";
    const StepMetrics step = trainer.step();
    if (step.train_loss) {
      print(fmt::format("Ep {} (Step {:06}): Train loss {:.3f}, Val loss {:.3f}", trainer.epoch() + 1, step.step - 1,
                        *step.train_loss, *step.validation_loss));
    }
    if (trainer.ended_epoch()) print(trainer.sample());
  }
  EXPECT_EQ(trainer.finished(), tests::long_tests_are_wanted());
  std::printf("%zu of the run's %zu lines compared\n", printed.size(), lines.size());
}

TEST(GPTFromScratch_5, SampledTokensAtThreeTemperaturesSeed123) {
  const std::vector<float> logits{4.51F, 0.89F, -1.90F, 6.75F, 1.63F, -1.62F, -1.89F, 6.28F, 1.79F};
  const std::pair<double, Ids> cases[] = {{1.0, {73, 0, 0, 582, 2, 0, 0, 343, 0}},
                                          {0.1, {0, 0, 0, 985, 0, 0, 0, 15, 0}},
                                          {5.0, {165, 75, 42, 239, 71, 46, 32, 227, 103}}};
  for (const auto& [temperature, counts] : cases) {
    const std::vector<float> p = softmax(tensor(logits, {9}) / temperature).to_vector<float>();
    Generator generator(123);
    Ids drawn(9);
    for (int i = 0; i < 1000; ++i) {
      std::int64_t token;
      generator.multinomial(&token, 1, p.data(), 9);
      ++drawn[static_cast<std::size_t>(token)];
    }
    EXPECT_EQ(drawn, counts) << "temperature " << temperature;
  }
}

}  // namespace
}  // namespace tapegrad::tasks
