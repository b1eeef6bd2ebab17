// GPT from scratch by chapter: tokens, sizes, gradients, samples, and the output of the training run.
#include <tapegrad/tests/support/long.h>
#include <tapegrad/tests/support/runs/gpt_run.h>
#include <tapegrad/tests/support/testing.h>
#include <tapegrad/train/data/tokenizer_files.h>

#include <cstdio>

namespace tapegrad::tasks {
namespace {

using namespace tests;
using Ids = std::vector<int64_t>;

std::string data_path(const std::string& name) { return std::string(kTestsDir) + "/data/" + name; }

// GPT-2's tokenizer, reduced to the tokens of The Verdict.
std::unique_ptr<data::Tokenizer> gpt2_tokenizer() { return data::load_tokenizer(data_path("gpt2_verdict")); }

// What `tapegrad train gpt --preset book --text the-verdict.txt --tokenizer gpt2` trains.
GPTOptions book_options() {
  GPTOptions options = gpt_options("book");
  options.text = data_path("the_verdict.txt");
  options.tokenizer = data_path("gpt2_verdict");
  resolve(options);
  return options;
}

double rounded(double x, int digits) { return std::round(x * std::pow(10, digits)) / std::pow(10, digits); }

// ---- Chapter 2: text as tokens ----

TEST(GPTFromScratch_2, TheVerdictHas5145Tokens) {
  const std::string text = slurp(data_path("the_verdict.txt"));
  ASSERT_EQ(text.size(), 20479U);
  const std::unique_ptr<data::Tokenizer> tokenizer = gpt2_tokenizer();
  EXPECT_EQ(tokenizer->size(), 50257);
  const Ids ids = tokenizer->encode(text);
  EXPECT_EQ(ids.size(), 5145U);
  EXPECT_EQ(tokenizer->decode(ids), text);

  // The training and validation parts, encoded separately.
  const Json parts = stored("the_verdict.json");
  const std::string_view all = text;
  EXPECT_EQ(tokenizer->encode(all.substr(0, 18431)), parts["train"].get<Ids>());
  EXPECT_EQ(tokenizer->encode(all.substr(18431)), parts["validation"].get<Ids>());
  EXPECT_EQ(tokenizer->encode("Every effort moves you"), (Ids{6109, 3626, 6100, 345}));
}

// An embedding of six tokens; drawing 18 normals draws the last 16 again.
TEST(GPTFromScratch_2, EmbeddingsOfSixTokensSeed123) {
  manual_seed(123);
  const std::vector<float> weights = nn::Embedding(6, 3).weight->to_vector<float>();
  const double printed[6] = {0.3374, -0.1778, -0.1690, 0.9178, 1.5810, 1.3010};
  for (std::size_t i = 0; i < 6; ++i) EXPECT_NEAR(weights[i], printed[i], 5e-5);
}

// ---- Chapter 4: the model ----

TEST(GPTFromScratch_4, ParameterCounts) {
  EXPECT_EQ(nn::gpt_preset("gpt2").parameter_count(), 163'009'536);
  EXPECT_EQ((nn::GPTConfig{.context_length = 256}.parameter_count()), 162'419'712);  // chapter 5's
  EXPECT_EQ(nn::gpt_preset("gpt2-medium").parameter_count(), 406'212'608);
  EXPECT_EQ(nn::gpt_preset("gpt2-large").parameter_count(), 838'220'800);
  EXPECT_EQ(nn::gpt_preset("gpt2-xl").parameter_count(), 1'637'792'000);
  EXPECT_EQ((nn::GPTConfig{.tied_head = true}.parameter_count()), 124'412'160);
}

TEST(GPTFromScratch_4, UntrainedModelContinuesHelloIAmSeed123) {
  manual_seed(123);
  nn::GPTModel model{nn::GPTConfig{}};
  nn::eval(model);
  EXPECT_EQ(nn::count_parameters(model), 163'009'536);
  Ids ids{15496, 11, 314, 716};
  while (ids.size() < 10) {
    const Tensor logits = model(tensor(ids, {1, static_cast<int64_t>(ids.size())}));
    ids.push_back(argmax(logits[0], -1).to_vector<int64_t>().back());
  }
  EXPECT_EQ(ids, (Ids{15496, 11, 314, 716, 27018, 24086, 47843, 30961, 42348, 7267}));
}

// Linear layers of widths 3, 3, 3, 3 and 1, each followed by the model's GELU.
struct DeepNetwork {
  explicit DeepNetwork(bool shortcuts) : shortcuts(shortcuts) {
    for (const int width : {3, 3, 3, 3, 1}) layers.emplace_back(3, width);
  }
  Tensor operator()(Tensor x) const {
    for (const nn::Linear& layer : layers) {
      const Tensor y = gelu(layer(x), Gelu::tanh);
      x = shortcuts && x.shape() == y.shape() ? x + y : y;
    }
    return x;
  }
  void visit(auto&& field) { field("layers", layers); }

  bool shortcuts;
  nn::List<nn::Linear> layers;
};

std::vector<double> gradient_means(bool shortcuts, DType dtype) {
  manual_seed(123);
  DeepNetwork network(shortcuts);
  nn::to(network, dtype);
  Tape tape;
  const Tensor output = network(tensor({{1., 0., -1.}}, dtype));
  const Gradients grads = tape.backward(mse_loss(output, zeros({1, 1}, dtype)));
  std::vector<double> means;
  for (const nn::Linear& layer : network.layers) means.push_back(mean(abs(grads[layer.weight])).item());
  return means;
}

// The printed numbers are float32 with all digits; the last digits depend on the machine's rounding (PyTorch 1.13 on
// x86-64 differs by up to 3.4e-7). In float64 the printed numbers are within 3e-7 of the exact ones, and tapegrad
// equals PyTorch to 1e-13.
TEST(GPTFromScratch_4, GradientMeansOfFiveLayersSeed123) {
  const std::vector<double> printed[] = {
      {0.00020173587836325169, 0.00012011159560643137, 0.0007152039906941354, 0.0013988736318424344,
       0.005049645435065031},
      {0.22169792652130127, 0.20694106817245483, 0.32896995544433594, 0.2665732204914093, 1.3258540630340576}};
  const Json exact = stored("tutorials.json")["gradient_means_float64"];
  for (const bool shortcuts : {false, true}) {
    const std::vector<double> single = gradient_means(shortcuts, kFloat32), twice = gradient_means(shortcuts, kFloat64);
    for (std::size_t layer = 0; layer < 5; ++layer) {
      const double figure = printed[shortcuts][layer], truth = exact[shortcuts][layer];
      EXPECT_NEAR(single[layer], figure, 4e-7 * figure) << "layer " << layer;
      EXPECT_NEAR(twice[layer], figure, 3e-7 * figure) << "layer " << layer;
      EXPECT_NEAR(twice[layer], truth, 1e-13 * truth) << "layer " << layer;
    }
  }
}

// ---- Chapter 5: training and drawing ----

TEST(GPTFromScratch_5, LoadersOfTheTrainingRun) {
  const GPTData data = load_gpt_data(book_options());
  EXPECT_EQ(data.train.size(), 9);
  EXPECT_EQ(data.validation.size(), 1);
  EXPECT_EQ(data.start, (Ids{6109, 3626, 6100, 345}));
}

// The lines that the run prints, one per evaluation and one per sample: the first two, or all 28 with TAPEGRAD_LONG=1
// (3.2 GB).
TEST(GPTFromScratch_5, TrainingRunLineByLineSeed123) {
  const Json expected = stored("the_verdict_run.json");
  const std::vector<std::string> lines = expected["lines"];
  ASSERT_EQ(lines.size(), 28U);
  const std::size_t wanted = long_tests_are_wanted() ? lines.size() : 2;

  const GPTOptions options = book_options();
  GPTTrainer trainer(options);
  EXPECT_EQ(nn::count_parameters(trainer->decoder()), 162'419'712);
  const train::Evaluation untrained = trainer->untrained_losses();
  EXPECT_EQ(rounded(*untrained.training, 5), rounded(expected["untrained"]["train"], 5));
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
    const train::StepMetrics step = trainer.step();
    if (step.train_loss && (step.step - 1) % options.eval_interval == 0) {
      print(fmt::format("Ep {} (Step {:06}): Train loss {:.3f}, Val loss {:.3f}", trainer.loop().epoch() + 1,
                        step.step - 1, *step.train_loss, *step.validation_loss));
    }
    if (trainer.ended_epoch()) print(trainer->sample());
  }
  EXPECT_EQ(trainer.finished(), long_tests_are_wanted());
  std::printf("%zu of the run's %zu lines compared\n", printed.size(), lines.size());
}

TEST(GPTFromScratch_5, SampledTokensAtThreeTemperaturesSeed123) {
  Generator generator;
  const std::vector<float> logits{4.51F, 0.89F, -1.90F, 6.75F, 1.63F, -1.62F, -1.89F, 6.28F, 1.79F};
  const std::pair<double, Ids> cases[] = {{1.0, {73, 0, 0, 582, 2, 0, 0, 343, 0}},
                                          {0.1, {0, 0, 0, 985, 0, 0, 0, 15, 0}},
                                          {5.0, {165, 75, 42, 239, 71, 46, 32, 227, 103}}};
  for (const auto& [temperature, counts] : cases) {
    const std::vector<float> p = softmax(tensor(logits, {9}) / temperature).to_vector<float>();
    generator.manual_seed(123);
    Ids drawn(9);
    for (int i = 0; i < 1000; ++i) {
      int64_t token;
      generator.multinomial(&token, 1, p.data(), 9);
      ++drawn[static_cast<std::size_t>(token)];
    }
    EXPECT_EQ(drawn, counts) << "temperature " << temperature;
  }
}

}  // namespace
}  // namespace tapegrad::tasks
