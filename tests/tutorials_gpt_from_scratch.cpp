// GPT from scratch, chapter 5: what its training run on The Verdict prints before and in its first steps. The run has
// 124M parameters; its other lines are compared by hand, with the command.
#include <gtest/gtest.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/random.h>
#include <tapegrad/tasks/gpt_trainer.h>
#include <tapegrad/test_paths.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

namespace tapegrad::tasks {
namespace {

// The text comes as ids: only the size of the vocabulary is asked for.
class NoText : public Tokenizer {
 public:
  std::vector<std::int64_t> encode(std::string_view) const override { throw Error("[test] no text is encoded here"); }
  std::string_view bytes(std::int64_t) const override { throw Error("[test] no text is decoded here"); }
  std::int64_t size() const override { return 50257; }
  std::string json() const override { return "{}"; }
};

GPTData the_verdict(const GPTOptions& o) {
  const auto ids = nlohmann::json::parse(std::ifstream(std::string(tests::kTestsDir) + "/data/the_verdict.json"));
  const auto part = [&](const char* name) {
    return Windows(Tokens(ids[name].get<std::vector<std::int64_t>>()), o.context_length, o.stride);
  };
  return {std::make_unique<NoText>(),
          TextLoader(part("train"), {.batch_size = o.batch_size, .shuffle = true, .drop_last = true}),
          TextLoader(part("validation"), {.batch_size = o.batch_size, .shuffle = false, .drop_last = false}),
          {6109, 3626, 6100, 345},
          0};
}

double rounded(double x, int digits) { return std::round(x * std::pow(10, digits)) / std::pow(10, digits); }

TEST(GPTFromScratch, Chapter5UntrainedLossesAndFirstSteps) {
  GPTOptions options = gpt_options("book");
  options.sample_tokens = 0;
  check(options);
  GPTTrainer trainer(options, the_verdict(options));
  const GPTLosses untrained = trainer.untrained_losses();
  EXPECT_EQ(rounded(untrained.train, 5), 10.98758);
  EXPECT_EQ(rounded(untrained.validation, 5), 10.98111);

  const StepMetrics first = trainer.step();
  ASSERT_TRUE(first.train_loss.has_value());
  EXPECT_EQ(rounded(*first.train_loss, 3), 9.781);
  EXPECT_EQ(rounded(*first.validation_loss, 3), 9.933);
  StepMetrics last;
  while (trainer.steps() < 6) last = trainer.step();
  ASSERT_TRUE(last.train_loss.has_value());
  EXPECT_EQ(rounded(*last.train_loss, 3), 8.111);
  EXPECT_EQ(rounded(*last.validation_loss, 3), 8.339);
}

TEST(GPTFromScratch, UntrainedModelContinuesHelloIAm) {
  manual_seed(123);
  nn::GPTModel model{nn::GPTConfig{}};
  nn::eval(model);
  EXPECT_EQ(model.config.parameter_count(), 163'009'536);
  std::vector<std::int64_t> ids{15496, 11, 314, 716};
  while (ids.size() < 10) {
    const Tensor logits = model(tensor(ids, {1, static_cast<std::int64_t>(ids.size())}));
    ids.push_back(argmax(logits[0], -1).to_vector<std::int64_t>().back());
  }
  EXPECT_EQ(ids, (std::vector<std::int64_t>{15496, 11, 314, 716, 27018, 24086, 47843, 30961, 42348, 7267}));
}

}  // namespace
}  // namespace tapegrad::tasks
