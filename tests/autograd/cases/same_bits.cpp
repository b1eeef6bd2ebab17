// Values and gradients of every operation are the same bits with 1, 2, 3 and 7 threads, of which as many run at once as
// the machine has processors, on tensors that are divided into pieces, and with every kernel family.
// ctest: threads
// build: alone
#include <tapegrad/autograd/kernels/family.h>
#include <tapegrad/checks/cases/case.h>
#include <tapegrad/tests/support/testing.h>

#include <iostream>

namespace tapegrad::tests {
namespace {

void append(std::string& bits, const Tensor& x) {
  const Tensor packed = x.detach().contiguous();
  bits.append(static_cast<const char*>(packed.raw_data()),
              static_cast<std::size_t>(packed.numel() * item_size(packed.dtype())));
}

struct Outcome {
  std::string bits;  // of the result and of every gradient
  bool recorded;     // the operation is on the tape
  int64_t nodes;     // so many are
};

Outcome run(const std::string& op, const auto& sample) {
  Tape tape;
  std::vector<Tensor> leaves;
  for (const Tensor& x : sample.inputs) leaves.push_back(is_floating(x.dtype()) ? x.as_leaf() : x);
  const Tensor y = sample.f(leaves);
  std::string bits;
  append(bits, y);
  // What backward does below.
  const std::set<std::string> inner = {"unslice",     "add_rows",   "add_windows", "unpad",
                                       "conv_weight", "recurrence", "grid_add"};
  bool recorded_it = inner.contains(op);
  for (int64_t i = 0; i < tape.size(); ++i) recorded_it |= tape.op_name(i) == op;
  const int64_t nodes = tape.size();
  Generator generator(2);
  const Tensor seed = (rand(y.shape(), kFloat32, &generator) - 0.4).to(y.dtype());
  const Gradients grads = tape.backward(y, {.grad_output = seed});
  for (const Tensor& leaf : leaves) {
    if (const Tensor* grad = grads.find(leaf)) append(bits, *grad);
  }
  return {bits, recorded_it, nodes};
}

constexpr int kThreads[] = {1, 2, 3, 7};

class Threads : public testing::Test {
 protected:
  void TearDown() override { set_num_threads(before_); }
  const int before_ = num_threads();
};

TEST_F(Threads, GiveTheSameBitsForEveryOperation) {
  std::map<std::string, int> covered;
  for (const tasks::LargeSample& sample : tasks::large_cases().larges) {
    Outcome expected;
    for (int threads : kThreads) {
      set_num_threads(threads);
      const Outcome result = run(sample.op, sample);
      EXPECT_TRUE(result.recorded) << "a sample of " << sample.op << " does not record it";
      if (threads == 1) expected = result;
      EXPECT_TRUE(result.bits == expected.bits) << sample.op << " gives other bits with " << threads
                                                << " threads, inputs " << str(sample.inputs[0].shape()) << " ...";
      EXPECT_EQ(result.nodes, expected.nodes) << sample.op << " with " << threads << " threads";
    }
    ++covered[sample.op];
  }
  for (const Op* op : Op::all())
    EXPECT_TRUE(covered.contains(std::string(op->name))) << op->name << " has no large sample";
}

// ---- Kernel families: what they compute in processes of their own, line by line ----

// Operations whose sums are divided among threads, each in its own way: all families compute them with every number of
// threads. The others take one number by turns, each family another.
const std::set<std::string> kDivided = {"sum",       "cumsum",      "linear",    "layer_norm",
                                        "embedding", "conv_weight", "lstm_layer"};

// One line per computation: the operation, the number of its sample, and a hash of values and gradients.
void print_bits(int number, const std::string& op, const auto& sample) {
  const auto family = static_cast<std::size_t>(kernel_family());
  const bool all = kDivided.contains(op);
  for (std::size_t turn = 0; turn < (all ? std::size(kThreads) : 1); ++turn) {
    set_num_threads(kThreads[all ? turn : (number + family) % std::size(kThreads)]);
    std::cout << "bits " << op << " " << number << " " << std::hash<std::string>()(run(op, sample).bits) << "\n";
  }
}

// These two are disabled, because by themselves they test nothing: KernelFamilies runs them in processes of their own.
TEST_F(Threads, DISABLED_PrintBits) {
  int number = 0;
  for (const tasks::LargeSample& sample : tasks::large_cases().larges) print_bits(++number, sample.op, sample);
  for (const tasks::OpSamples& op : tasks::op_cases().ops)
    for (const tasks::OpSample& sample : op.samples) print_bits(++number, op.op, sample);
}

// The lines of `sum` and `mean`, as if a family had another order of sums in `sum`, from the last element to the first.
TEST_F(Threads, DISABLED_PrintBitsOfAPlantedOrder) {
  int number = 0;
  for (tasks::LargeSample& sample : tasks::large_cases().larges) {
    ++number;
    if (sample.op == "sum") {
      const auto reversed = [](const Tensor& x) {
        Axes axes;
        for (int axis = 0; axis < x.dim(); ++axis) axes.push_back(axis);
        return flip(x, axes);
      };
      sample.f = [f = sample.f, reversed](std::span<const Tensor> x) {
        return reversed(f(std::vector<Tensor>{reversed(x[0])}));
      };
    }
    if (sample.op == "sum" || sample.op == "mean") print_bits(number, sample.op, sample);
  }
}

using Lines = std::vector<std::string>;

Lines printed_bits(KernelFamily family, const std::string& test) {
  const std::string self = std::filesystem::read_symlink("/proc/self/exe");
  const Ran ran = successful(run_program(
      {self, "--gtest_filter=Threads.DISABLED_" + test, "--gtest_also_run_disabled_tests", "--gtest_brief=1"},
      {.environment = {"TAPEGRAD_KERNELS=" + std::string(name(family))}}));
  Lines lines;
  std::istringstream out(ran.out);
  for (std::string line; std::getline(out, line);) {
    if (line.starts_with("bits ")) lines.push_back(line);
  }
  return lines;
}

const Lines& bits_of_the_widest() {
  static const Lines lines = printed_bits(available_kernel_families().back(), "PrintBits");
  return lines;
}

// Those of `got` that differ from `expected`, without their hashes. Both must have as many.
Lines differing(const Lines& got, const Lines& expected) {
  EXPECT_EQ(got.size(), expected.size());
  Lines found;
  for (std::size_t i = 0; i < std::min(got.size(), expected.size()); ++i) {
    if (got[i] != expected[i]) found.push_back(got[i].substr(5, got[i].rfind(' ') - 5));
  }
  return found;
}

class KernelFamilies : public testing::Test {
 protected:
  void SetUp() override {  // the runs under other TAPEGRAD_PRODUCTS would take 40 seconds each, and compare threads
    if (std::getenv("TAPEGRAD_PRODUCTS") != nullptr) GTEST_SKIP() << "families are compared without TAPEGRAD_PRODUCTS";
  }
};

TEST_F(KernelFamilies, GiveTheSameBitsForEveryOperation) {
  EXPECT_GT(bits_of_the_widest().size(), Op::all().size());
  std::vector<KernelFamily> others = available_kernel_families();
  others.pop_back();
  // A build for one instruction set has nothing to compare; CI builds all.
  if (others.empty()) GTEST_SKIP() << "there is one kernel family; -D TAPEGRAD_TARGETS=all builds all";
  for (const KernelFamily family : others)
    EXPECT_EQ(differing(printed_bits(family, "PrintBits"), bits_of_the_widest()), Lines()) << name(family);
}

// The comparison finds one order of sums that is another, and nothing else.
TEST_F(KernelFamilies, AnotherOrderInOneSumIsFound) {
  const Lines planted = printed_bits(available_kernel_families().front(), "PrintBitsOfAPlantedOrder");
  Lines expected;
  for (const std::string& line : bits_of_the_widest()) {
    const bool wanted = line.starts_with("bits sum ") || line.starts_with("bits mean ");
    if (wanted && expected.size() < planted.size()) expected.push_back(line);  // large samples come first
  }
  const Lines found = differing(planted, expected);
  EXPECT_FALSE(found.empty());
  for (const std::string& line : found) EXPECT_TRUE(line.starts_with("sum ")) << line;
}

}  // namespace
}  // namespace tapegrad::tests
