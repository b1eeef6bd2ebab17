// Random programs: how they are drawn, run, checked, shrunk and printed.
#include <tapegrad/checks/cases/case.h>
#include <tapegrad/tests/programs/programs.h>
#include <tapegrad/tests/support/testing.h>

#include <cctype>

namespace tapegrad::tests {

namespace {

// --- text ---

enum class Language { cpp, python };

template <class T>
std::string list(const std::vector<T>& x, Language language) {
  const std::string items = fmt::format("{}", fmt::join(x, ", "));
  return language == Language::cpp ? "{" + items + "}" : "[" + items + "]";
}

std::string list(const Shape& shape, Language language) {
  return list(std::vector<int64_t>(shape.begin(), shape.end()), language);
}

std::string constant(const Tensor& x, Language language) {
  const std::vector<int64_t> values = x.to_vector<int64_t>();
  if (language == Language::python) {
    return fmt::format("torch.tensor({}, dtype=torch.int64).reshape({})", list(values, language),
                       list(x.shape(), language));
  }
  if (values.empty()) return fmt::format("zeros({}, kInt64)", list(x.shape(), language));
  return fmt::format("tensor({}).reshape({})", list(values, language), list(x.shape(), language));
}

std::string value_name(int k, std::size_t inputs, Language language) {
  if (k >= static_cast<int>(inputs)) return fmt::format("v{}", k);
  return language == Language::cpp ? fmt::format("x[{}]", k) : fmt::format("x{}", k);
}

std::string call_text(const Call& call, std::size_t inputs, Language language) {
  const std::string& form = language == Language::cpp ? call.rule->cpp : call.rule->python;
  std::string text;
  for (std::size_t at = 0; at < form.size(); ++at) {
    const std::string_view rest = std::string_view(form).substr(at);
    if (rest.starts_with("{T}")) {
      text += language == Language::cpp ? "kFloat64" : "torch.float64";
      at += 2;
    } else if (rest.size() > 3 && rest[0] == '{' && rest[3] == '}' && std::isalpha(rest[1]) && std::isdigit(rest[2])) {
      const auto k = static_cast<std::size_t>(rest[2] - '0');
      switch (rest[1]) {
        case 't': text += value_name(call.t[k], inputs, language); break;
        case 'i': text += fmt::format("{}", call.i[k]); break;
        case 'd': text += fmt::format("{}", call.d[k]); break;
        case 'l': text += list(call.l[k], language); break;
        case 'c': text += constant(call.c[k], language); break;
      }
      at += 3;
    } else {
      text += form[at];
    }
  }
  return text;
}

// --- shapes and sizes ---

Shape reversed(const Shape& shape) {
  Shape turned;
  for (int i = shape.rank() - 1; i >= 0; --i) turned.push_back(shape[i]);
  return turned;
}

Dims reversed_axes(int rank) {
  Dims axes;
  for (int i = rank - 1; i >= 0; --i) axes.push_back(i);
  return axes;
}

bool is_smooth(const Call& call, std::span<const Tensor> values) {
  if (!call.rule->smooth) return true;
  tasks::Arguments arguments{call, {}, kFloat64};
  for (int k : call.t) arguments.t.push_back(values[static_cast<std::size_t>(k)]);
  return call.rule->smooth(arguments);
}

// x * d, which scales values back into the usual range.
const Rule kScale{"{t0} * {d0}", "{t0} * {d0}", {}, [](const tasks::Arguments& a) { return a.t[0] * a.d(0); }, {}};

ProgramInput draw_input(const Draw& draw) {
  static const std::vector<Shape> shapes{{},     {3},    {4},       {6},       {1},    {2, 3}, {3, 2},    {2, 2},
                                         {3, 3}, {1, 3}, {2, 1},    {1, 1},    {0},    {2, 0}, {2, 3, 1}, {1, 2, 3},
                                         {2, 2}, {5},    {2, 1, 2}, {2, 2, 2}, {2, 4}, {3, 1}, {0, 3},    {1, 2, 4}};
  using Layout = ProgramInput::Layout;
  ProgramInput input;
  input.shape = shapes[static_cast<std::size_t>(draw.below(static_cast<int64_t>(shapes.size())))];
  for (int64_t k = 0; k < input.shape.numel(); ++k) input.values.push_back(draw.number(-1.5, 1.5));
  if (input.shape.rank() > 0 && draw.below(3) == 0) input.layout = static_cast<Layout>(draw.below(4));
  return input;
}

std::vector<int> unused(const Program& program) {
  std::set<int> used;
  for (const Call& step : program.steps) used.insert(step.t.begin(), step.t.end());
  std::vector<int> rest;
  const auto count = static_cast<int>(program.inputs.size() + program.steps.size());
  for (int k = static_cast<int>(program.inputs.size()); k < count; ++k) {
    if (!used.contains(k)) rest.push_back(k);
  }
  return rest;
}

}  // namespace

const std::vector<Rule>& rules() { return tasks::op_cases().rules; }

// --- values ---

Tensor weighted_sum(const Tensor& v) { return sum(v.reshape({-1}) * cos(arange(v.numel()).to(v.dtype()))); }

Tensor computed(const Call& call, std::span<const Tensor> values, DType type) {
  tasks::Arguments arguments{call, {}, type};
  for (int k : call.t) arguments.t.push_back(values[static_cast<std::size_t>(k)]);
  return call.rule->run(arguments);
}

// --- ProgramInput, Program ---

Tensor ProgramInput::tensor(DType type) const {
  const auto of = [&](const Shape& as) {
    return from_data(values.data(), static_cast<int64_t>(values.size()), as, kFloat64).to(type);
  };
  switch (layout) {
    case Layout::contiguous: return of(shape);
    case Layout::transposed: {  // values in row-major order of the reversed shape
      return of(reversed(shape)).permute(reversed_axes(shape.rank()));
    }
    case Layout::gaps: return repeat_interleave(of(shape), 2, -1).slice(-1, kAll, kAll, 2);
    case Layout::backwards: return of(shape).slice(0, kAll, kAll, -1);
  }
  return {};
}

std::vector<Tensor> Program::tensors(DType type) const {
  std::vector<Tensor> made;
  for (const ProgramInput& input : inputs) made.push_back(input.tensor(type));
  return made;
}

std::vector<Tensor> Program::values(std::span<const Tensor> x) const {
  std::vector<Tensor> all(x.begin(), x.end());
  for (const Call& step : steps) all.push_back(computed(step, all, x[0].dtype()));
  return all;
}

Tensor Program::operator()(std::span<const Tensor> x) const {
  const std::vector<Tensor> all = values(x);
  std::vector<Tensor> row;
  for (int k : results) row.push_back(weighted_sum(all[static_cast<std::size_t>(k)]));
  for (const Tensor& input : x) row.push_back(sum(input));
  return stack(row);
}

std::string Program::cpp() const {
  constexpr Language kCpp = Language::cpp;
  std::string text = fmt::format("// Program {} of seed {}.\n", number, seed);
  text += "#include <tapegrad/tapegrad.h>\n#include <iostream>\nusing namespace tapegrad;\n\nint main() {\n";
  text +=
      "  const auto weighted = [](const Tensor& v) { return sum(v.reshape({-1}) * "
      "cos(arange(v.numel()).to(v.dtype()))); };\n";
  text += "  const std::vector<Tensor> inputs{\n";
  for (const ProgramInput& input : inputs) {
    const bool turned = input.layout == ProgramInput::Layout::transposed;
    const std::string shape = list(turned ? reversed(input.shape) : input.shape, kCpp);
    text += input.values.empty()
                ? fmt::format("      zeros({}, kFloat64)", shape)
                : fmt::format("      tensor({}, kFloat64).reshape({})", list(input.values, kCpp), shape);
    if (turned) {
      const Dims axes = reversed_axes(input.shape.rank());
      text += fmt::format(".permute({})", list(std::vector<int64_t>(axes.begin(), axes.end()), kCpp));
    }
    if (input.layout == ProgramInput::Layout::gaps) {
      text.insert(text.rfind('\n') + 7, "repeat_interleave(");
      text += ", 2, -1).slice(-1, kAll, kAll, 2)";
    }
    if (input.layout == ProgramInput::Layout::backwards) text += ".slice(0, kAll, kAll, -1)";
    text += ",\n";
  }
  text += "  };\n  const auto f = [&](std::span<const Tensor> x) {\n";
  for (std::size_t k = 0; k < steps.size(); ++k) {
    text += fmt::format("    const Tensor v{} = {};\n", inputs.size() + k, call_text(steps[k], inputs.size(), kCpp));
  }
  std::vector<std::string> row;
  for (int k : results) row.push_back(fmt::format("weighted({})", value_name(k, inputs.size(), kCpp)));
  for (std::size_t k = 0; k < inputs.size(); ++k) row.push_back(fmt::format("sum(x[{}])", k));
  text += fmt::format("    return stack({{{}}});\n  }};\n", fmt::join(row, ", "));
  return text + "  std::cout << f(inputs) << \"\\n\" << gradcheck(f, inputs).text << \"\\n\";\n}\n";
}

std::string Program::python() const {
  constexpr Language kPython = Language::python;
  std::string text;
  std::vector<std::string> names;
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    const ProgramInput& input = inputs[k];
    const bool turned = input.layout == ProgramInput::Layout::transposed;
    names.push_back(fmt::format("x{}", k));
    text += fmt::format("x{} = torch.tensor({}, dtype=torch.float64).reshape({})", k, list(input.values, kPython),
                        list(turned ? reversed(input.shape) : input.shape, kPython));
    if (turned) {
      const Dims axes = reversed_axes(input.shape.rank());
      text += fmt::format(".permute({})", list(std::vector<int64_t>(axes.begin(), axes.end()), kPython));
    }
    if (input.layout == ProgramInput::Layout::gaps) text += ".repeat_interleave(2, -1)[..., ::2]";
    if (input.layout == ProgramInput::Layout::backwards) text += ".flip(0)";
    text += ".detach().requires_grad_()\n";
  }
  for (std::size_t k = 0; k < steps.size(); ++k) {
    text += fmt::format("v{} = {}\n", inputs.size() + k, call_text(steps[k], inputs.size(), kPython));
  }
  std::vector<std::string> row;
  for (int k : results) row.push_back(fmt::format("weighted({})", value_name(k, inputs.size(), kPython)));
  for (const std::string& name : names) row.push_back(fmt::format("{}.sum()", name));
  return text + fmt::format("inputs = [{}]\ny = torch.stack([{}])\n", fmt::join(names, ", "), fmt::join(row, ", "));
}

