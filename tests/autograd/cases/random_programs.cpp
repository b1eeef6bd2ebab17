// Random programs of all operations: gradients to second order, both floating types, equal bits for different numbers
// of threads, and for updates in backward and at its end.
//
// TAPEGRAD_PROGRAM_SEED and TAPEGRAD_PROGRAMS set the seed (by default a new one each day) and the number of programs;
// TAPEGRAD_PROGRAM_FIRST is the number of the first. With TAPEGRAD_PROGRAMS_PYTHON, programs are not checked, but
// written to that file for tests/random_programs.py.
// ctest: sanitized:TAPEGRAD_PROGRAMS=200
// build: alone
#include <tapegrad/tests/programs/programs.h>
#include <tapegrad/tests/support/testing.h>

#include <chrono>
#include <iostream>

namespace tapegrad::tests {
namespace {

int64_t setting(const char* name, int64_t otherwise) {
  const char* const text = std::getenv(name);
  return text ? std::atoll(text) : otherwise;
}

// 20261231 on the last day of 2026.
int64_t today() {
  const std::chrono::year_month_day day(std::chrono::floor<std::chrono::days>(std::chrono::system_clock::now()));
  return static_cast<int>(day.year()) * 10000 + static_cast<unsigned>(day.month()) * 100 +
         static_cast<unsigned>(day.day());
}

// A program with its values and gradients, for PyTorch.
Json answers(const Program& program) {
  Tape tape;
  std::vector<Tensor> leaves;
  for (const Tensor& input : program.tensors(kFloat64)) leaves.push_back(input.as_leaf());
  const Tensor y = program(leaves), loss = sum(y * cos(arange(y.numel()).to(kFloat64)));
  const Gradients grads = tape.backward(loss);
  Json found{{"number", program.number}, {"python", program.python()}, {"cpp", program.cpp()}};
  found["y"] = y.detach().to_vector<double>();
  found["grads"] = Json::array();
  for (const Tensor& leaf : leaves)
    found["grads"].push_back(leaf.numel() > 0 ? grads[leaf].to_vector<double>() : std::vector<double>());
  return found;
}

TEST(RandomPrograms, HaveNoFault) {
  const auto seed = static_cast<uint64_t>(setting("TAPEGRAD_PROGRAM_SEED", today()));
  const int64_t count = setting("TAPEGRAD_PROGRAMS", 2000), first = setting("TAPEGRAD_PROGRAM_FIRST", 0);
  std::cout << fmt::format("TAPEGRAD_PROGRAM_SEED={} TAPEGRAD_PROGRAM_FIRST={} TAPEGRAD_PROGRAMS={}\n", seed, first,
                           count);
  const char* const file = std::getenv("TAPEGRAD_PROGRAMS_PYTHON");
  std::ofstream out(file ? file : "");
  int faults = 0;
  for (int64_t number = first; number < first + count && faults < 3; ++number) {
    const Program program = draw_program(seed, number);
    if (file) {
      out << answers(program).dump() << "\n";
      continue;
    }
    const std::string fault = fault_of(program);
    if (fault.empty()) continue;
    ++faults;
    const Program shorter = shrunk(program);
    ADD_FAILURE() << "program " << number << " of seed " << seed << ": " << fault << "\nIn short: " << fault_of(shorter)
                  << "\n"
                  << shorter.cpp();
  }
}

TEST(RandomPrograms, UpdateInBackwardAsAtItsEnd) {
  const auto seed = static_cast<uint64_t>(setting("TAPEGRAD_PROGRAM_SEED", today()));
  const int64_t count = setting("TAPEGRAD_PROGRAMS", 2000) / 4, first = setting("TAPEGRAD_PROGRAM_FIRST", 0);
  int faults = 0;
  for (int64_t number = first; number < first + count && faults < 3; ++number) {
    const Program program = draw_program(seed, number);
    const std::string fault = update_fault_of(program);
    if (fault.empty()) continue;
    ++faults;
    ADD_FAILURE() << "program " << number << " of seed " << seed << ": " << fault << "\n" << program.cpp();
  }
}

TEST(RandomPrograms, AreMadeOfEveryRule) {
  std::set<const Rule*> drawn;
  std::set<std::string_view> recorded;  // also by backward
  int64_t steps = 0;
  for (int64_t number = 0; number < 2500; ++number) {
    const Program program = draw_program(1, number);
    steps += static_cast<int64_t>(program.steps.size());
    for (const Call& step : program.steps) drawn.insert(step.rule);
    Tape tape;
    std::vector<Tensor> leaves;
    for (const Tensor& input : program.tensors(kFloat64)) leaves.push_back(input.as_leaf());
    const Tensor y = program(leaves), loss = sum(y * cos(arange(y.numel()).to(kFloat64)));
    if (needs_grad(loss)) tape.backward(loss, {.create_graph = true});
    for (int64_t k = 0; k < tape.size(); ++k) recorded.insert(tape.op_name(k));
  }
  for (const Rule& rule : rules()) EXPECT_TRUE(drawn.contains(&rule)) << rule.cpp;
  const std::map<std::string_view, std::string_view> without{
      {"ctc_loss", "has the gradient of distributions"},
      {"flex_attention", "has no second order"},
      {"implicit_gamma", "has no second order"},
      {"lsh_attention", "sorts by a hash, which jumps"},
      {"ode_adjoint", "is exact only as far as its solution is"},
      {"planted", "belongs to the tests below"},
      {"reads_a_parameter", "belongs to updates in backward"},
      {"recompute", "has no second order"},
      {"reversible", "has no second order"},
      {"to", "rounds to another type, which finite differences cannot follow"},
      {"variable", "is a leaf"},
  };
  for (const Op* op : Op::all()) {
    const bool excused = without.contains(op->name);
    EXPECT_NE(recorded.contains(op->name), excused)
        << op->name << (excused ? " is drawn: remove it from the list" : " needs a rule in checks/cases");
  }
  std::cout << fmt::format("{:.1f} operations per program\n", static_cast<double>(steps) / 1500);
}

TEST(RandomPrograms, AreTheSameForASeed) {
  EXPECT_EQ(draw_program(7, 3).cpp(), draw_program(7, 3).cpp());
  EXPECT_NE(draw_program(7, 3).cpp(), draw_program(8, 3).cpp());
}

// --- tests of the tester: it must find faulty operations and reduce the program to a few lines ---

const Op kPlanted{"planted"};

Rule planted(const std::string& name, std::function<Tensor(const Tensor&)> f,
             std::function<Tensor(const Tensor&, const Tensor&)> backward) {
  const auto draw = [](auto& d, Call& c) { return d.operand(c); };
  const auto run = [=](auto& a) {
    return custom(kPlanted, {a.t[0]}, f, [x = a.t[0], backward](const Tensor& dy) -> Grads { return backward(dy, x); });
  };
  return {name + "({t0})", name + "({t0})", draw, run, {}};
}

// The first program with a fault, in short.
std::string found(const Rule& rule) {
  const std::vector<Rule> often(20, rule);
  for (int64_t number = 0; number < 100; ++number) {
    const Program program = draw_program(3, number, often);
    if (!fault_of(program).empty()) {
      const Program shorter = shrunk(program);
      return fault_of(shorter) + "\n" + shorter.cpp();
    }
  }
  return "no fault";
}

// Custom operations that say that they read their inputs alone, which is untrue.
TEST(RandomPrograms, FindUpdatesThatComeTooEarly) {
  int found = 0;
  for (int64_t number = 0; number < 100; ++number)
    found += !update_fault_of(draw_program(3, number), Reads::inputs).empty();
  EXPECT_GE(found, 5);
  std::cout << fmt::format("{} of 100 programs found it\n", found);
}

TEST(RandomPrograms, FindWrongOperations) {
  const auto cube = [](auto& x) { return x * x * x; };
  const auto expect_found = [](const std::string& text, std::string_view fault) {
    EXPECT_EQ(text.substr(0, fault.size()), fault) << text;
    EXPECT_NE(text.find("= wrong(x[0]);"), std::string::npos) << text;
    EXPECT_LE(std::count(text.begin(), text.end(), '\n'), 18) << text;
  };
  expect_found(found(planted("wrong", cube, [](auto& dy, auto& x) { return dy * x * x * 3.003; })), "order 1");
  expect_found(found(planted("wrong", cube, [](auto& dy, auto& x) { return dy * (x * x * 3).detach(); })), "order 2");
  // Right only for contiguous tensors: elements of others come in another order.
  const auto packed = [](auto& x) { return x.is_contiguous() ? x : roll(x.reshape({-1}), 1, 0).reshape(x.shape()); };
  const std::string strided = found(planted(
      "wrong", [=](auto& x) { return packed(x) * 2; }, [](auto& dy, const Tensor&) { return dy * 2; }));
  EXPECT_NE(strided.find("wrong("), std::string::npos) << strided;
  // Right only in float64.
  const auto imprecise = [](auto& x) { return x.dtype() == kFloat32 ? sin(x) * 1.01 : sin(x); };
  expect_found(found(planted("wrong", imprecise, [](auto& dy, auto& x) { return dy * cos(x); })),
               "float32 and float64 differ");
  EXPECT_EQ(found(planted("right", cube, [](auto& dy, auto& x) { return dy * x * x * 3; })), "no fault");
}

}  // namespace
}  // namespace tapegrad::tests
