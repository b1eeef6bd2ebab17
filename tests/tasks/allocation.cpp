// Memory of the training loop: a steady step requests none from the system, and 10,000 steps use no more than 100.
// ctest: unsanitized
#include <malloc.h>
#include <tapegrad/tests/support/in_training.h>
#include <tapegrad/tests/support/runs/tiny_run.h>
#include <tapegrad/tests/support/testing.h>

namespace tapegrad::tasks {
namespace {

using tests::tiny_options;
using tests::Trainer;

TEST(Memory, ASteadyStepAllocatesNothing) {
  Trainer trainer(tiny_options("copy"));
  for (int i = 0; i < 20; ++i) trainer.step();
  const auto calls = pool::stats().system_calls;
  const auto heap_of = [] {
    const auto info = mallinfo2();
    return info.arena + info.hblkhd;
  };
  // On a busy machine a thread may get its first task late, and the task scheduler then allocates for it, once.
  bool steady = false;
  for (int round = 0; round < 5 && !steady; ++round) {
    const auto heap = heap_of();
    for (int i = 0; i < 200; ++i) trainer.step();
    steady = heap_of() == heap;
  }
  EXPECT_TRUE(steady);
  EXPECT_EQ(pool::stats().system_calls, calls);
}

TEST(Memory, DoesNotGrowOver10000Steps) {
  RunOptions options = tiny_options("copy");
  options.steps_per_epoch = 10000;
  Trainer trainer(options);
  for (int i = 0; i < 100; ++i) trainer.step();
  const auto reserved = pool::stats().reserved;
  const auto heap = mallinfo2();
  for (int i = 0; i < 10000; ++i) trainer.step();
  EXPECT_EQ(pool::stats().reserved, reserved);
  const auto after = mallinfo2();
  EXPECT_LE(after.uordblks, heap.uordblks + 65536);
}

}  // namespace
}  // namespace tapegrad::tasks
