// The derivatives of elementwise operations against dual numbers: the formula of each value, and nothing else of the
// operation, is computed on dual numbers (dual.h), which gives its exact first and second derivatives. No differences,
// no step size: backward must agree to a few units in the last place, near 0 and at 1e30, too.
//
// A new line of kFunctions is checked by itself; a formula of another table that no row has is named as missing.
// (Special functions are not formulas; tests of golden values and gradient checks are for them.)
// build: -O1
#include <tapegrad/tests/autograd/witnesses/formula_rows.h>
#include <tapegrad/tests/support/testing.h>

namespace tapegrad::tests {
namespace {

using N_DUAL::Number;
using Dual = N_DUAL::Vec<Number>;
using Twice = N_DUAL::Vec<Dual>;

// --- the exact derivatives ---

struct Exact {
  Points value;                             // of each combination of points
  std::vector<Points> first;                // by operand
  std::vector<std::vector<Points>> second;  // by two operands
};

std::vector<Points> combinations(const std::vector<Points>& points) {
  std::vector<Points> all(points.size());
  std::size_t count = 1;
  for (const Points& one : points) count *= one.size();
  std::size_t inner = count;
  for (std::size_t k = 0; k < points.size(); ++k) {
    inner /= points[k].size();
    for (std::size_t i = 0; i < count; ++i) all[k].push_back(points[k][i / inner % points[k].size()]);
  }
  return all;
}

Twice at(const Row& row, const std::vector<Points>& x, std::size_t point, std::size_t i, std::size_t j) {
  std::vector<Twice> operands(x.size());
  std::vector<const void*> in(x.size());
  for (std::size_t k = 0; k < x.size(); ++k) {
    operands[k] = Twice(Dual(x[k][point], k == i ? 1 : 0), Dual(k == j ? 1 : 0, 0));
    in[k] = &operands[k];
  }
  Twice y;
  row.value->float64(in.data(), &y, 1, row.numbers.data());
  return y;
}

Exact exact(const Row& row, const std::vector<Points>& x) {
  const std::size_t count = x[0].size(), operands = x.size();
  Exact e{Points(count), std::vector<Points>(operands, Points(count)),
          std::vector<std::vector<Points>>(operands, std::vector<Points>(operands, Points(count)))};
  for (std::size_t point = 0; point < count; ++point) {
    for (std::size_t i = 0; i < operands; ++i)
      for (std::size_t j = 0; j < operands; ++j) {
        const Twice y = at(row, x, point, i, j);
        e.value[point] = static_cast<double>(y.value.value);
        e.first[i][point] = static_cast<double>(y.value.slope);
        e.second[i][j][point] = static_cast<double>(y.slope.slope);
      }
  }
  return e;
}

// --- comparison ---

// The derivative of one order, by the operands `by`, as backward has found it.
struct Found {
  std::string_view how;
  std::vector<std::size_t> by;
  Points numbers;
};

// Units in the last place, of the value and of first and second derivatives.
constexpr double kUnits[] = {6, 8, 16};

// A line for the worst point; nothing if all are right.
std::string compare(const Row& row, const std::vector<Points>& x, const Exact& e, const Found& found) {
  const std::size_t order = found.by.size();
  const Points& expected = order == 0   ? e.value
                           : order == 1 ? e.first[found.by[0]]
                                        : e.second[found.by[0]][found.by[1]];
  double worst = 1;
  std::string text;
  for (std::size_t point = 0; point < expected.size(); ++point) {
    bool smooth = std::isfinite(e.value[point]);
    for (std::size_t i : found.by) smooth &= order < 2 || std::isfinite(e.first[i][point]);
    const double a = found.numbers[point], b = expected[point];
    if (!smooth || std::isnan(b) || a == b) continue;
    Points at;
    for (const Points& one : x) at.push_back(one[point]);
    const double size = std::max(std::abs(b), row.size ? row.size(at, static_cast<int>(order)) : 0);
    const double unit = size * std::numeric_limits<double>::epsilon() + std::numeric_limits<double>::min();
    const double units = std::isfinite(a) && std::isfinite(b) ? std::abs(a - b) / unit : HUGE_VAL;
    if (units <= row.more * kUnits[order] || units <= worst) continue;
    worst = units;
    text = fmt::format("{}({}): {} by {}: backward {}, dual numbers {} ({:.3g} units)\n", row.name, fmt::join(at, ", "),
                       found.how, fmt::join(found.by, ", "), a, b, units);
  }
  return text;
}

Points numbers_of(const Tensor& x) { return x.detach().contiguous().to_vector<double>(); }

// The gradient for dy = 2 (an exact factor), by the kernels of backward and by recorded operations, and its gradients.
std::string wrong(const Row& row) {
  std::string text;
  const std::vector<Points> x = combinations(row.points);
  const Exact e = exact(row, x);
  const Shape shape = {static_cast<int64_t>(x[0].size())};
  std::vector<Tensor> leaves;
  for (const Points& one : x) leaves.push_back(tensor(one, shape).to(kFloat64).as_leaf());
  const Tensor two = full(shape, 2, kFloat64), one = ones(shape, kFloat64);
  const auto of = [&](const Gradients& gradients, std::size_t i, double factor) {
    const Tensor* const dx = gradients.find(leaves[i]);
    return dx ? numbers_of(*dx * factor) : Points(x[0].size());
  };
  {
    Tape tape;
    const Tensor y = row.f(leaves);
    text += compare(row, x, e, {"value", {}, numbers_of(y)});
    const Gradients fused = tape.backward(y, {.grad_output = two});
    for (std::size_t i = 0; i < x.size(); ++i) text += compare(row, x, e, {"derivative", {i}, of(fused, i, 0.5)});
  }
  Tape tape;
  const Gradients recorded = tape.backward(row.f(leaves), {.create_graph = true, .grad_output = two});
  for (std::size_t i = 0; i < x.size(); ++i) {
    text += compare(row, x, e, {"recorded derivative", {i}, of(recorded, i, 0.5)});
    const Tensor* const dx = recorded.find(leaves[i]);
    Gradients again;
    if (dx && needs_grad(*dx)) again = tape.backward(*dx, {.retain_graph = true, .grad_output = one});
    for (std::size_t j = 0; j < x.size(); ++j) text += compare(row, x, e, {"derivative", {i, j}, of(again, j, 0.5)});
  }
  return text;
}

TEST(DualNumbers, AgreeWithBackward) {
  for (const Row& row : all_rows()) EXPECT_EQ(wrong(row), "");
}

// Of an operation with a value that is right, a gradient or a second derivative that is not.
TEST(DualNumbers, FindWrongDerivatives) {
  const Formula& cubed = N_DUAL::arithmetic_formulas().cube.value;
  const auto planted = [&](double first, double second) {
    return Row{"cube", &cubed, of_one([first, second](T x) {
                 const auto slope = [second](T at) {
                   return record(*tasks::find_op("square"), (at * at).detach(), {at},
                                 [at, second](T dy) -> Grads { return dy * (at * second); });
                 };
                 return record(*tasks::find_op("pow"), (x * x * x).detach(), {x},
                               [x, first, slope](T dy) -> Grads { return dy * (first * slope(x)); });
               })};
  };
  EXPECT_EQ(wrong(planted(3, 2)), "");
  EXPECT_NE(wrong(planted(3 + 1e-14, 2)).find("derivative by 0: "), std::string::npos);
  EXPECT_EQ(wrong(planted(3, 2 + 1e-14)).find("derivative by 0: "), std::string::npos);
  EXPECT_NE(wrong(planted(3, 2 + 1e-14)).find("derivative by 0, 0: "), std::string::npos);
  Row other = planted(3, 2);
  other.f = of_one([](T x) { return x * x * x + 1e-12; });  // another value than that of the formula
  EXPECT_NE(wrong(other).find("value by : "), std::string::npos);
}

TEST(DualNumbers, CheckEveryFormula) {
  std::set<MapKernel> checked;
  for (const Row& row : all_rows()) checked.insert(row.value->float32);
  for (const N_DUAL::Made& formula : N_DUAL::made())
    EXPECT_TRUE(checked.contains(formula.first)) << "no row for the formula " << formula.type;
  EXPECT_GE(N_DUAL::made().size(), 100U);
}

// Files with formulas that this test does not include would go unnoticed.
TEST(DualNumbers, KnowEveryFileOfFormulas) {
  const std::set<std::string> known = {
      "elementwise/arithmetic.cpp",
      "elementwise/elementwise.cpp",
      "elementwise/gate.cpp",
      "elementwise/quotients.cpp",
      "loss/loss.cpp",
      "fuse/actions.cpp",  // steps of fuse(), whose derivatives are those of the formulas above
  };
  const std::filesystem::path ops = std::string(kSourceDir) + "/autograd/ops";
  std::set<std::string> found;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(ops)) {
    if (entry.path().extension() != ".cpp") continue;
    std::ifstream in(entry.path());
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    for (const std::string_view maker : {"value_of<", "from_x(", "from_x<", "from_y("}) {
      if (text.find(maker) != std::string::npos) found.insert(entry.path().lexically_relative(ops).string());
    }
  }
  EXPECT_EQ(found, known);
}

}  // namespace
}  // namespace tapegrad::tests
