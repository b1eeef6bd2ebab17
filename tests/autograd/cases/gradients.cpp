// Every operation's gradient, to second order, on every sample of the table. With one kernel family: same_bits.cpp
// shows that values and gradients of the samples have the same bits in all of them.
// build: alone
#include <tapegrad/autograd/detail/layers.h>
#include <tapegrad/checks/cases/case.h>
#include <tapegrad/checks/modules/module_samples.h>
#include <tapegrad/tests/support/testing.h>

namespace tapegrad::tasks {
namespace {

// The structs and classes with a `visit` that the headers of a folder declare.
std::set<std::string> modules_in(const std::string& folder) {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".h") continue;
    std::ifstream in(entry.path());
    std::string current;
    bool detail = false;
    for (std::string line; std::getline(in, line);) {
      if (line.ends_with("namespace detail")) detail = false;
      if (line.starts_with("namespace detail")) detail = true;
      if (detail) continue;
      for (const std::string_view keyword : {"struct ", "class "}) {
        if (!line.starts_with(keyword) || !line.ends_with(" {")) continue;
        current = line.substr(keyword.size(), line.find(' ', keyword.size()) - keyword.size());
        if (line.find(" : detail::") != std::string::npos && line.find("detail::Member") == std::string::npos &&
            line.find("WithAxes<") == std::string::npos)
          names.insert(current);  // the base visits
      }
      if (line.starts_with("  void visit(")) names.insert(current);
    }
  }
  return names;
}

// The input whose gradient by recorded operations is another than that of the kernels of backward; empty if there is
// none.
std::string difference_if_recorded(const LargeSample& sample) {
  std::vector<Tensor> first;
  for (const bool recorded : {false, true}) {
    Tape tape;
    std::vector<Tensor> leaves;
    for (const Tensor& x : sample.inputs) leaves.push_back(is_floating(x.dtype()) ? x.as_leaf() : x);
    const Tensor y = sample.f(leaves);
    const Tensor dy = cos(arange(y.numel()).to(y.dtype())).reshape(y.shape());
    Gradients grads;
    const std::string error =
        tests::error_of([&] { grads = tape.backward(y, {.create_graph = recorded, .grad_output = dy}); });
    if (error.find("] cannot be differentiated twice") != std::string::npos) return {};
    if (error != "no error") return error;
    for (std::size_t i = 0; i < leaves.size(); ++i) {
      const Tensor* const found = grads.find(leaves[i]);
      const Tensor dx = found ? found->detach() : Tensor();
      if (!recorded) {
        first.push_back(dx);
      } else if (dx.defined()) {
        const Tensor size = 1 + max(abs(dx));
        if (!first[i].defined() || !allclose(dx / size, first[i] / size, 2e-5, 2e-5, true))
          return "input " + std::to_string(i);
      }
    }
  }
  return {};
}

TEST(Gradients, OfLargeSamplesAreTheSameRecorded) {
  for (const LargeSample& sample : large_cases().larges)
    EXPECT_EQ(difference_if_recorded(sample), "") << sample.op << ", " << str(sample.inputs[0].shape());
  const auto planted = [](auto x) {
    return record(*find_op("neg"), -x[0].detach(), {x[0]},
                  [](const Tensor& dy) -> Grads { return Tape::current() ? dy * -1.001 : -dy; });
  };
  EXPECT_EQ(difference_if_recorded({"neg", {ones({1000})}, planted}), "input 0");
}

TEST(Gradients, EveryOperationHasSamples) {
  for (const std::string& op : ops_without_samples()) ADD_FAILURE() << op << " has no sample in checks/cases";
  for (const std::string& op : samples_without_op()) ADD_FAILURE() << op << " has samples, and is no operation";
}

// Losses per example of a sample whose inputs are multiples of the leaves, by shares of y's first axis: not computed,
// or those of the losses one by one. Counts in `known` what needs no second backward pass.
std::string wrong_if_known(const OpSample& sample, bool transposed, int64_t examples, int& known) {
  Tape tape;
  std::vector<Tensor> leaves, inputs;
  for (const Tensor& x : sample.inputs) {
    const bool varies = is_floating(x.dtype());
    leaves.push_back(varies ? ones({}, x.dtype()).as_leaf() : x);
    inputs.push_back(varies ? x * leaves.back() : x);
  }
  Tensor y = sample.f(inputs);
  if (transposed && y.dim() > 1) y = y.transpose(0, 1);
  if (!is_floating(y.dtype()) || y.dim() == 0 || y.numel() == 0 || y.size(0) % examples != 0) return {};
  const Tensor losses = sum((y * spread(y.shape(), 0.5, 1.5).to(y.dtype())).reshape({examples, -1}), 1);
  if (!detail::Layers::keeps_examples_apart(tape, tape.size() - 1, examples)) return {};
  Gradients together;
  try {
    together = tape.backward(losses, {.retain_graph = true, .per_example = true});
  } catch (const Error&) {
    return {};
  }
  ++known;
  for (int64_t i = 0; i < examples; ++i) {
    const Tensor chosen = (arange(examples) == static_cast<double>(i)).to(y.dtype());
    const Gradients alone = tape.backward(losses, {.retain_graph = true, .grad_output = chosen});
    for (const Tensor& leaf : leaves)
      if (together.contains(leaf) && !allclose(together[leaf].select(0, i), alone[leaf], 1e-9, 1e-9))
        return fmt::format("example {} of {}", i, examples);
  }
  return {};
}

TEST(Gradients, OperationsThatKeepExamplesApartDo) {
  std::set<std::string> found;
  for (const OpSamples& samples : op_samples())
    for (const OpSample& sample : samples.samples)
      for (const bool transposed : {false, true})
        for (const int64_t examples : {2, 3, 4, 5}) {
          int known = 0;
          EXPECT_EQ(wrong_if_known(sample, transposed, examples, known), "") << samples.op << ", " << sample.label;
          if (known > 0) found.insert(samples.op);
        }
  EXPECT_GE(found.size(), 50U);
}

TEST(Gradients, OperationNamesAreUnique) {
  std::set<std::string_view> names;
  for (const Op* op : Op::all())
    EXPECT_TRUE(names.insert(op->name).second) << op->name << " is the name of two operations";
}

TEST(Gradients, EverySamplePasses) {
  for (const OpSamples& samples : op_samples())
    for (const OpSample& sample : samples.samples) {
      const GradcheckReport report = check_sample(samples.op, sample);
      EXPECT_TRUE(report.ok) << samples.op << ", sample \"" << sample.label << "\": " << report.text;
    }
}

TEST(Gradients, EveryModulePasses) {
  for (const ModuleSamples& samples : module_samples())
    for (const ModuleSample& sample : samples.samples) {
      const GradcheckReport report = check_module(sample);
      EXPECT_TRUE(report.ok) << samples.module << ", sample \"" << sample.label << "\": " << report.text;
    }
}

TEST(Gradients, EveryModuleHasSamples) {
  std::set<std::string> known;
  for (const ModuleSamples& samples : module_samples()) known.insert(samples.module);
  std::set<std::string> modules = modules_in(std::string(tests::kIncludeDir) + "/nn");
  for (const char* const holder : {"AnyOf", "AttentionPositions"})
    modules.erase(holder);  // of modules that have samples
  EXPECT_GT(modules.size(), 50U);
  for (const std::string& module : modules)
    EXPECT_TRUE(known.contains(module)) << module << " has no sample in checks/modules/module_samples_*.cpp";
}

}  // namespace
}  // namespace tapegrad::tasks
