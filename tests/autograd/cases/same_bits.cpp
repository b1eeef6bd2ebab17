// Values and gradients of every operation are the same bits with 1, 2, 3 and 7 threads, of which as many run at once as
// the machine has processors, on tensors that are divided into pieces, and with every kernel family.
// ctest: threads products
#include <gtest/gtest.h>
#include <tapegrad/autograd/kernels/family.h>
#include <tapegrad/autograd/parallel.h>
#include <tapegrad/autograd/random.h>
#include <tapegrad/autograd/tape.h>
#include <tapegrad/tasks/gradcheck/cases/case.h>
#include <tapegrad/tests/support/command_runner.h>

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <iostream>
#include <map>
#include <set>
#include <sstream>

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

template <class Sample>
Outcome run(const std::string& op, const Sample& sample) {
  Tape tape;
  std::vector<Tensor> leaves;
  for (const Tensor& x : sample.inputs) leaves.push_back(is_floating(x.dtype()) ? x.as_leaf() : x);
  const Tensor y = sample.f(leaves);
  std::string bits;
  append(bits, y);
  // What backward does below.
  const std::set<std::string> inner = {"unslice", "add_rows", "add_windows", "unpad", "conv_weight", "recurrence"};
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

class Threads : public testing::Test {
 protected:
  void TearDown() override { set_num_threads(before_); }
  const int before_ = num_threads();
};

TEST_F(Threads, GiveTheSameBitsForEveryOperation) {
  std::map<std::string, int> covered;
  for (const tasks::LargeSample& sample : tasks::large_cases().larges) {
    Outcome expected;
    for (int threads : {1, 2, 3, 7}) {
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

// What the test below runs in other processes: a line per sample, with its operation, its number, and a hash of its
// values and gradients.
// Disabled, because by itself it tests nothing.
TEST(Bits, DISABLED_Print) {
  int number = 0;
  const auto print = [&](const std::string& op, const auto& sample) {
    std::cout << "bits " << op << " " << ++number << " " << std::hash<std::string>()(run(op, sample).bits) << "\n";
  };
  for (const tasks::LargeSample& sample : tasks::large_cases().larges) print(sample.op, sample);
  for (const tasks::OpSamples& op : tasks::op_cases().ops) {
    for (const tasks::OpSample& sample : op.samples) print(op.op, sample);
  }
}

std::vector<std::string> bits_of(KernelFamily family) {
  const std::string self = std::filesystem::read_symlink("/proc/self/exe");
  const Ran ran =
      run_program({self, "--gtest_filter=Bits.DISABLED_Print", "--gtest_also_run_disabled_tests", "--gtest_brief=1"},
                  {.environment = {"TAPEGRAD_KERNELS=" + std::string(name(family))}});
  EXPECT_EQ(ran.code, 0) << ran.err;
  std::vector<std::string> lines;
  std::istringstream out(ran.out);
  for (std::string line; std::getline(out, line);) {
    if (line.starts_with("bits ")) lines.push_back(line);
  }
  return lines;
}

// Once: the runs under other TAPEGRAD_PRODUCTS would take 40 seconds each, and compare threads.
TEST(KernelFamilies, GiveTheSameBitsForEveryOperation) {
  if (std::getenv("TAPEGRAD_PRODUCTS") != nullptr) GTEST_SKIP() << "families are compared without TAPEGRAD_PRODUCTS";
  const std::vector<KernelFamily> families = available_kernel_families();
  const std::vector<std::string> expected = bits_of(families.back());
  EXPECT_GT(expected.size(), Op::all().size());
  for (std::size_t i = 0; i + 1 < families.size(); ++i) {
    const std::vector<std::string> bits = bits_of(families[i]);
    ASSERT_EQ(bits.size(), expected.size());
    for (std::size_t line = 0; line < bits.size(); ++line) {
      EXPECT_EQ(bits[line], expected[line]) << name(families[i]) << " and " << name(families.back());
    }
  }
}

}  // namespace
}  // namespace tapegrad::tests
