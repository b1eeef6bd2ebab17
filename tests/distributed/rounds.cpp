// In which rounds gradients are summed: the bits of one process for many numbers of processes, and bytes and messages.
#include <tapegrad/distributed/data_parallel.h>
#include <tapegrad/distributed/detail/rounds.h>
#include <tapegrad/distributed/world.h>
#include <tapegrad/tests/support/contents.h>
#include <tapegrad/tests/support/mail.h>
#include <tapegrad/tests/support/testing.h>

#include <bit>
#include <set>

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
      const auto [errors, sent] = run_together(size, {.timeout_s = 60, .warning_s = 0}, [&](Group& group) {
        bytes += train(World(group), *nets[static_cast<std::size_t>(group.rank())], size * each);
      });
      expect_no_errors(errors);
      for (int r = 0; r < size; ++r)
        expect_same(nn::state_dict(*nets[static_cast<std::size_t>(r)]), nn::state_dict(*nets.back()));
      if (!std::has_single_bit(static_cast<unsigned>(size))) continue;
      const double ring = 3 * 8.0 * (size - 1) * static_cast<double>(nn::count_parameters(first));
      EXPECT_NEAR(static_cast<double>(bytes), ring, 0.01 * ring) << size;
    }
}

}  // namespace
}  // namespace tapegrad::distributed
