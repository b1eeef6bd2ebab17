// Writes the program as text, and compares numbers as a reader of the tutorials would: by their printed digits.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <tapegrad/tutorials/exercises/check.h>

#include <algorithm>
#include <cmath>

namespace tapegrad::tasks::exercises {
namespace {

constexpr std::string_view kStart = R"(#include <tapegrad/autograd/io/safetensors.h>
#include <tapegrad/tapegrad.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <exception>
#include <functional>
#include <iostream>
#include <numbers>
#include <string>
#include <vector>

namespace exercise_check {
struct Given {
  tapegrad::SafeTensors all;
  tapegrad::Tensor operator()(const char* name) const { return all[name]; }
};
struct Answers {
  tapegrad::NamedTensors all;
  void operator()(const char* name, const tapegrad::Tensor& value) { all.push_back({name, value.detach()}); }
};
}  // namespace exercise_check
)";

constexpr std::string_view kEnd = R"(
int main(int, char** argv) {
  try {
    exercise_check::Answers answers;
    check_answers({tapegrad::load_safetensors(argv[1])}, answers);
    tapegrad::save_safetensors(argv[2], answers.all);
    return 0;
  } catch (const std::exception& e) {
    std::cerr << e.what() << "\n";
  }
)";

bool is_whole(double x) { return x == std::floor(x); }  // not NaN, but infinity

std::string digits_of(double x, const char* format) {
  return std::isnan(x) ? "NaN" : fmt::format(fmt::runtime(format), x);
}

// The two numbers with as many digits as show that they differ.
std::pair<std::string, std::string> digits_of(double expected, double got) {
  if (is_whole(expected) && is_whole(got)) return {digits_of(expected, "{:.17g}"), digits_of(got, "{:.17g}")};
  std::pair<std::string, std::string> texts;
  for (const char* const format : {"{:.4f}", "{:.4g}", "{:.8g}", "{:.17g}"}) {
    texts = {digits_of(expected, format), digits_of(got, format)};
    if (texts.first != texts.second) break;
  }
  return texts;
}

bool agree(double expected, double got, double tolerance) {
  if (expected == got || (std::isnan(expected) && std::isnan(got))) return true;  // the same infinity, too
  return std::abs(expected - got) <= tolerance + 1e-4 * std::abs(expected);
}

// "row 2, column 3", in matrix [1, 2] of a batch.
std::string place_of(const Shape& shape, int64_t at, Language language) {
  const bool korean = language == Language::ko;
  std::vector<int64_t> place(shape.begin(), shape.end());
  for (std::size_t i = place.size(); i-- > 0;) {
    const int64_t size = place[i];
    place[i] = at % size + 1;
    at /= size;
  }
  if (place.empty()) return {};
  if (place.size() == 1) return fmt::format(fmt::runtime(korean ? ", {}번째 수" : ", number {}"), place[0]);
  const std::size_t before = place.size() - 2;
  std::string text;
  if (before > 0) {
    text = fmt::format(fmt::runtime(korean ? ", 행렬 [{}]" : ", matrix [{}]"),
                       fmt::join(place.begin(), place.begin() + static_cast<std::ptrdiff_t>(before), ", "));
  }
  return text +
         fmt::format(fmt::runtime(korean ? ", {}행 {}열" : ", row {}, column {}"), place[before], place[before + 1]);
}

std::string differs(std::string_view where, std::string_view expected, std::string_view got, Language language) {
  const Text form{"{}: 기댓값은 {}인데 {} 값이 나왔습니다", "{}: expected {}, got {}"};
  return fmt::format(fmt::runtime(form.in(language)), where, expected, got);
}

std::string difference_of(const NamedTensor& expected, const Tensor& got, double tolerance, Language language) {
  if (expected.tensor.shape() != got.shape()) {
    const Text shape{"{}의 모양", "shape of {}"};
    return differs(fmt::format(fmt::runtime(shape.in(language)), expected.name), str(expected.tensor.shape()),
                   str(got.shape()), language);
  }
  const auto right = expected.tensor.to(kFloat64).to_vector<double>();
  const auto ours = got.to(kFloat64).to_vector<double>();
  for (std::size_t i = 0; i < right.size(); ++i) {
    if (agree(right[i], ours[i], tolerance)) continue;
    const auto [wanted, found] = digits_of(right[i], ours[i]);
    const std::string place = place_of(got.shape(), static_cast<int64_t>(i), language);
    return differs(expected.name + place, wanted, found, language);
  }
  return {};
}

}  // namespace

std::string start_of_program() { return std::string(kStart); }

std::string function_of(const Exercise& exercise) {
  return fmt::format(
      "\nstatic void check_answers(const exercise_check::Given& given, exercise_check::Answers& answer) {{\n"
      "  using namespace tapegrad;\n{}\n}}\n",
      exercise.check);
}

std::string program_of(const Exercise& exercise, std::string_view file) {
  return fmt::format("{}#include \"{}\"\n{}{}  return {};\n}}\n", start_of_program(), file, function_of(exercise), kEnd,
                     kThrew);
}

std::string first_difference(const Exercise& exercise, const NamedTensors& answers, Language language) {
  const Numbers numbers = exercise.numbers();
  for (const NamedTensor& expected : numbers.expected) {
    const auto has_name = [&](const NamedTensor& answer) { return answer.name == expected.name; };
    const auto answer = std::find_if(answers.begin(), answers.end(), has_name);
    if (answer == answers.end()) fail("exercise", fmt::format("the check has no answer {}", expected.name));
    std::string difference = difference_of(expected, answer->tensor, exercise.tolerance, language);
    if (!difference.empty()) return difference;
  }
  return {};
}

}  // namespace tapegrad::tasks::exercises