// --- drawing ---

Program draw_program(uint64_t seed, int64_t number, std::span<const Rule> more) {
  Generator generator(seed * 1000003 + static_cast<uint64_t>(number));
  Program program;
  program.seed = seed;
  program.number = number;
  std::vector<Tensor> values;
  const auto draw = [&] { return Draw(generator, values); };
  const int64_t count = draw().between(1, 3);
  int64_t elements = 0;
  while (static_cast<int64_t>(program.inputs.size()) < count) {
    ProgramInput input = draw_input(draw());
    elements += input.shape.numel();
    if (!program.inputs.empty() && elements > 14) break;
    values.push_back(input.tensor(kFloat64));
    program.inputs.push_back(std::move(input));
  }
  const auto all = static_cast<int64_t>(rules().size() + more.size());
  const int64_t length = draw().between(3, 10);
  for (int attempt = 0; attempt < 300 && static_cast<int64_t>(program.steps.size()) < length; ++attempt) {
    const auto chosen = static_cast<std::size_t>(draw().below(all));
    Call call;
    call.rule = chosen < rules().size() ? &rules()[chosen] : &more[chosen - rules().size()];
    if (!call.rule->draw(draw(), call) || !is_smooth(call, values)) continue;
    const Tensor y = computed(call, values, kFloat64);
    if (y.numel() > tasks::kMostElements || y.dim() > 5 || !all_finite(y)) continue;
    const double size = tasks::largest(y);
    if (size > 1e4) continue;
    program.steps.push_back(std::move(call));
    values.push_back(y);
    if (size > tasks::kLargestOperand) {
      Call scale;
      scale.rule = &kScale;
      scale.t = {static_cast<int>(values.size()) - 1};
      scale.d = {std::max(0.0001, std::floor(2e4 / size) / 1e4)};
      values.push_back(computed(scale, values, kFloat64));
      program.steps.push_back(std::move(scale));
    }
  }
  program.results = unused(program);
  return program;
}

