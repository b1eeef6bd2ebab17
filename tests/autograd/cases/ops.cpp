// Values and gradients of every operation, recorded or not, against PyTorch's, within the tolerances of assert_close.
// ctest: families products
// build: alone
#include <tapegrad/checks/cases/case.h>
#include <tapegrad/tests/golden/cases.h>
#include <tapegrad/tests/support/testing.h>

namespace tapegrad::tests {
namespace {

std::vector<std::string> golden_files() {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(std::string(kTestsDir) + "/golden")) {
    const std::string file = entry.path().filename();
    if (file.starts_with("ops_") && file.ends_with(".bin")) files.push_back(file);
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::vector<GoldenCase> cases_of(const std::string& file) {
  return read_goldens(std::string(kTestsDir) + "/golden/" + file);
}

// Within 1.3e-6 relative and 1e-5 absolute for float32, 1e-7 both for float64; NaN equals NaN, infinities must be
// equal. With `ulp` also within so many units in the last place: that holds for small numbers too.
template <class T>
bool close(T ours, T theirs, int ulp) {
  if (std::isnan(theirs)) return std::isnan(ours);
  if (ours == theirs) return true;
  if (!std::isfinite(ours) || !std::isfinite(theirs)) return false;
  const T error = std::abs(ours - theirs);
  const T rtol = std::is_same_v<T, float> ? T(1.3e-6) : T(1e-7);
  const T atol = std::is_same_v<T, float> ? T(1e-5) : T(1e-7);
  if (error > atol + rtol * std::abs(theirs)) return false;
  const T unit = std::nextafter(std::abs(theirs), std::numeric_limits<T>::infinity()) - std::abs(theirs);
  return ulp == 0 || error <= static_cast<T>(ulp) * unit;
}

template <class T>
std::string difference(const Tensor& ours, const Tensor& theirs, int ulp) {
  const std::vector<T> a = ours.to_vector<T>(), b = theirs.to_vector<T>();
  for (std::size_t i = 0; i < a.size(); ++i) {
    bool same = a[i] == b[i];
    if constexpr (std::is_floating_point_v<T>) same = close(a[i], b[i], ulp);
    if (!same) return fmt::format("element {} is {}, {} is right", i, a[i], b[i]);
  }
  return {};
}

// Describes the difference; empty if there is none.
std::string difference(const Tensor& ours, const Tensor& theirs, int ulp) {
  if (!(ours.shape() == theirs.shape()))
    return fmt::format("the shape is {}, {} is right", str(ours.shape()), str(theirs.shape()));
  if (ours.dtype() != theirs.dtype())
    return fmt::format("it is {}, {} is right", name(ours.dtype()), name(theirs.dtype()));
  const bool small = theirs.dtype() == kUInt8 || theirs.dtype() == kInt32;
  if (small) return difference<int64_t>(ours.to(kInt64), theirs.to(kInt64), ulp);
  return with_type(theirs.dtype(), [&](auto t) { return difference<decltype(t)>(ours, theirs, ulp); });
}

// Whose NaN a difference is, on purpose (docs/from_pytorch.md).
enum class Nan { pytorchs, ours };

// PyTorch's result, with ours where only the named side has NaN.
Tensor expected(const GoldenCase& golden, const Tensor& ours, const Tensor& theirs) {
  static const std::map<std::pair<std::string_view, std::string_view>, Nan> differing{
      {{"logaddexp", "specials"}, Nan::pytorchs},
      {{"logaddexp2", "specials"}, Nan::pytorchs},
      {{"lerp", "specials"}, Nan::pytorchs},
      {{"xlogy", "specials"}, Nan::pytorchs},
      {{"xlog1py", "specials"}, Nan::pytorchs},
      {{"quantile", "NaN and infinity"}, Nan::pytorchs},
      {{"nanquantile", "NaN and infinity"}, Nan::pytorchs},
      {{"grid_sample", "NaN and large positions"}, Nan::ours}};
  const auto found = differing.find({golden.op, golden.label});
  if (found == differing.end() || !(ours.shape() == theirs.shape())) return theirs;
  return where(isnan(found->second == Nan::ours ? ours : theirs), ours, theirs);
}

// Equal differences under p = infinity share the gradient here, and PyTorch gives all of it to each: a test of
// special_values.cpp compares the gradients.
bool shares_ties(const GoldenCase& golden) {
  return golden.op == "cdist" && golden.label == "equal points" && golden.args.value("p", tasks::json()) == "inf";
}

// With gradients by the kernels of backward, or by recorded operations: in float64, of what has a second derivative.
std::string check(const GoldenCase& golden, const tasks::OpCall& call, bool recorded) {
  Tape tape;
  std::vector<Tensor> inputs = golden.inputs;
  for (std::size_t i = 0; i < golden.grads.size(); ++i) {
    if (is_floating(inputs[i].dtype())) inputs[i] = inputs[i].as_leaf();
  }
  const std::vector<Tensor> outputs = call(inputs, golden.args);
  if (outputs.size() != golden.outputs.size())
    return fmt::format("{} results, {} are right", outputs.size(), golden.outputs.size());
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const std::string wrong =
        difference(outputs[i], expected(golden, outputs[i].detach(), golden.outputs[i]), golden.ulp);
    if (!wrong.empty()) return fmt::format("result {}: {}", i, wrong);
  }
  if (!golden.seed.defined() || shares_ties(golden) || (recorded && golden.seed.dtype() != kFloat64)) return {};
  for (int64_t i = 0; recorded && i < tape.size(); ++i) {
    const Op* const op = tasks::find_op(tape.op_name(i));
    if (op && !op->twice) return {};
  }
  const Gradients grads = tape.backward(outputs[0], {.create_graph = recorded, .grad_output = golden.seed, .keep = {}});
  for (std::size_t i = 0; i < golden.grads.size(); ++i) {
    if (!golden.grads[i].defined()) continue;
    const Tensor* const found = grads.find(inputs[i]);
    const Tensor ours = found ? found->detach() : zeros_like(golden.inputs[i]);
    const std::string wrong = difference(ours, expected(golden, ours, golden.grads[i]), 0);
    if (!wrong.empty()) return fmt::format("gradient{} of input {}: {}", recorded ? ", recorded," : "", i, wrong);
  }
  return {};
}

std::string describe(const GoldenCase& golden) {
  std::string text = golden.op + "(";
  for (const Tensor& x : golden.inputs) {
    text += fmt::format("{}{} {}", text.back() == '(' ? "" : ", ", name(x.dtype()), str(x.shape()));
    if (!x.is_contiguous()) text += fmt::format(" strides {}", str(x.strides()));
  }
  return text + ") " + golden.args.dump() + " " + golden.label;
}

class Operations : public testing::TestWithParam<std::string> {};

TEST_P(Operations, EqualPyTorch) {
  for (const GoldenCase& golden : cases_of(GetParam())) {
    const auto call = tasks::op_cases().calls.find(golden.op);
    if (call == tasks::op_cases().calls.end()) {
      ADD_FAILURE() << golden.op << " has goldens, and no call in checks/cases";
      continue;
    }
    try {
      for (const bool recorded : {false, true}) {
        const std::string wrong = check(golden, call->second, recorded);
        if (!wrong.empty()) ADD_FAILURE() << describe(golden) << ": " << wrong;
      }
    } catch (const Error& error) {
      ADD_FAILURE() << describe(golden) << ": " << error.what();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Goldens, Operations, testing::ValuesIn(golden_files()), [](const auto& file) {
  return file.param.substr(4, file.param.find('.') - 4);  // ops_<family>.bin
});

// With TAPEGRAD_CASES, writes the functions of one tensor to that file, for tests/golden/families_cases.py.
TEST(Goldens, ListCases) {
  tasks::json all = tasks::json::object();
  for (const auto& [name, of] : tasks::op_cases().unaries) {
    EXPECT_TRUE(of.pytorch.starts_with("torch.") || of.pytorch.starts_with("F.")) << name << ": " << of.pytorch;
    all[name] = {{"pytorch", of.pytorch}, {"low", of.low}, {"high", of.high}, {"kinks", of.kinks}};
  }
  EXPECT_GE(all.size(), 42u);
  if (const char* const file = std::getenv("TAPEGRAD_CASES")) std::ofstream(file) << all.dump(1) << "\n";
}

TEST(Goldens, CoverEveryOperation) {
  std::set<std::string> covered;
  for (const std::string& file : golden_files())
    for (const GoldenCase& golden : cases_of(file)) covered.insert(golden.op);
  std::size_t declared = 0;
  for (const std::string& header : operation_headers()) {
    const std::vector<std::string> operations = operations_in(header);
    EXPECT_GE(operations.size(), 1u) << "the declarations in " << header << " are not found any more";
    for (const std::string& op : operations)
      EXPECT_TRUE(covered.contains(op)) << op << " of " << header << " has no golden";
    declared += operations.size();
  }
  EXPECT_GE(declared, 214u);
  for (const Op* op : Op::all()) {
    // Only a backward records the first ones and "grid_add", and only conv3d and its transpose the depths; "recompute",
    // "reversible" and "ode_adjoint" are ways to run others, "variable" to name a tensor.
    const std::set<std::string_view> inner{"unslice",    "add_rows",  "add_windows",   "unpad",       "conv_weight",
                                           "recurrence", "recompute", "reversible",    "ode_adjoint", "variable",
                                           "on_grad",    "grid_add",  "depth_windows", "add_depths"};
    EXPECT_TRUE(inner.contains(op->name) || covered.contains(std::string(op->name))) << op->name << " has no golden";
  }
  for (const auto& [op, call] : tasks::op_cases().calls) EXPECT_TRUE(covered.contains(op)) << op << " has no golden";
}

}  // namespace
}  // namespace tapegrad::tests
