// Data parallel training of a GPT: time per step, and how long a process waits for the others. docs/processes.md
// has the results.
//   mpirun -n 2 build/release/bench_processes '{"accumulate": 2, "steps": 20, "threads": 1}'
// Members of the argument and their defaults are in `Row`. The first process prints one line of JSON.
#include <tapegrad/distributed.h>
#include <tapegrad/tapegrad.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace tapegrad {
namespace {

using nlohmann::json;

struct Row {
  int64_t accumulate = 1, steps = 10, threads = 1, layers = 6, width = 384, heads = 6, tokens = 256, batch = 4;
  int64_t vocabulary = 256, bucket_bytes = 0;
  bool overlap = true, bfloat16 = false;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Row, accumulate, steps, threads, layers, width, heads, tokens, batch,
                                                vocabulary, bucket_bytes, overlap, bfloat16)

void measure(const Row& row) {
  set_num_threads(static_cast<int>(row.threads));
  const distributed::World world;
  manual_seed(0);
  nn::GPTModel model(nn::GPTConfig{.vocab_size = row.vocabulary,
                                   .context_length = row.tokens,
                                   .emb_dim = row.width,
                                   .n_heads = row.heads,
                                   .n_layers = row.layers,
                                   .drop_rate = 0});
  optim::AdamW adam(nn::parameters(model), {.lr = 1e-4});
  distributed::DataParallel parallel(world, adam,
                                     {.accumulate = row.accumulate,
                                      .clip_grad_norm = 1,
                                      .wire = row.bfloat16 ? kBFloat16 : kFloat32,
                                      .bucket_bytes = row.bucket_bytes,
                                      .overlap = row.overlap});
  const auto step = [&] {
    return parallel.step([&](int64_t i) {
      Generator data(static_cast<uint64_t>(i));
      const Tensor ids = randint(0, row.vocabulary, {row.batch, row.tokens + 1}, &data);
      return cross_entropy(model(ids.slice(1, 0, row.tokens)), ids.slice(1, 1, row.tokens + 1));
    });
  };
  for (int i = 0; i < 2; ++i) step();
  const distributed::CommunicationTimes before = parallel.times();
  std::vector<double> times;
  double loss = 0;
  for (int64_t i = 0; i < row.steps; ++i) {
    world.barrier();
    const auto start = std::chrono::steady_clock::now();
    loss = step();
    times.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  const distributed::CommunicationTimes after = parallel.times();
  std::sort(times.begin(), times.end());
  const double median = times[times.size() / 2], steps = static_cast<double>(row.steps);
  json out = row;
  out["processes"] = world.size();
  out["parameters"] = nn::count_parameters(model);
  out["step_ms"] = 1e3 * median;
  out["tokens_per_s"] = static_cast<double>(row.accumulate * row.batch * row.tokens) / median;
  out["wait_gradients_ms"] = 1e3 * (after.gradients_s - before.gradients_s) / steps;
  out["wait_parameters_ms"] = 1e3 * (after.parameters_s - before.parameters_s) / steps;
  out["sent_mb"] = 1e-6 * static_cast<double>(after.bytes_sent - before.bytes_sent) / steps;
  out["loss"] = loss;
  if (world.rank() == 0) std::puts(out.dump().c_str());
}

}  // namespace
}  // namespace tapegrad

int main(int argc, char** argv) {
  try {
    tapegrad::measure(nlohmann::json::parse(argc > 1 ? argv[1] : "{}").get<tapegrad::Row>());
    return 0;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
}
