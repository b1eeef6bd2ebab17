// Every operation on extreme operands, and every function with sizes or numbers on extreme arguments: it returns, or
// throws an Error. Under the sanitizers (PRESET=asan) also: without undefined behaviour.
// build: alone
#include <tapegrad/checks/cases/case.h>
#include <tapegrad/tests/support/sanitized.h>
#include <tapegrad/tests/support/testing.h>

namespace tapegrad::tests {
namespace {

using Inputs = std::vector<Tensor>;

// What is done to the inputs of a sample. `changed(x)` is the new operand, or an empty handle if it does not apply.
struct Change {
  std::string name;
  std::function<Tensor(const Tensor&)> changed;
  bool one_at_a_time = false;
};

// x with the numbers of `values` in turn.
template <class T>
Tensor filled(const Tensor& x, const std::vector<T>& values) {
  std::vector<T> all(static_cast<std::size_t>(x.numel()));
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = values[i % values.size()];
  return tensor(all, x.shape());
}

Change floats(std::string name, DType dtype, std::vector<double> values) {
  return {std::move(name),
          [dtype, values](const Tensor& x) { return is_floating(x.dtype()) ? filled(x, values).to(dtype) : Tensor(); }};
}

Change integers(std::string name, std::vector<int64_t> values) {
  return {std::move(name), [values](auto& x) { return x.dtype() == kInt64 ? filled(x, values) : Tensor(); }, true};
}

// Some elements of x replaced.
Change sprinkled(std::string name, std::vector<double> values) {
  return {std::move(name),
          [values](const Tensor& x) {
            if (!is_floating(x.dtype()) || x.numel() == 0) return Tensor();
            std::vector<double> all = x.to(kFloat64).to_vector<double>();
            for (std::size_t i = 0; i < values.size(); ++i) all[i * 5 % all.size()] = values[i];
            return tensor(all, x.shape());
          },
          true};
}

const std::vector<Change>& changes() {
  constexpr double kLargest = std::numeric_limits<double>::max(), kLeast = std::numeric_limits<double>::denorm_min();
  // clang-format off
  static const std::vector<Change> all = {
      sprinkled("a NaN", {kNan}),
      sprinkled("infinities", {kInf, -kInf}),
      floats("zeros", kFloat64, {0., -0.}),
      floats("the largest numbers", kFloat64, {kLargest, -kLargest, kLargest}),
      floats("the smallest numbers", kFloat64, {kLeast, -3 * kLeast, 1e-310}),
      floats("the largest of float32", kFloat32, {3.4e38, -3.4e38, 3.4e38}),
      floats("the smallest of float32", kFloat32, {1e-45, -1e-40, 1e-38}),
      {"integers", [](const Tensor& x) { return filled<int64_t>(x, {kMax, kMin, -1, 0, 1, kMin + 1}); }},
      {"truth values", [](const Tensor& x) { return filled<int64_t>(x, {1, 0, 1}).to(kBool); }},
      integers("the smallest indices", {kMin}),
      integers("the largest indices", {kMax}),
      integers("negative indices", {-1, int64_t{-1} << 53}),
      {"no elements", [](const Tensor& x) { return x.dim() > 0 ? narrow(x, 0, 0, 0) : Tensor(); }},
      {"no elements in one operand", [](const Tensor& x) { return x.dim() > 0 ? narrow(x, -1, 0, 0) : Tensor(); },
       true},
      {"a shorter operand",
       [](const Tensor& x) { return x.dim() > 0 && x.size(-1) > 1 ? narrow(x, -1, 1, x.size(-1) - 1) : Tensor(); },
       true},
      {"a scalar operand", [](const Tensor& x) { return x.numel() > 0 ? x.reshape({-1})[0] : Tensor(); }, true},
  };
  // clang-format on
  return all;
}

// What became of all calls.
struct CallOutcomes {
  int returned = 0, errors = 0;
  std::vector<std::string> wrong;      // exceptions of other types, and operands that were changed
  std::set<std::string_view> reached;  // operations that a changed operand did not keep from computing
};

std::string bytes_of(const Inputs& inputs) {
  std::string all;
  for (const Tensor& x : inputs) {
    const Tensor packed = x.detach().contiguous();
    all.append(static_cast<const char*>(packed.raw_data()),
               static_cast<std::size_t>(packed.numel() * item_size(packed.dtype())));
  }
  return all;
}

// f and its gradients of first and second order.
void call(const tasks::OpSample& sample, const Inputs& given, CallOutcomes& outcome) {
  Tape tape;
  Inputs inputs;
  for (const Tensor& x : given) inputs.push_back(is_floating(x.dtype()) ? x.as_leaf() : x);
  const Tensor y = sample.f(inputs);
  const auto note = [&] {
    for (int64_t i = 0; i < tape.size(); ++i) outcome.reached.insert(tape.op_name(i));
  };
  note();
  if (!is_floating(y.dtype()) || !needs_grad(y)) return;
  const Tensor loss = sum(y);
  try {
    const Gradients first = tape.backward(loss, {.create_graph = true});
    note();
    for (const Tensor& x : inputs) {
      const Tensor* const dx = first.find(x);
      if (dx && needs_grad(*dx)) tape.backward(sum(*dx), {.keep = {}});
      if (dx) return;
    }
  } catch (const Error&) {
    tape.backward(loss);
  }
}

void try_call(const std::string& what, const std::function<void()>& f, CallOutcomes& outcome) {
  try {
    f();
    ++outcome.returned;
  } catch (const Error& error) {
    ++outcome.errors;
    const std::string_view text = error.what();
    if (!text.starts_with('[') || text.find('\n') != text.npos)
      outcome.wrong.push_back(what + ": the text " + error.what());
  } catch (const std::exception& other) {
    outcome.wrong.push_back(what + " throws what is not an Error: " + other.what());
  }
}

void try_changes(const std::string& op, const tasks::OpSample& sample, CallOutcomes& outcome) {
  for (const Change& change : changes()) {
    const std::size_t turns = change.one_at_a_time ? sample.inputs.size() : 1;
    for (std::size_t turn = 0; turn < turns; ++turn) {
      Inputs inputs = sample.inputs;
      bool any = false;
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        if (change.one_at_a_time && i != turn) continue;
        const Tensor changed = change.changed(inputs[i]);
        any = any || changed.defined();
        if (changed.defined()) inputs[i] = changed;
      }
      if (!any) continue;
      const std::string what = op + ", sample \"" + sample.label + "\", " + change.name, before = bytes_of(inputs);
      try_call(
          what, [&] { call(sample, inputs, outcome); }, outcome);
      if (bytes_of(inputs) != before) outcome.wrong.push_back(what + ": an operand has changed");
    }
  }
}

// Samples of an operation differ in layouts and shapes: enough of them, evenly chosen.
constexpr std::size_t kMostSamples = 12;

TEST(Extremes, OfEveryOperation) {
  CallOutcomes outcome;
  for (const tasks::OpSamples& of : tasks::op_samples()) {
    const std::size_t count = of.samples.size(), some = std::min(count, kMostSamples);
    for (std::size_t i = 0; i < some; ++i) try_changes(of.op, of.samples[i * count / some], outcome);
  }
  for (const std::string& wrong : outcome.wrong) ADD_FAILURE() << wrong;
  for (const Op* op : Op::all()) EXPECT_TRUE(outcome.reached.contains(op->name)) << op->name << " was never reached";
  EXPECT_GT(outcome.returned, 10'000);
  EXPECT_GT(outcome.errors, 1'000);
}

// The tester finds what it is for.
TEST(Extremes, FindsWrongOperations) {
  CallOutcomes outcome;
  const auto sample = [](std::function<Tensor(std::span<const Tensor>)> f) {
    return tasks::OpSample{"wrong", {ones({4}, kFloat64), zeros({2}, kInt64)}, std::move(f)};
  };
  try_changes("foreign", sample([](auto) -> Tensor { throw std::out_of_range("vector::at"); }), outcome);
  EXPECT_FALSE(outcome.wrong.empty());
  EXPECT_NE(outcome.wrong.front().find("throws what is not an Error"), std::string::npos);
  outcome = {};
  try_changes("writes", sample([](auto x) -> Tensor {
                if (x[0].numel() > 0 && x[0].dtype() == kFloat64)
                  const_cast<double*>(x[0].template data<double>())[0] = 7;
                return ones({1});
              }),
              outcome);
  EXPECT_FALSE(outcome.wrong.empty());
  EXPECT_NE(outcome.wrong.front().find("an operand has changed"), std::string::npos);
  if (kAddressSanitizer) {  // and that of undefined behaviour
    const volatile double large = 1e300;
    const volatile int64_t most = kMax;
    EXPECT_DEATH(std::printf("%ld", static_cast<long>(most + 1)), "signed integer overflow");
    EXPECT_DEATH(std::printf("%ld", static_cast<long>(large)), "outside the range of representable values");
  }
}

}  // namespace
}  // namespace tapegrad::tests
