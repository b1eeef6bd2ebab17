// A process that stops, ends early, makes another call or has other settings: the others say so, and nothing hangs.
#include <tapegrad/distributed/data_parallel.h>
#include <tapegrad/distributed/world.h>
#include <tapegrad/tests/support/ranks.h>
#include <tapegrad/tests/support/runs/gpt_run.h>
#include <tapegrad/tests/support/testing.h>

#include <chrono>
#include <csignal>
#include <cstdio>

namespace tapegrad::distributed {
namespace {

using namespace tests;

constexpr const char *kVariable = "TAPEGRAD_ODD_RANK", *kTimeout = "TAPEGRAD_ODD_RANK_TIMEOUT";

struct Wide {
  nn::Linear a{6, 4000}, b{4000, 6};  // messages that MPI does not send before they are expected
  Tensor operator()(const Tensor& x) const { return b(relu(a(x))); }
};

// Six steps, in which rank 1 does what `odd` says.
void train(const World& world, const std::string& odd) {
  const bool is_odd = world.rank() == 1;
  const auto odd_if = [&](const char* what) { return is_odd && odd == what; };
  manual_seed(odd_if("seed") ? 8 : 7);
  Wide net;
  optim::AdamW adam(nn::parameters(net),
                    {.lr = 1e-2, .beta2 = odd_if("beta2") ? 0.99 : 0.999, .weight_decay = odd_if("decay") ? 10 : 0.01});
  const int64_t each = 2 * world.size();
  DataParallel parallel(world, adam,
                        {.accumulate = odd_if("accumulate") ? 2 * each : each,
                         .clip_grad_norm = odd_if("clip") ? 0 : 1.0,
                         .wire = odd_if("wire") ? kBFloat16 : kFloat32,
                         .bucket_bytes = odd_if("bucket") ? 1000 : 0,
                         .overlap = !odd_if("overlap")});
  for (int step = 0; step < 6; ++step) {
    const bool now = step == 3;
    if (now && odd_if("stop")) std::raise(SIGSTOP);
    if (now && odd_if("return")) return;
    if (now && odd_if("all_reduce")) static_cast<void>(world.all_reduce(zeros({4})));
    if (now && odd_if("barrier")) world.barrier();
    if (now && odd_if("state")) static_cast<void>(parallel.state());
    if (now && (odd_if("rate") || odd_if("rate again"))) adam.set_lr(0.5);
    if (now && odd_if("freeze")) net.a.weight.freeze();
    if (now && odd_if("skip")) continue;
    if (now && odd_if("slow")) std::this_thread::sleep_for(std::chrono::milliseconds(900));
    parallel.begin_step(now && odd_if("batches") ? each - 1 : each);
    for (int64_t i = 0; i < each; ++i) {
      if (!parallel.is_mine(i)) continue;
      Generator data(static_cast<uint64_t>(step * each + i + 1));
      Tape tape;
      const Tensor x = randn({4, 6}, kFloat32, &data);
      parallel.backward(tape, mse_loss(net(x), x));
    }
    try {
      parallel.update();
    } catch (const Error&) {
      if (odd != "rate again") throw;
    }
  }
}

// Runs in each of several processes.
TEST(OddRank, Trains) {
  const char* const odd = std::getenv(kVariable);
  if (!odd) return;
  const double timeout = std::atof(std::getenv(kTimeout));
  try {
    const World world({.timeout_s = timeout, .warning_s = timeout / 4});
    train(world, odd);
  } catch (const Error& error) {
    std::fputs(("error: " + std::string(error.what()) + "\n").c_str(), stdout);
    std::fflush(stdout);
    std::this_thread::sleep_for(std::chrono::milliseconds(1500));  // mpirun ends the others with the first
    std::_Exit(3);
  }
}

Ran run_with(const std::string& odd, double timeout = 60) {
  ::setenv(kVariable, odd.c_str(), 1);
  ::setenv(kTimeout, fmt::format("{}", timeout).c_str(), 1);
  Ran ran = run_ranks(3, {std::filesystem::read_symlink("/proc/self/exe"), "--gtest_brief=1", "--gtest_color=no",
                          "--gtest_filter=OddRank.Trains"});
  ::unsetenv(kVariable);
  return ran;
}

int64_t count_of(const std::string& part, const std::string& text) {
  int64_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(OddRanks, AreErrorsOnEveryProcess) {
  SKIP_WITHOUT_MPIRUN();
  const auto expected = [](const std::string& what, const std::string& here, const std::string& there) {
    return "expected the same " + what + " on every process, got " + here + " on rank 0, " + there + " on rank 1";
  };
  const auto settings = [&](const std::string& here, const std::string& there) {
    return "[data_parallel] " + expected("settings", here, there);
  };
  const auto call = [&](const std::string& there) { return expected("call", "a step of DataParallel", there); };
  const std::pair<std::string, std::string> cases[] = {
      {"accumulate", settings("accumulate 6", "accumulate 12")},
      {"beta2", settings("beta2 0.999", "beta2 0.99")},
      {"decay", settings("weight_decay 0.01", "weight_decay 10")},
      {"clip", settings("clip_grad_norm 1", "clip_grad_norm 0")},
      {"wire", settings("wire float32", "wire bfloat16")},
      {"bucket", settings("bucket_bytes 0", "bucket_bytes 1000")},
      {"rate", "[data_parallel] " + expected("rates in step 4", "lr 0.01", "lr 0.5")},
      {"freeze", "[data_parallel] " + expected("rates in step 4", "none", "\"a.weight\" frozen")},
      {"batches", "[data_parallel] " + expected("step", "step 4 of 6 batches", "step 4 of 5 batches")},
      {"state", call("DataParallel::state")},
      {"all_reduce", call("all_reduce")},
      {"barrier", call("barrier")},
  };
  for (const auto& [odd, error] : cases) {
    const Ran ran = run_with(odd);
    EXPECT_NE(ran.code, 0) << odd;
    EXPECT_EQ(count_of(error, ran.out), 3) << odd << "\n" << ran.out << ran.err;
  }
}

// It says so itself, before it ends, and the others do.
TEST(OddRanks, EndEarly) {
  SKIP_WITHOUT_MPIRUN();
  for (const char* odd : {"return", "skip"}) {
    const Ran ran = run_with(odd);
    EXPECT_NE(ran.code, 0) << odd;
    expect_parts(ran.out + ran.err, {"expected the same call on every process, got a step of DataParallel on rank 0, "
                                     "the end of the World on rank 1"});
  }
}

TEST(OddRanks, ThatStopAreMissed) {
  SKIP_WITHOUT_MPIRUN();
  const Ran ran = run_with("stop", 2);
  EXPECT_NE(ran.code, 0);
  expect_parts(ran.err, {"for the gradients of step 4: rank 1 of 3 is missing"});
  EXPECT_EQ(count_of("[world] rank 1 of 3 is missing: the others have waited 2 s for the gradients of step 4", ran.out),
            2)
      << ran.out << ran.err;
}

// A process that is slow, or stopped for a while with all others, is waited for; what may differ does.
TEST(OddRanks, AreWaitedFor) {
  SKIP_WITHOUT_MPIRUN();
  for (const char* odd : {"none", "seed", "overlap"}) {
    const Ran ran = run_with(odd);
    EXPECT_EQ(ran.code, 0) << odd << "\n" << ran.out << ran.err;
  }
  const Ran slow = run_with("slow", 3);
  EXPECT_EQ(slow.code, 0) << slow.err;
  expect_parts(slow.err, {" missing\n"});
}

// A program that goes on after an Error about rates would add gradients of two steps.
TEST(OddRanks, MustEndAfterAnError) {
  SKIP_WITHOUT_MPIRUN();
  const Ran ran = run_with("rate again");
  EXPECT_NE(ran.code, 0);
  EXPECT_EQ(count_of("an earlier step failed while its gradients were being sent", ran.out), 3) << ran.out << ran.err;
}

TEST(OddRanks, OptionsAndDataOfTheCommandMustBeEqual) {
  SKIP_WITHOUT_MPIRUN();
  const TemporaryFolder folder;
  Arguments run = joined(small_gpt_run(folder, "run", {"--accumulate", "2"}), {"--no-progress"});
  std::replace(run.begin(), run.end(), std::string(folder / "text.txt"), std::string("text.txt"));
  const auto with = [&](const std::string& odd) {
    const std::string program =
        "cd '" + folder.path().string() + "'; [ $OMPI_COMM_WORLD_RANK = 0 ] || " + odd + "; exec \"$@\"";
    return run_ranks(2, joined({"sh", "-c", program, "sh", kCommand}, run));
  };
  const Ran rate = with("set -- \"$@\" --lr 0.5");
  EXPECT_NE(rate.code, 0);
  expect_parts(rate.err, {"[train] expected the same options on every process, got --lr "});
  std::filesystem::create_directory(folder / "other");
  spill(folder / "other/text.txt", slurp(folder / "text.txt").substr(1) + "a");
  const Ran text = with("cd other");
  EXPECT_NE(text.code, 0);
  expect_parts(text.err, {"[train] expected the same data on every process, got "});
  const Ran same = with("set -- \"$@\" --seed 9 --threads 2");
  EXPECT_EQ(same.code, 0) << same.err;
}

}  // namespace
}  // namespace tapegrad::distributed