// --- checking ---

namespace {

struct Run {
  std::vector<double> y, grads;
};

Run run(const Program& program, DType type) {
  const std::vector<Tensor> inputs = program.tensors(type);
  Tape tape;
  std::vector<Tensor> leaves;
  for (const Tensor& input : inputs) leaves.push_back(input.as_leaf());
  const Tensor y = program(leaves);
  Run found{y.detach().to(kFloat64).to_vector<double>(), {}};
  const Gradients grads = tape.backward(weighted_sum(y));
  for (const Tensor& leaf : leaves) {
    if (leaf.numel() == 0) continue;
    const std::vector<double> part = grads[leaf].to(kFloat64).to_vector<double>();
    found.grads.insert(found.grads.end(), part.begin(), part.end());
  }
  return found;
}

// "" or the first element that differs by more than `tolerance` (1 + |b|).
std::string difference(std::string_view what, const std::vector<double>& a, const std::vector<double>& b,
                       double tolerance) {
  for (std::size_t k = 0; k < a.size(); ++k) {
    if (std::abs(a[k] - b[k]) <= tolerance * (1 + std::abs(b[k]))) continue;
    return fmt::format("{} {}: {} and {}", what, k, a[k], b[k]);
  }
  return {};
}

}  // namespace

std::string fault_of(const Program& program) {
  try {
    // Programs can be steep, or have a kink nearby: a fault shows at every step.
    std::string text;
    for (const double step : {0x1p-10, 0x1p-13, 0x1p-16}) {
      const GradcheckOptions options{.atol = 1e-10 / step, .rtol = 1e-5, .step = step};
      const GradcheckReport report = gradcheck(program, program.tensors(kFloat64), options);
      if (report.ok) {
        text.clear();
        break;
      }
      if (text.empty()) text = report.text;
    }
    if (!text.empty()) return text;
    const Run wide = run(program, kFloat64), narrow = run(program, kFloat32);
    double scale = 1;
    for (double grad : wide.grads) scale = std::max(scale, std::abs(grad));
    if (text = difference("float32 and float64 differ in element", narrow.y, wide.y, 2e-3); !text.empty()) return text;
    text = difference("float32 and float64 differ in gradient", narrow.grads, wide.grads, 1e-2 * scale);
    if (!text.empty()) return text;
    const KeepThreads keep;
    set_num_threads(1);
    const Run one = run(program, kFloat32);
    set_num_threads(2);
    const Run two = run(program, kFloat32);
    if (one.y != two.y || one.grads != two.grads) return "2 threads give other bits than 1";
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

// --- shrinking ---

namespace {

// The program without the steps and inputs that the results do not need.
Program without_dead_steps(const Program& program) {
  const std::size_t inputs = program.inputs.size();
  std::vector<bool> needed(inputs + program.steps.size(), false);
  for (int k : program.results) needed[static_cast<std::size_t>(k)] = true;
  for (std::size_t k = program.steps.size(); k-- > 0;) {
    if (!needed[inputs + k]) continue;
    for (int operand : program.steps[k].t) needed[static_cast<std::size_t>(operand)] = true;
  }
  if (std::none_of(needed.begin(), needed.begin() + static_cast<std::ptrdiff_t>(inputs), [](bool n) { return n; })) {
    needed[0] = true;  // a program has an input
  }
  std::vector<int> renamed(needed.size(), -1);
  Program rest = program;
  rest.inputs.clear();
  rest.steps.clear();
  int count = 0;
  for (std::size_t k = 0; k < needed.size(); ++k) {
    if (!needed[k]) continue;
    renamed[k] = count++;
    if (k < inputs) {
      rest.inputs.push_back(program.inputs[k]);
    } else {
      Call step = program.steps[k - inputs];
      for (int& operand : step.t) operand = renamed[static_cast<std::size_t>(operand)];
      rest.steps.push_back(std::move(step));
    }
  }
  for (int& k : rest.results) k = renamed[static_cast<std::size_t>(k)];
  return rest;
}

// The program with the result of one step as an input.
Program with_input_for(const Program& program, std::size_t step, bool rounded) {
  const std::vector<Tensor> values = program.values(program.tensors(kFloat64));
  const std::size_t inputs = program.inputs.size();
  const Tensor value = values[inputs + step].detach().contiguous();
  Program changed = program;
  ProgramInput input{value.shape(), value.to_vector<double>()};
  for (double& v : input.values) v = rounded ? std::round(v * 100) / 100 : v;
  changed.inputs.push_back(std::move(input));
  changed.steps.erase(changed.steps.begin() + static_cast<std::ptrdiff_t>(step));
  const auto moved = [&](int k) {
    const auto at = static_cast<std::size_t>(k);
    if (at < inputs) return k;
    if (at == inputs + step) return static_cast<int>(inputs);
    return at < inputs + step ? k + 1 : k;
  };
  for (Call& call : changed.steps) {
    for (int& k : call.t) k = moved(k);
  }
  for (int& k : changed.results) k = moved(k);
  return without_dead_steps(changed);
}

}  // namespace

Program shrunk(Program program) {
  const auto try_it = [&](const Program& shorter) {
    if (fault_of(shorter).empty()) return false;
    program = shorter;
    return true;
  };
  const auto try_all = [&] {
    if (program.results.size() > 1) {
      for (int k : program.results) {
        Program one = program;
        one.results = {k};
        if (try_it(without_dead_steps(one))) return true;
      }
    }
    for (std::size_t k = program.steps.size(); k-- > 0;) {
      // Use an intermediate value as the result: later steps were not needed.
      Program cut = program;
      cut.results = {static_cast<int>(program.inputs.size() + k)};
      if (program.results != cut.results && try_it(without_dead_steps(cut))) return true;
      const bool is_result = program.results == cut.results;
      if (is_result) continue;
      for (const bool rounded : {true, false}) {
        if (try_it(with_input_for(program, k, rounded))) return true;
      }
    }
    return false;
  };
  while (try_all()) {
  }
  return program;
}

}  // namespace tapegrad::tests
