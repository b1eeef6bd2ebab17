// The verb `test`: one example as the tutorial shows it, then fresh examples by the thousand against a target.
#include <fmt/format.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/nn/generate.h>
#include <tapegrad/nn/loss.h>
#include <tapegrad/nn/mask.h>
#include <tapegrad/tasks/sample.h>
#include <tapegrad/tasks/trainer.h>
#include <tapegrad/tasks/verbs.h>

#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace tapegrad::tasks {
namespace {

struct Score {
  std::int64_t examples = 0, tokens = 0;
  std::int64_t right = 0, right_tokens = 0;  // decoded greedily
  std::int64_t forced_right = 0;             // each token predicted from the right ones before it

  static double share(std::int64_t part, std::int64_t whole) {
    return static_cast<double>(part) / static_cast<double>(std::max<std::int64_t>(whole, 1));
  }
  double exact() const { return share(right, examples); }
  double token() const { return share(right_tokens, tokens); }
  double forced() const { return share(forced_right, examples); }
};

void add_batch(Score& score, const Task& task, const nn::Transformer& model, const Batch& batch) {
  const Tensor mask = task.source_mask(batch.source);
  const std::int64_t length = batch.target.size(1), count = batch.target.size(0);
  const Tensor output = nn::greedy_decode(model, batch.source, mask, length, task.start_token());  // [B, T]
  const Tensor same = output == batch.target;
  score.right_tokens += sum(same).item<std::int64_t>();
  score.right += sum(all(same, 1)).item<std::int64_t>();
  const Tensor forced = model(batch.source, shifted(task, batch.target), mask, nn::causal_mask(length));
  score.forced_right += std::llround(nn::exact_match(forced, batch.target) * static_cast<double>(count));
  score.examples += count;
  score.tokens += output.numel();
}

}  // namespace

int test(const TestRequest& request) {
  const std::string where = fmt::format("test {}", request.task);
  if (request.count < 1 || request.count > 10'000'000)
    refuse("--count", fmt::format("{} is out of range: from 1 to 10000000 is possible", request.count));
  if (!(request.target >= 0 && request.target <= 1))
    refuse("--target", fmt::format("{} is out of range: from 0 to 1 is possible", request.target));
  const fs::path file = model_file(where, request.task, request.model);
  TrainedModel trained = load_model(file, request.task);
  RunOptions options = trained.options;
  if (request.seq_length) set_length(options, *request.seq_length);
  const std::uint64_t seed = request.seed.value_or(options.seed + 1);
  const std::unique_ptr<Task> task = make_task(options);
  nn::eval(trained.model);

  Generator fresh(seed);
  const Answer shown = answers(*task, trained.model, 1, fresh).front();
  Score score;
  constexpr std::int64_t kTogether = 250;
  for (std::int64_t done = 0; done < request.count; done += kTogether)
    add_batch(score, *task, trained.model, task->draw(std::min(kTogether, request.count - done), fresh));
  const bool passed = score.exact() >= request.target;

  if (request.json) {
    const nlohmann::ordered_json json{{"task", request.task},
                                      {"model", file.string()},
                                      {"seed", seed},
                                      {"count", score.examples},
                                      {"exact_match", score.exact()},
                                      {"token_accuracy", score.token()},
                                      {"teacher_forced_exact_match", score.forced()},
                                      {"target", request.target},
                                      {"passed", passed}};
    fmt::print("{}\n", json.dump());
  } else {
    fmt::print("=== Test: {} ===\nModel: {}\nInput: {}\nOutput: {}\nAccuracy: {}\n\n", request.task, file.string(),
               show_tokens(*task, shown.input), show_tokens(*task, shown.output), shown.right() ? "True" : "False");
    fmt::print("{} fresh sequences (seed {}), decoded greedily:\n", score.examples, seed);
    fmt::print("  exact match     {:.4f} ({} of {}), the target is {}\n", score.exact(), score.right, score.examples,
               request.target);
    fmt::print("  tokens right    {:.5f}\n  teacher-forced  {:.4f} exact\n", score.token(), score.forced());
  }
  if (!passed) {
    std::fflush(stdout);
    fail(where, fmt::format("exact match {} is below the target {}", score.exact(), request.target));
  }
  return 0;
}

}  // namespace tapegrad::tasks
