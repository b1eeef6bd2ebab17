// How the messages and bytes of a process grow with the number of processes: one of many, whose others say the same as
// it does, at once.
#include <tapegrad/distributed/data_parallel.h>
#include <tapegrad/distributed/detail/group.h>
#include <tapegrad/distributed/world.h>
#include <tapegrad/tests/support/testing.h>
#include <tapegrad/train/loop.h>

#include <bit>
#include <cstdlib>
#include <cstring>

namespace tapegrad::distributed {
namespace {

struct Counts {
  int64_t messages = 0, bytes = 0;  // that leave; as many arrive
};

// What arrives is what this process has sent in the same exchange, if that has its size; zeros otherwise.
class EchoExchange : public detail::Exchange {
 public:
  explicit EchoExchange(Counts& counts) : counts_(counts) {}
  void send(const void* data, int64_t bytes, int, int) override {
    sent_.emplace_back(data, bytes);
    ++counts_.messages;
    counts_.bytes += bytes;
  }
  void receive(void* data, int64_t bytes, int, int) override { expected_.emplace_back(data, bytes); }
  bool done() override {
    for (const auto& [to, size] : expected_) {
      const auto from = std::ranges::find_if(sent_, [n = size](const auto& one) { return one.second == n; });
      if (size == 0) continue;
      if (from == sent_.end()) {
        std::memset(to, 0, static_cast<std::size_t>(size));
      } else {
        std::memcpy(to, from->first, static_cast<std::size_t>(size));
      }
    }
    expected_.clear();
    return true;
  }
  int64_t moved() const override { return 0; }
  const std::string& failure() const override { return none_; }

 private:
  Counts& counts_;
  std::vector<std::pair<const void*, int64_t>> sent_;
  std::vector<std::pair<void*, int64_t>> expected_;
  std::string none_;
};

class EchoTransport : public detail::Transport {
 public:
  EchoTransport(int rank, int size) : rank_(rank), size_(size) {}
  int rank() const override { return rank_; }
  int size() const override { return size_; }
  std::unique_ptr<detail::Exchange> exchange() override { return std::make_unique<EchoExchange>(counts); }
  void stop() override {}
  void finish() override {}
  void abort() override { std::abort(); }
  Counts counts;

 private:
  const int rank_, size_;
};

struct GrowthNet {
  nn::Linear a{512, 2048}, b{2048, 512}, c{512, 512};
  Tensor operator()(const Tensor& x) const { return c(relu(b(relu(a(x))))); }
};

// Of the second of two steps of rank 0, with two batches per process.
Counts of_a_step(int size) {
  EchoTransport transport(0, size);
  detail::Group group(transport);
  const World world(group);
  manual_seed(1);
  GrowthNet net;
  optim::AdamW adam(nn::parameters(net), {});
  train::StepCount batches(4 * size);
  train::Loop loop(net, adam, batches,
                   [&](int64_t) {
                     return train::BatchLoss{.loss = mean(net(ones({1, 512})))};
                   },
                   {.accumulate = 2 * size, .clip_grad_norm = 1, .world = &world});
  loop.step();
  transport.counts = {};
  loop.step();
  return transport.counts;
}

TEST(Growth, OfMessagesIsLogarithmic) {
  const int64_t parameters = nn::count_parameters(GrowthNet());
  for (const int size : {2, 8, 64, 256, 1024, 4096}) {
    const Counts counts = of_a_step(size);
    const int64_t rounds = std::bit_width(static_cast<unsigned>(size)) - 1;
    EXPECT_LE(counts.messages, 17 * rounds) << size;
    EXPECT_LE(counts.bytes, 8 * parameters + 100'000 + 60 * 2 * size) << size;
  }
}

}  // namespace
}  // namespace tapegrad::distributed
