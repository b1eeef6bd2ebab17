// In which rounds gradients are summed: the bits of one process for many numbers of processes, and bytes and messages.
// How these grow with the number of processes: one of many, whose others say the same as it does, at once.
#include <tapegrad/distributed/data_parallel.h>
#include <tapegrad/distributed/detail/rounds.h>
#include <tapegrad/distributed/world.h>
#include <tapegrad/tests/support/contents.h>
#include <tapegrad/tests/support/mail.h>
#include <tapegrad/tests/support/testing.h>
#include <tapegrad/train/loop.h>

namespace tapegrad::distributed {
namespace {

using namespace tests;

TEST(Rounds, AllProcessesMeet) {
  for (const bool one : {false, true})
    for (int64_t size = 1; size <= 64; ++size) {
      const detail::Rounds rounds(size, one);
      std::vector<std::set<int64_t>> known(static_cast<std::size_t>(size));  // whose data each has
      for (int64_t r = 0; r < size; ++r) known[static_cast<std::size_t>(r)].insert(r);
      for (std::size_t k = 0; k < rounds.count(); ++k) {
        const auto before = known;
        for (int64_t r = 0; r < size; ++r)
          for (int64_t i = 0; i < rounds.partners(k); ++i) {
            const int64_t partner = rounds.partner(k, r, i);
            EXPECT_EQ(rounds.number(k, partner), i);
            EXPECT_EQ(rounds.partner(k, partner, rounds.number(k, r)), r);
            for (const int64_t rank : before[static_cast<std::size_t>(partner)])
              EXPECT_TRUE(known[static_cast<std::size_t>(r)].insert(rank).second || partner == r);
          }
      }
      for (int64_t r = 0; r < size; ++r) {
        EXPECT_EQ(std::ssize(known[static_cast<std::size_t>(r)]), size);
        const detail::Terms own = rounds.positions(rounds.count(), r);
        EXPECT_EQ(own.size(), 1);
        EXPECT_EQ(rounds.rank_at(own.begin), r);
        EXPECT_EQ(rounds.terms(0, r, 3 * size), detail::terms_of(r, size, 3 * size));
        EXPECT_EQ(rounds.terms(rounds.count(), r, 5), (detail::Terms{0, 5}));
      }
      if (one || !std::has_single_bit(static_cast<uint64_t>(size))) continue;
      EXPECT_EQ(rounds.messages(), std::bit_width(static_cast<uint64_t>(size)) - 1);
    }
}

struct RoundsNet {
  nn::Linear in{40, 3000}, out{3000, 3}, extra{40, 3};
  Tensor operator()(const Tensor& x, bool more) const {
    const Tensor y = out(relu(in(x)));
    return more ? y + extra(x) : y;
  }
};

// Three steps, the last one with fewer batches, which have different numbers of terms. The bytes that it sent.
int64_t train(const World& world, RoundsNet& net, int64_t batches) {
  optim::AdamW adam(nn::parameters(net), {.lr = 1e-2});
  adam.allow_missing(true);
  DataParallel parallel(world, adam, {.accumulate = batches, .clip_grad_norm = 0.5, .bucket_bytes = 1 << 18});
  for (int step = 0; step < 3; ++step) {
    const int64_t now = step == 2 ? batches - batches / 3 : batches;
    parallel.begin_step(now);
    for (int64_t i = 0; i < now; ++i) {
      if (!parallel.is_mine(i)) continue;
      Generator data(static_cast<uint64_t>(step * batches + i + 1));
      Tape tape;
      const Tensor x = randn({4, 40}, kFloat32, &data);
      parallel.backward(tape, mean(square(net(x, i == 1)), {}), static_cast<double>((i + 1) % 3));
    }
    parallel.update();
  }
  return parallel.times().bytes_sent;
}

TEST(Rounds, StepsHaveTheBitsOfOneProcess) {
  const RoundsNet first;
  const auto clone = [&] {
    auto net = std::make_unique<RoundsNet>();
    nn::load_state_dict(*net, nn::state_dict(first));
    return net;
  };
  for (const int size : {1, 2, 3, 4, 5, 6, 7, 8, 12, 16})
    for (const int64_t each : {1, 3}) {
      std::vector<std::unique_ptr<RoundsNet>> nets;
      for (int r = 0; r <= size; ++r) nets.push_back(clone());
      train(World::alone(), *nets.back(), size * each);
      std::atomic<int64_t> bytes = 0;
      expect_no_errors(errors_of_worlds(size, [&](const World& world) {
        bytes += train(world, *nets[static_cast<std::size_t>(world.rank())], size * each);
      }));
      for (int r = 0; r < size; ++r)
        expect_same(nn::state_dict(*nets[static_cast<std::size_t>(r)]), nn::state_dict(*nets.back()));
      if (!std::has_single_bit(static_cast<unsigned>(size))) continue;
      const double ring = 3 * 8.0 * (size - 1) * static_cast<double>(nn::count_parameters(first));
      EXPECT_NEAR(static_cast<double>(bytes), ring, 0.01 * ring) << size;
    }
}

// --- growth ---

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

// Nothing is sent.
struct EchoTransport : MailTransport {
  using MailTransport::MailTransport;
  std::unique_ptr<detail::Exchange> exchange() override { return std::make_unique<EchoExchange>(counts); }
  Counts counts;
};

struct GrowthNet {
  nn::Linear a{512, 2048}, b{2048, 512}, c{512, 512};
  Tensor operator()(const Tensor& x) const { return c(relu(b(relu(a(x))))); }
};

// Of the second of two steps of rank 0, with two batches per process.
Counts of_a_step(int size) {
  Mail mail;
  EchoTransport transport(mail, 0, size);
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

// Each bucket has tags of its own, below those of other messages.
TEST(Rounds, TooManyBucketsAreAnError) {
  const auto error_with = [](std::size_t parameters) {
    const std::vector<std::string> errors = errors_of_worlds(2, [&](const World& world) {
      std::vector<nn::Parameter> all;
      NamedTensors named;
      for (std::size_t i = 0; i < parameters; ++i)
        named.push_back({std::to_string(i), all.emplace_back(ones({1})).tensor()});
      optim::SGD sgd(named, {});
      DataParallel parallel(world, sgd, {.accumulate = 2, .bucket_bytes = 4});
    });
    EXPECT_EQ(errors[0], errors[1]);
    return errors[0];
  };
  EXPECT_EQ(error_with(15'500), "");
  EXPECT_TEXT(error_with(15'501));
}

TEST(Rounds, AnotherOptimiserIsNamed) {
  const auto parallel = [](const World& world) {
    const nn::Parameter x(ones({1}));
    optim::SGD sgd({{"x", x.tensor()}}, {});
    optim::AdamW adam({{"x", x.tensor()}}, {});
    DataParallel parallel(world, world.rank() == 0 ? static_cast<optim::Optimizer&>(sgd) : adam, {.accumulate = 2});
  };
  EXPECT_TEXT(errors_of_worlds(2, parallel));
}

}  // namespace
}  // namespace tapegrad::distributed
