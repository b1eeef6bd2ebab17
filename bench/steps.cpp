// Training steps, in a process that takes turns with the peers' (bench/run.sh; the peer is bench/peers/steps.py). The
// argument is a row of rows.py as JSON:
//   bench_steps '{"model": "copy", "seed": 0, "threads": 2}'
//   bench_steps '{"model": "gpt", "seed": 0, "threads": 2, "n_layers": 4, ..., "batch": 12, "tokens": 64}'
// Each line of standard input is a number of steps, which are done and answered with one line of JSON: the time of each
// in milliseconds, their losses, and the most memory that the process has held so far.
#include <sys/resource.h>
#include <tapegrad/autograd/io/safetensors.h>
#include <tapegrad/tapegrad.h>
#include <tapegrad/tasks/run/train.h>
#include <tapegrad/tasks/seq2seq/addition/addition.h>
#include <tapegrad/tasks/seq2seq/recipe.h>
#include <tapegrad/tasks/seq2seq/task.h>
#include <tapegrad/version.h>

#include <chrono>
#include <cstdio>
#include <exception>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace tapegrad {
namespace {

using nlohmann::json;

class Work {
 public:
  virtual ~Work() = default;
  virtual double step() = 0;  // the loss of the step's batch, before its update
  virtual NamedTensors state() const = 0;
  // Operations of the matrix products of a step; 0 if they are not counted.
  virtual double operations() const { return 0; }
};

// The tutorial's run.
class SequenceWork final : public Work {
 public:
  explicit SequenceWork(const json& row) : recipe_(options(row)), training_(opened(recipe_)) {}
  double step() override { return training_.loop().step().loss; }
  NamedTensors state() const override { return nn::state_dict(recipe_.transformer()); }

 private:
  static tasks::RunOptions options(const json& row) {
    tasks::RunOptions options = tasks::task_named(row.at("model").get<std::string>()).defaults();
    if (options.info->name == tasks::AdditionTask::kName) {
      options.of<tasks::AdditionTask>().tutorial_masks = true;
      tasks::AdditionTask::adapt(options, {"tutorial-masks"});
    }
    options.seed = row.at("seed");
    options.num_epochs = 1'000'000;  // until the input ends
    tasks::resolve(options);
    return options;
  }

  static tasks::Recipe& opened(tasks::Recipe& recipe) {
    recipe.open(nullptr);
    return recipe;
  }

  tasks::Seq2SeqRecipe recipe_;
  tasks::Training training_;
};

// A GPT on batches that are drawn beforehand, by a generator that is easy to write in any language.
class GPTWork final : public Work {
 public:
  explicit GPTWork(const json& row)
      : model_(seeded_config(row)),
        dtype_(row.value("dtype", "float32") == "bfloat16" ? kBFloat16 : kFloat32),
        adam_(nn::parameters(model_), {.lr = row.at("lr"), .weight_decay = row.at("weight_decay").get<double>()}) {
    const int64_t batch = row.at("batch"), tokens = row.at("tokens"), vocabulary = model_.config.vocab_size;
    uint64_t state = 1;
    for (int i = 0; i < kBatches; ++i) {
      std::vector<int64_t> ids(batch * (tokens + 1));
      for (int64_t& id : ids) {
        state = state * 6364136223846793005U + 1442695040888963407U;
        id = static_cast<int64_t>((state >> 33) % static_cast<uint64_t>(vocabulary));
      }
      const Tensor all = tensor(ids, {batch, tokens + 1});
      inputs_.push_back(all.slice(1, 0, tokens).contiguous());
      targets_.push_back(all.slice(1, 1, tokens + 1).contiguous());
    }
  }

  double step() override {
    const int at = next_++ % kBatches;
    Tape tape;
    Tensor loss;
    {
      const Autocast autocast(dtype_);
      loss = cross_entropy(model_(inputs_[at]), targets_[at]);
    }
    adam_.step(tape, loss);  // as the training loop does
    return loss.item();
  }

  NamedTensors state() const override { return nn::state_dict(model_); }

  // Six per weight of a product and token; attention's scores and sums are counted without the mask.
  double operations() const override {
    const nn::GPTConfig& c = model_.config;
    const double width = static_cast<double>(c.emb_dim), layers = static_cast<double>(c.n_layers);
    const double length = static_cast<double>(inputs_[0].size(1)), tokens = static_cast<double>(inputs_[0].numel());
    const double weights = 12 * layers * width * width + width * static_cast<double>(c.vocab_size);
    return tokens * (6 * weights + 12 * layers * width * length);
  }

 private:
  static constexpr int kBatches = 4;

  static nn::GPTConfig seeded_config(const json& row) {
    manual_seed(row.at("seed").get<uint64_t>());
    return {.vocab_size = row.at("vocab_size"),
            .context_length = row.at("context_length"),
            .emb_dim = row.at("emb_dim"),
            .n_heads = row.at("n_heads"),
            .n_layers = row.at("n_layers"),
            .drop_rate = row.at("drop_rate"),
            .qkv_bias = row.at("qkv_bias"),
            .tied_head = row.at("tied_head")};
  }

  nn::GPTModel model_;
  const DType dtype_;  // of products
  optim::AdamW adam_;
  std::vector<Tensor> inputs_, targets_;
  int next_ = 0;
};

double peak_mib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

void answer(const json& line) { std::cout << line.dump() << std::endl; }

int run(const json& row) {
  set_num_threads(row.at("threads"));
  const double before = peak_mib();
  std::unique_ptr<Work> work;
  if (row.at("model") == "gpt") {
    work = std::make_unique<GPTWork>(row);
  } else {
    work = std::make_unique<SequenceWork>(row);
  }
  if (row.contains("save")) save_safetensors(row["save"], work->state());  // for peers with other random numbers
  answer(
      {{"library", std::string("tapegrad ") + kVersion}, {"gflop", 1e-9 * work->operations()}, {"mib_before", before}});
  for (int steps = 0; std::cin >> steps;) {
    std::vector<double> times, losses;
    for (int i = 0; i < steps; ++i) {
      const auto start = std::chrono::steady_clock::now();
      losses.push_back(work->step());
      times.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
    }
    answer({{"ms", times}, {"losses", losses}, {"peak_mib", peak_mib()}});
  }
  return 0;
}

}  // namespace
}  // namespace tapegrad

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: bench_steps ROW, a row of bench/rows.py as JSON\n");
    return 2;
  }
  try {
    return tapegrad::run(nlohmann::json::parse(argv[1]));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
