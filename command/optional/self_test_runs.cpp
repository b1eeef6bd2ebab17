// The self-test: every operation, 20 steps of each kind of run, and what a GPT generates.
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/random.h>
#include <tapegrad/command/optional/optional.h>
#include <tapegrad/nn/generate.h>
#include <tapegrad/nn/weight.h>
#include <tapegrad/tasks/gpt/recipe.h>
#include <tapegrad/tasks/run/command.h>
#include <tapegrad/tasks/run/train.h>

#include <algorithm>

namespace tapegrad::tasks {
namespace {

constexpr const char* kSelfTest = "self-test";
constexpr int64_t kSteps = 20;

// Settings that are not here have the values of the task; data are those that a run without files makes.
constexpr const char* kCopy = R"({"task":"copy","max_steps":20})";
constexpr const char* kAddition = R"({"task":"addition","max_steps":20})";
constexpr const char* kParser = R"({"task":"parser","max_steps":20,"batch_size":16})";
constexpr const char* kClassify = R"({"task":"classify","max_steps":20,"eval_interval":100,"start_context":""})";
constexpr const char* kGPT = R"({"task":"gpt","max_steps":20,"preset":"tiny","emb_dim":64,"n_heads":4,"n_layers":2,
  "context_length":64,"batch_size":8,"drop_rate":0.1,"eval_interval":100,"start_context":""})";
constexpr const char* kGPTInBFloat16 = R"({"task":"gpt","max_steps":20,"preset":"tiny","emb_dim":64,"n_heads":4,
  "n_layers":2,"context_length":64,"batch_size":8,"drop_rate":0.1,"eval_interval":100,"start_context":"","dtype":"bfloat16"})";
constexpr const char* kGPTWithLora = R"({"task":"gpt","max_steps":20,"preset":"tiny","emb_dim":64,"n_heads":4,
  "n_layers":2,"context_length":64,"batch_size":8,"drop_rate":0.1,"eval_interval":100,"start_context":"","lora_rank":4,
  "lora_targets":["c_attn","c_fc"],"lora_dropout":0.1})";
constexpr const char* kLlama =
    R"({"task":"gpt","max_steps":20,"preset":"tiny","seq_length":64,"batch_size":8,"eval_interval":100,"start_context":"",)"
    R"("llama":"{\"model_type\":\"llama\",\"vocab_size\":64,\"hidden_size\":64,\"intermediate_size\":160,)"
    R"(\"num_hidden_layers\":2,\"num_attention_heads\":4,\"num_key_value_heads\":2,\"max_position_embeddings\":128,)"
    R"(\"rms_norm_eps\":1e-5,\"rope_theta\":10000}"})";

Tensor of(const std::vector<double>& values) { return tensor(values, {static_cast<int64_t>(values.size())}); }

// A recipe with these settings, and its model in training.
class TrainedRun {
 public:
  TrainedRun(std::unique_ptr<Recipe> recipe, const char* settings) : recipe_(std::move(recipe)) {
    recipe_->read_json(kSelfTest, settings);
    recipe_->resolve();
    recipe_->open(nullptr);
    training_.emplace(*recipe_);
  }
  // The losses, and the model after the last step.
  NamedTensors train() {
    std::vector<double> losses;
    for (int64_t step = 0; step < kSteps; ++step) losses.push_back(training_->loop().step().loss);
    NamedTensors out = nn::state_dict(recipe_->model());
    out.push_back({"losses", of(losses)});
    return out;
  }

 private:
  std::unique_ptr<Recipe> recipe_;
  std::optional<Training> training_;
};

Computation training(std::string name, std::string_view kind, const char* settings) {
  const MakeRecipe& make = std::ranges::find(kinds(), kind, &Kind::name)->make;
  return {std::move(name), [make, settings] { return TrainedRun(make(), settings).train(); }};
}

// 64 tokens of two prompts, drawn, and their log-probabilities.
NamedTensors generated(const char* weights) {
  auto recipe = std::make_unique<GPTRecipe>();
  GPTRecipe& gpt = *recipe;
  TrainedRun run(std::move(recipe), kGPT);
  run.train();
  nn::AnyModel model = gpt.model();
  nn::eval(model);
  nn::detail::store(model, weight_format(weights));
  Generator draws(3);
  nn::DecoderNext next(*gpt.decoder());
  const nn::Generated found = nn::generate(next, tensor(std::vector<int64_t>{5, 3, 8, 1, 9, 2}, {2, 3}),
                                           {.max_new_tokens = 50, .temperature = 1, .top_p = 0.9, .generator = &draws});
  return {{"tokens", found.tokens}, {"scores", of(found.scores)}};
}

Computation generation(std::string name, const char* weights) {
  return {std::move(name), [weights] { return generated(weights); }};
}

}  // namespace

std::vector<Computation> run_computations() {
  return {training("train copy", "copy", kCopy),
          training("train addition", "addition", kAddition),
          training("train parser", "parser", kParser),
          training("train classify", "classify", kClassify),
          training("train gpt", "gpt", kGPT),
          training("train gpt in bfloat16", "gpt", kGPTInBFloat16),
          training("train gpt with LoRA", "gpt", kGPTWithLora),
          training("train llama", "gpt", kLlama),
          generation("generate in float32", "float32"),
          generation("generate in bfloat16", "bfloat16"),
          generation("generate in int8", "int8")};
}

std::vector<SelfTestResult> self_test_results(const std::function<void(const SelfTestResult&)>& done) {
  return run_self_test(run_computations(), done);
}

}  // namespace tapegrad::tasks
