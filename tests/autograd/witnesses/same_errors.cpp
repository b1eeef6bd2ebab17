// An operation throws exactly where it throws in every mode of differentiation: without a tape, with one and constants,
// with inputs as leaves, all of them or one alone. And where the value is computed, backward does not throw either,
// with create_graph or without. (Stan's expect_ad has this rule.)
//
// On each line of autograd/cases/error_texts/, and on samples of every operation in checks/cases whose operands are
// changed: other types, fewer elements, none, NaN.
#include <tapegrad/checks/cases/case.h>
#include <tapegrad/tests/support/call_text.h>
#include <tapegrad/tests/support/long.h>
#include <tapegrad/tests/support/testing.h>

namespace tapegrad::tests {
namespace {

using Inputs = std::vector<Tensor>;
using Called = std::function<Inputs(const Inputs&)>;

// What a call and its gradients throw, in each mode.
struct Errors {
  std::string mode, text;
};

bool is_leaf_type(const Tensor& x) { return x.defined() && is_floating(x.dtype()); }

// The inputs that `chosen` selects become leaves.
Inputs with_leaves(const Inputs& inputs, const std::function<bool(std::size_t)>& chosen) {
  Inputs leaves = inputs;
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    if (chosen(i) && is_leaf_type(leaves[i])) leaves[i] = leaves[i].as_leaf();
  }
  return leaves;
}

// Whether create_graph is not an error by the operations' own word.
bool is_differentiable_twice(const Tape& tape) {
  for (int64_t i = 0; i < tape.size(); ++i) {
    const Op* const op = tasks::find_op(tape.op_name(i));
    if (op && !op->twice) return false;
  }
  return true;
}

std::string error_in(const Called& f, const Inputs& inputs, bool again) {
  Tape tape;
  return error_of([&] {
    for (const Tensor& y : f(inputs)) {
      if (!y.defined() || !is_floating(y.dtype()) || !needs_grad(y)) continue;
      const bool recorded = again && is_differentiable_twice(tape);
      static_cast<void>(tape.backward(
          y, {.create_graph = recorded, .retain_graph = true, .grad_output = ones_like(y.detach()), .keep = {}}));
    }
  });
}

// The modes in which f does not throw what it throws without a tape.
std::vector<Errors> others(const Called& f, const Inputs& inputs, std::string& plain) {
  plain = error_of([&] { f(inputs); });
  std::vector<Errors> found;
  const auto expect = [&](std::string mode, const std::string& text) {
    if (text != plain) found.push_back({std::move(mode), text});
  };
  expect("constants on a tape", error_in(f, inputs, false));
  const Inputs all = with_leaves(inputs, [](std::size_t) { return true; });
  expect("all inputs as leaves", error_in(f, all, false));
  expect("create_graph", error_in(f, all, true));
  for (std::size_t k = 0; k < inputs.size() && inputs.size() > 1; ++k) {
    if (!is_leaf_type(inputs[k])) continue;
    expect(fmt::format("input {} as a leaf", k),
           error_in(f, with_leaves(inputs, [k](std::size_t i) { return i == k; }), false));
  }
  return found;
}

// Is documented, and the only one: a gradient that is not implemented.
bool is_allowed(std::string_view text) {
  return text.starts_with("[qr] expected m <= n for the gradient of the complete form");
}

// The modes that differ, a line for each; nothing if there are none.
std::string differences(const Called& f, const Inputs& inputs, std::string& plain) {
  std::string text;
  for (const Errors& other : others(f, inputs, plain)) {
    if (!is_allowed(other.text)) text += fmt::format("{}: {}, without a tape: {}\n", other.mode, other.text, plain);
  }
  return text;
}

// --- calls that must throw ---

TEST(SameErrors, OfWrongCalls) {
  int calls = 0;
  for (const auto& entry : std::filesystem::directory_iterator(std::string(kTestsDir) + "/autograd/cases/error_texts"))
    for (const auto& [line, text] : pairs_of_lines("autograd/cases/error_texts/" + entry.path().filename().string())) {
      const ReadCall call = read_call(line);
      std::string plain;
      EXPECT_EQ(differences(call.f, call.tensors, plain), "") << line;
      ++calls;
    }
  EXPECT_GT(calls, 400);
}

// --- samples with other operands ---

struct Change {
  std::string name;
  std::function<Tensor(const Tensor&)> changed;  // an empty handle if it does not apply
};

Tensor sprinkled(const Tensor& x, double value) {
  if (!is_floating(x.dtype()) || x.numel() == 0) return {};
  const Tensor y = x.contiguous().clone();
  y.mutable_data<double>()[x.numel() / 2] = value;
  return y;
}

const std::vector<Change>& changes() {
  static const std::vector<Change> all = {
      {"nothing", [](const Tensor& x) { return x; }},
      {"float32", [](const Tensor& x) { return is_floating(x.dtype()) ? x.to(kFloat32) : Tensor(); }},
      {"int64", [](const Tensor& x) { return x.to(kInt64); }},
      {"bool", [](const Tensor& x) { return x.to(kBool); }},
      {"another float", [](const Tensor& x) { return is_integer(x.dtype()) ? x.to(kFloat64) : Tensor(); }},
      {"a NaN", [](const Tensor& x) { return sprinkled(x, kNan); }},
      {"an infinity", [](const Tensor& x) { return sprinkled(x, kInf); }},
      {"zeros", [](const Tensor& x) { return zeros_like(x); }},
      {"negative", [](const Tensor& x) { return x.dtype() == kBool ? Tensor() : -x; }},
      {"no elements", [](const Tensor& x) { return x.dim() > 0 ? narrow(x, 0, 0, 0) : Tensor(); }},
      {"no columns", [](const Tensor& x) { return x.dim() > 0 ? narrow(x, -1, 0, 0) : Tensor(); }},
      {"one row", [](const Tensor& x) { return x.dim() > 0 && x.size(0) > 1 ? narrow(x, 0, 0, 1) : Tensor(); }},
      {"a shorter row",
       [](const Tensor& x) { return x.dim() > 0 && x.size(-1) > 1 ? narrow(x, -1, 1, x.size(-1) - 1) : Tensor(); }},
      {"one more axis", [](const Tensor& x) { return x.unsqueeze(0); }},
      {"a number", [](const Tensor& x) { return x.numel() > 0 ? x.reshape({-1})[0] : Tensor(); }},
      {"an empty handle", [](const Tensor&) { return Tensor(); }},
  };
  return all;
}

// Samples that do something else without a tape, or take parts of a result that a changed operand does not have.
bool is_left_out(const tasks::OpSamples& of, const tasks::OpSample& sample) {
  return of.op == "variable" || sample.label == "split" || sample.label == "chunk" || sample.label == "unbind";
}

TEST(SameErrors, OfChangedOperands) {
  const std::size_t most = long_tests_are_wanted() ? 1000 : 2;  // samples of an operation
  int calls = 0, errors = 0;
  for (const tasks::OpSamples& of : tasks::op_samples()) {
    const std::size_t count = of.samples.size(), some = std::min(count, most);
    for (std::size_t s = 0; s < some; ++s) {
      const tasks::OpSample& sample = of.samples[s * count / some];
      if (is_left_out(of, sample)) continue;
      const Called f = [&](const Inputs& x) { return Inputs{sample.f(x)}; };
      for (const Change& change : changes())
        for (std::size_t k = 0; k < sample.inputs.size(); ++k) {
          Inputs inputs = sample.inputs;
          inputs[k] = change.changed(inputs[k]);
          if (!inputs[k].defined() && change.name != "an empty handle") continue;
          std::string plain;
          EXPECT_EQ(differences(f, inputs, plain), "")
              << of.op << ", sample \"" << sample.label << "\", input " << k << ": " << change.name;
          ++calls, errors += plain != "no error";
        }
    }
  }
  EXPECT_GT(calls, 5'000);
  EXPECT_GT(errors, 1'000);
}

TEST(SameErrors, FindsErrorsOfOneMode) {
  const Inputs x = {ones({3}, kFloat64), ones({3}, kFloat64)};
  std::string plain;
  const auto found = [&](const std::function<Tensor(const Tensor&, const Tensor&)>& f) {
    return differences([&](const Inputs& in) { return Inputs{f(in[0], in[1])}; }, x, plain);
  };
  EXPECT_EQ(found([](const Tensor& a, const Tensor& b) { return a * b; }), "");
  EXPECT_EQ(found([](const Tensor& a, const Tensor&) -> Tensor { fail("planted", str(a.shape())); }), "");
  EXPECT_NE(found([](const Tensor& a, const Tensor& b) { return needs_grad(b) ? a.reshape({2}) : a * b; }), "");
  EXPECT_NE(found([](const Tensor& a, const Tensor& b) { return Tape::current() ? a * b : a.reshape({2}) * b; }), "");
  const auto fails_in_backward = [](bool again) {
    return [again](const Tensor& a, const Tensor&) {
      return record(*tasks::find_op("neg"), -a.detach(), {a}, [again](const Tensor& dy) -> Grads {
        if (!again || Tape::current()) fail("planted", "backward");
        return -dy;
      });
    };
  };
  EXPECT_NE(found(fails_in_backward(false)), "");
  EXPECT_EQ(found(fails_in_backward(true)), "create_graph: [planted] backward, without a tape: no error\n");
}

}  // namespace
}  // namespace tapegrad::tests
