// `tapegrad info --self-test`: this machine computes the published bits.
#include <tapegrad/autograd/kernels/family.h>
#include <tapegrad/checks/self_test/self_test.h>
#include <tapegrad/command/optional/optional.h>
#include <tapegrad/tests/support/long.h>
#include <tapegrad/tests/support/testing.h>

namespace tapegrad::tests {
namespace {

using tasks::Computation;

// Each family, and each with another number of threads. Portable, whose addition takes half a minute, only with
// TAPEGRAD_LONG.
TEST(SelfTest, ComputesThePublishedBitsInEveryFamilyWithAnyNumberOfThreads) {
  std::vector<KernelFamily> families = available_kernel_families();
  if (families.size() > 1 && !long_tests_are_wanted()) families.erase(families.begin());
  const int threads[] = {2, 1, 3, 7};
  const std::size_t runs = std::max<std::size_t>(families.size(), 3);
  for (std::size_t i = 0; i < runs; ++i) {
    const std::string family(name(families[i % families.size()]));
    const Ran ran = run_command({"info", "--self-test", "--json", "--threads", std::to_string(threads[i])},
                                {.environment = {"TAPEGRAD_KERNELS=" + family}});
    const Json all = Json::parse(ran.out);
    EXPECT_EQ(ran.code, 0) << family << ": " << all["differ"];
    EXPECT_EQ(all["differ"], Json::array());
    EXPECT_EQ(all["kernels"], family);
    EXPECT_EQ(all["bits"].size(), tasks::published_bits().size());
  }
}

TEST(SelfTest, CoversEveryOperationAndHasNoNameTwice) {
  std::set<std::string> names;
  for (const auto& list : {tasks::operation_computations(), tasks::run_computations()})
    for (const Computation& each : list) EXPECT_TRUE(names.insert(each.name).second) << each.name;
  for (const Op* op : Op::all()) EXPECT_TRUE(names.contains(std::string(op->name))) << op->name;
  for (const char* run : {"train copy", "train addition", "train parser", "train classify", "train gpt",
                          "train gpt in bfloat16", "train gpt with LoRA", "train llama", "generate in int8"})
    EXPECT_TRUE(names.contains(run)) << run;
  std::set<std::string> published;
  for (const auto& [name, bits] : tasks::published_bits()) {
    EXPECT_TRUE(published.insert(std::string(name)).second) << name;
    EXPECT_EQ(bits.size(), 19U);
  }
  EXPECT_EQ(published, names);
}

TEST(SelfTest, HashesValuesAndGradientsInBothTypes) {
  std::size_t in_float32 = 0, all = 0, with_gradient = 0;
  for (const Computation& each : tasks::operation_computations()) {
    std::set<DType> types;
    bool gradient = false;
    for (const NamedTensor& result : each.run()) {
      types.insert(result.tensor.dtype());
      gradient |= result.name.find("gradient") != std::string::npos;
    }
    ++all, in_float32 += types.contains(kFloat32), with_gradient += gradient;
  }
  EXPECT_EQ(with_gradient, all);
  EXPECT_EQ(in_float32, all);
}

TEST(SelfTest, ADifferenceIsNamed) {
  const tasks::SelfTestResult right{"sum", "0123 4567 89ab cdef", "0123 4567 89ab cdef"},
      wrong{"sum", "0123 4567 89ab cdee", "0123 4567 89ab cdef"}, unknown{"sum", "0123 4567 89ab cdef", ""};
  EXPECT_TRUE(right.ok());
  EXPECT_FALSE(wrong.ok() || unknown.ok());
}

}  // namespace
}  // namespace tapegrad::tests
