// `explain step`: the page has the model's own numbers of a training step, and its script computes them again.
#include <tapegrad/tasks/run/model_file.h>
#include <tapegrad/tasks/seq2seq/recipe.h>
#include <tapegrad/tasks/seq2seq/task.h>
#include <tapegrad/tests/support/runs/gpt_run.h>
#include <tapegrad/tests/support/testing.h>
#include <tapegrad/tests/tasks/show/own_models.h>
#include <tapegrad/tutorials/step/step.h>

#include <type_traits>

namespace tapegrad::tasks::step {
namespace {

using json = Json;
using namespace tests;

Request request_of(const std::string& model, const std::string& task) {
  Request request;
  request.model = model;
  if (task == kGPTTask) request.text = "The cat sat on";
  return request;
}

// The part of an array of the JSON that belongs to a node.
std::vector<float> part_of(const std::vector<float>& all, const json& node) {
  std::size_t count = 1;
  for (const json& size : node["shape"]) count *= size.get<std::size_t>();
  const auto at = node["at"].get<std::ptrdiff_t>();
  return {all.begin() + at, all.begin() + at + static_cast<std::ptrdiff_t>(count)};
}

// The gradients of a model's own step in float32 equal those of the traced step.
void expect_gradients(const json& page, const NamedTensors& parameters, const Gradients& own) {
  const std::vector<float> gradients = from_base64(page["gradients"].get<std::string>());
  const std::vector<float> values = from_base64(page["values"].get<std::string>());
  std::size_t found = 0;
  for (const json& node : page["nodes"]) {
    if (node["op"] != "parameter") continue;
    for (const NamedTensor& p : parameters) {
      if (node["name"] != p.name) continue;
      ++found;
      SCOPED_TRACE(p.name);
      expect_within(tensor(part_of(values, node), p.tensor.shape()), p.tensor, 2e-5);
      expect_within(tensor(part_of(gradients, node), p.tensor.shape()), own[p.tensor], 2e-5);
    }
  }
  EXPECT_EQ(found, parameters.size());
}

void expect_own_numbers(const std::string& task, const Arguments& more = {}) {
  SCOPED_TRACE(task);
  const TemporaryFolder folder;
  const Request request = request_of(trained(folder, task, more), task);
  const Step step = read_step(request);
  const json page = json::parse(step_json(step).dump());
  EXPECT_NEAR(page["loss"].get<double>(), step.own_loss, 1e-5 * (1 + step.own_loss));
  EXPECT_LT(page["loss_after"].get<double>(), page["loss"].get<double>());

  Seq2SeqRecipe recipe(task_named(task));
  load_model(recipe, request.model + "/model.safetensors");
  Generator generator(request.seed);
  const Batch example = recipe.task().draw(1, generator);
  const nn::Transformer& model = recipe.transformer();
  const NamedTensors parameters = nn::parameters(recipe.transformer());
  Tape tape;
  const Tensor outputs = model(example.source, shifted(recipe.task(), example.target),
                               recipe.task().source_mask(example.source), nn::causal_mask(example.target.size(1)));
  expect_gradients(page, parameters, tape.backward(recipe.task().loss(outputs, example.target)));
}

TEST(ExplainStep, NumbersAreTheModelsOwn) {
  expect_own_numbers("copy");
  expect_own_numbers("copy", {"--norm", "post", "--activation", "gelu", "--positions", "sinusoidal"});
  expect_own_numbers("addition", {"--activation", "silu", "--positions", "none"});
  expect_own_numbers("parser", {"--depth", "2"});
}

TEST(ExplainStep, NumbersAreAGptsOwn) {
  const TemporaryFolder folder;
  for (const Arguments& more : {Arguments{}, Arguments{"--tied-head", "--qkv-bias", "--positions", "index"}}) {
    const Request request = request_of(trained(folder, "gpt", more), "gpt");
    const Step step = read_step(request);
    const json page = json::parse(step_json(step).dump());
    EXPECT_NEAR(page["loss"].get<double>(), step.own_loss, 1e-5);
    TrainedGPT own = load_gpt(request.model);
    const std::vector<int64_t> ids = own.tokenizer->encode(*request.text);
    const auto count = static_cast<int64_t>(ids.size());
    const Tensor tokens = tensor(ids, {count});
    const NamedTensors parameters = nn::parameters(own.model);
    Tape tape;
    const Tensor logits = (*own.model)(tokens.slice(0, 0, count - 1).unsqueeze(0)).select(0, 0);
    expect_gradients(page, parameters, tape.backward(cross_entropy(logits, tokens.slice(0, 1, kAll))));
  }
}

// A new activation is a row of a table in nn, and needs one in step.js.
TEST(ExplainStep, ThePageHasTheOperationsOfEveryActivation) {
  nn::Linear layer(2, 2);
  for (const std::string_view name : nn::activation_names()) {
    const nn::Watched seen = nn::watch(layer, [&] {
      return nn::activate(nn::activation_named(name), layer(ones({1, 2})));
    });
    EXPECT_NO_THROW(require_on_page(seen.operations.back().name)) << name;
  }
  EXPECT_EQ(page_operations().front(), "embedding");
  EXPECT_EQ(page_operations().back(), "sigmoid");
  expect_parts(error_of([] { require_on_page("hardshrink"); }), {"softmax, log_softmax, ", "got hardshrink"});
}

// What the script finds on a page; its numbers equal those of the library.
json replayed(const std::string& page, double tolerance = 1e-6, const std::string& most = "100000") {
  const std::string sources = kSourceDir;
  const Ran ran =
      run_program({"node", sources + "/tests/tasks/step/replay.js", sources + "/tutorials/widgets", page, most});
  EXPECT_EQ(ran.code, 0) << ran.err;
  const json found = ran.code == 0 ? json::parse(ran.out) : json::object();
  EXPECT_LT(found.value("values", 1.), tolerance);
  EXPECT_LT(found.value("gradients", 1.), 1e-3);
  EXPECT_GT(found.value("checked", 0), 50);
  if (!found.contains("edited") || found["edited"].size() != 3) return found;  // a page without tokens
  EXPECT_NE(found["edited"][0], found["edited"][1]);
  EXPECT_NEAR(found["edited"][1].get<double>(), found["loss"].get<double>(), 1e-12);
  EXPECT_NE(found["edited"][2], found["edited"][1]);
  return found;
}

// The script replays forward, finite differences, the update and edits. It needs a JavaScript engine, which is no part
// of what tapegrad is built with: skipped without one. The numbers that the page starts from are compared by the tests
// above.
TEST(ExplainStep, ThePageComputesTheSame) {
  if (!has_program("node")) GTEST_SKIP() << "there is no node (Debian: nodejs)";
  const TemporaryFolder folder;
  std::vector<std::pair<std::string, Arguments>> runs{{"addition", {}},
                                                      {"parser", {}},
                                                      {"gpt", {}},
                                                      {"copy", {"--positions", "rope"}},
                                                      {"copy", {"--positions", "t5"}}};
  for (const std::string_view name : nn::activation_names())
    runs.push_back({"copy", {"--activation", std::string(name)}});
  runs.back().second = joined(runs.back().second, {"--activation-parameter", "0.5"});
  for (const auto& [task, more] : runs) {
    SCOPED_TRACE(task + (more.empty() ? "" : " " + more[1]));
    const std::string run = trained(folder, task, more);
    Arguments words{"explain", "step", "--model", run, "--lang", "ko"};
    if (task == kGPTTask) words = joined(words, {"--text", "The cat sat on"});
    const Ran ran = run_command(words);
    ASSERT_EQ(ran.code, 0) << ran.err;
    EXPECT_NE(ran.out.find("=== 학습 한 단계: " + task), std::string::npos) << ran.out;
    const json found = replayed(run + "/step.html");
    ASSERT_TRUE(found.contains("edited") && found["edited"].size() == 3);
    const json page = json::parse(step_json(read_step(request_of(run, task))).dump());
    EXPECT_NEAR(found["loss"].get<double>(), page["loss"].get<double>(), 1e-6);
    EXPECT_NEAR(found["after"].get<double>(), page["loss_after"].get<double>(), 1e-6);
  }
}

// The steps of models of a program's own, in float32 or float64: a page of any nn::watch. Skipped without a JavaScript
// engine, as the test above.
TEST(ExplainStep, OwnModels) {
  if (!has_program("node")) GTEST_SKIP() << "there is no node (Debian: nodejs)";
  manual_seed(1);
  const TemporaryFolder folder;
  const Tensor ids = tensor({{1, 2, 3, 4, 5}}), target = tensor({{2, 3, 4, 5, 6}});
  const auto expect_explained = [&](auto model, const auto& loss_of, bool reads_ids = true) {
    if constexpr (!std::is_same_v<decltype(model), own_models::MoEGPT>)
      nn::to(model, kFloat64);  // its sums are float32
    Step step = watched_step(nn::AnyModel(model), [&] { return loss_of(model); });
    if (reads_ids) step.given.push_back({"tokens", "read", ids});
    EXPECT_LT(step.loss_after, step.pass.result.item());
    spill(folder / "step.html", step_page(step_json(step), Language::en));
    EXPECT_NEAR(replayed(folder / "step.html", 1e-4, "60").value("after", 0.), step.loss_after, 1e-4);
  };
  const Tensor mel = randn({1, 40, 100}).to(kFloat64), image = randn({1, 3, 16, 16}).to(kFloat64);
  const Tensor no_padding = zeros({1, 16, 16}, kBool);
  expect_explained(own_models::Whisper(), [&](auto& model) { return cross_entropy(model(mel, ids), target); });
  expect_explained(
      own_models::DETR{6, 5},
      [&](auto& model) {
        const auto [classes, boxes] = model(image, no_padding);
        return cross_entropy(classes, target) + mean(square(boxes - 0.5));
      },
      false);
  expect_explained(own_models::MoEGPT{100, 32, 16, 2, 4, 24, 4, 2}, [&](auto& model) { return model(ids, target); });
  nn::LlamaConfig llama{.vocab_size = 40,
                        .hidden_size = 16,
                        .intermediate_size = 24,
                        .num_hidden_layers = 2,
                        .num_attention_heads = 4,
                        .num_key_value_heads = 2};
  expect_explained(nn::LlamaModel(llama), [&](auto& model) { return cross_entropy(model(ids), target); });
  for (const nn::Positions positions : {nn::Positions::alibi, nn::Positions::shaw}) {
    const nn::GPTConfig gpt{
        .vocab_size = 40, .context_length = 8, .emb_dim = 16, .n_heads = 2, .n_layers = 1, .positions = positions};
    expect_explained(nn::GPTModel(gpt), [&](auto& model) { return cross_entropy(model(ids), target); });
  }
  nn::Linear layer(2, 2);
  const Step step = watched_step(nn::AnyModel(layer), [&] { return sum(digamma(layer(ones({1, 2})))); });
  EXPECT_NE(error_of([&] { step_page(step_json(step), Language::en); }).find("got digamma"), std::string::npos);
}

TEST(ExplainStep, Base64) {
  const std::vector<float> values{0, -1.5F, 3e38F, std::numeric_limits<float>::infinity(), 1e-40F};
  for (std::size_t n = 0; n <= values.size(); ++n) {
    const std::vector<float> some(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(n));
    EXPECT_EQ(from_base64(to_base64(some)), some);
  }
  EXPECT_EQ(to_base64({1}), "AACAPw==");
  EXPECT_EQ(error_of([] { from_base64("AA*="); }), "[base64] expected letters, digits, + and /, got '*'");
  EXPECT_EQ(error_of([] { from_base64("AACA"); }), "[base64] expected whole numbers of 4 bytes, got 3 bytes");
}

TEST(ExplainStep, Errors) {
  const TemporaryFolder folder;
  for (const char* task : {"copy", "gpt"}) trained(folder, task);
  train_tiny(folder, "copy", "reformer", {"--attention", "reformer", "--max-steps", "1"});
  expect_errors("tasks/errors/runs.txt", "explain step", folder);
}

}  // namespace
}  // namespace tapegrad::tasks::step
