// Values and derivatives at special points: kinks, ties, limits, NaN, infinities, no elements. values/FAMILY.txt has
// lines with a call (tests/support/call_text.h), in both floating types unless "in float64" or "in float32" follows it,
// and below each, with two spaces before them, its results. A line may begin with a word:
//
//   exactly        a result to the last bit, where another line allows rounding errors
//   each           the same, also of each element of a vector alone
//   slope K        the gradient of the sum of the first result with respect to argument K
//   gradient K     the same with the elements of the result times 1, 2, 3, ...
//   second K       the slope of the slope
//
// Each derivative is computed by the kernels of backward, and by recorded operations.
// ctest: families
#include <tapegrad/tests/support/call_text.h>
#include <tapegrad/tests/support/patterns.h>
#include <tapegrad/tests/support/testing.h>

namespace tapegrad::tests {
namespace {

// How far a result may be from the expected one.
double tolerance(double expected, bool single) {
  const double size = std::abs(expected);
  if (size == 0) return single ? 1e-5 : 1e-11;
  return single ? 1.3e-6 * size + 1e-5 * std::min(1.0, size) : 1e-14 * size;
}

// The elements that differ; nothing if none does. NaN equals NaN.
std::string difference(const Tensor& found, const Tensor& expected, bool exactly) {
  if (found.dtype() != expected.dtype() || !(found.shape() == expected.shape()))
    return fmt::format("{} {}", name(found.dtype()), str(found.shape()));
  const bool single = found.dtype() == kFloat32;
  std::string text;
  const auto numbers = [](const Tensor& x) { return x.detach().contiguous().to(kFloat64).to_vector<double>(); };
  const std::vector<double> a = numbers(found), b = numbers(expected);
  for (std::size_t i = 0; i < a.size(); ++i) {
    const bool equal_signs = std::signbit(a[i]) == std::signbit(b[i]);
    const bool same = a[i] == b[i] ? !exactly || equal_signs : std::isnan(a[i]) && std::isnan(b[i]);
    if (!same && (exactly || !(std::abs(a[i] - b[i]) <= tolerance(b[i], single))))
      text += fmt::format("element {} is {}\n", i, a[i]);
  }
  return text.empty() && found.dtype() == kInt64 && !equal(found, expected) ? "other integers" : text;
}

// The derivative that a line names, recorded or not.
Tensor derivative(const ReadCall& call, std::string_view what, std::size_t of, bool recorded) {
  const auto f = [&](const Tensor& x) {
    std::vector<Tensor> operands = call.tensors;
    operands[of] = x;
    return call.f(operands).at(0);
  };
  const Tensor& x = call.tensors.at(of);
  if (what == "gradient") return gradient(f, x, recorded);
  if (what == "slope") return slope(f, x, recorded);
  const Tensor leaf = x.as_leaf();
  Tape tape;
  const Tensor dx = tape.backward(sum(f(leaf)), {.create_graph = true})[leaf];
  return tape.backward(sum(dx), {.create_graph = recorded})[leaf].detach();
}

void check(const std::string& line, const std::vector<std::string>& expected, DType type) {
  const ReadCall call = read_call(line, type);
  const std::vector<Tensor> results = call.f(call.tensors);
  std::size_t result = 0;
  for (const std::string& text : expected) {
    static const Pattern kLine("(?:(exactly|each) |(slope|gradient|second) (\\d) )?(.*)");
    const Match parts = kLine.whole(text);
    const Tensor right = operand_of(parts[4], type);
    SCOPED_TRACE(fmt::format("{} in {}: {}", line, name(type), text));
    if (parts[2].empty()) {
      EXPECT_EQ(difference(results.at(result++), right, !parts[1].empty()), "");
      for (int64_t i = 0; parts[1] == "each" && i < right.numel(); ++i)
        EXPECT_EQ(difference(call.f({call.tensors.at(0)[i]}).at(0), right[i], true), "") << "element " << i << " alone";
      continue;
    }
    for (const bool recorded : {false, true})
      EXPECT_EQ(difference(derivative(call, parts[2], std::stoul(parts[3]), recorded), right, false), "")
          << (recorded ? "recorded" : "by the kernels of backward");
  }
  EXPECT_TRUE(result == 0 || result == results.size()) << line << ": " << results.size() << " results";
}

// A call and the lines below it.
using Block = std::pair<std::string, std::vector<std::string>>;

std::vector<Block> blocks_of(const std::filesystem::path& file) {
  std::vector<Block> blocks;
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("#")) continue;
    if (line.starts_with("  ")) {
      blocks.back().second.push_back(line.substr(2));
    } else {
      blocks.emplace_back(line, std::vector<std::string>());
    }
  }
  return blocks;
}

TEST(Values, AtSpecialPoints) {
  std::size_t calls = 0;
  for (const auto& entry : std::filesystem::directory_iterator(std::string(kTestsDir) + "/autograd/cases/values"))
    for (const auto& [line, expected] : blocks_of(entry.path())) {
      EXPECT_FALSE(expected.empty()) << line;
      for (const DType type : {kFloat32, kFloat64}) {
        if (line.ends_with(type == kFloat32 ? " in float64" : " in float32")) continue;
        EXPECT_EQ(error_of([&, &of = line, &right = expected] { check(of, right, type); }), "no error") << line;
      }
      ++calls;
    }
  EXPECT_GT(calls, 200U);
}

// What the comparison is for.
TEST(Values, DifferencesAreFound) {
  const auto differs = [](const char* found, const char* expected, bool exactly = false) {
    return !difference(operand_of(found), operand_of(expected), exactly).empty();
  };
  EXPECT_FALSE(differs("[1.0, nan, -inf]", "[1.0, nan, -inf]", true));
  EXPECT_FALSE(differs("[1.000001, 0]", "[1.0, -0.0]"));
  EXPECT_TRUE(differs("[1.0, 0]", "[1.0, -0.0]", true));
  EXPECT_TRUE(differs("[1.0000001, 0]", "[1.0, 0]", true));
  for (const char* other : {"[1.00002, 0]", "[1.0, 0.0001]", "[nan, 0]", "[inf, 0]", "[[1.0, 0]]", "[1, 0]"})
    EXPECT_TRUE(differs(other, "[1.0, 0]")) << other;
  EXPECT_TRUE(differs("[1.001e-20]", "[1e-20]"));
  EXPECT_TRUE(differs("[inf]", "[nan]"));
  EXPECT_TRUE(differs("[9223372036854775807]", "[9223372036854775806]"));
}

}  // namespace
}  // namespace tapegrad::tests
