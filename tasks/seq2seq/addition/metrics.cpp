// Measures a trained model's accuracy by digit position, carries and length.
#include <fmt/format.h>
#include <tapegrad/autograd/io/internal/json_value.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/tasks/seq2seq/addition/addition.h>
#include <tapegrad/tasks/seq2seq/sample.h>

#include <algorithm>
#include <limits>

namespace tapegrad::tasks {
namespace {

constexpr int64_t kProblemsPerLength = 2000;

struct Count {
  int64_t all = 0, right = 0;
  void add(bool is_right) {
    ++all;
    right += is_right ? 1 : 0;
  }
  double exact() const { return share(right, all); }
};

// right [N, T]: the share of correct digits at each position.
void report_digits(ExtraMetrics& out, Json& json, const Tensor& right) {
  std::vector<double> shares = mean(right.to(kFloat64), {0}).to_vector<double>();
  constexpr std::size_t kTogether = 8;  // columns that fit the terminal
  out.text += "\nDigit accuracy, by position\n";
  for (std::size_t begin = 0; begin < shares.size(); begin += kTogether) {
    std::string places, values;
    for (std::size_t i = begin; i < std::min(begin + kTogether, shares.size()); ++i) {
      places += fmt::format("{:>9}", fmt::format("10^{}", shares.size() - 1 - i));
      values += fmt::format("{:>9.5f}", shares[i]);
    }
    out.text += fmt::format("  {}\n  {}\n", places, values);
  }
  json["digit_accuracy"] = shares;
}

void report_carries(ExtraMetrics& out, Json& json, const Tensor& source, const std::vector<bool>& exact) {
  const int64_t width = source.size(1) / 2;
  const auto digits = static_cast<std::size_t>(width);
  std::vector<Count> by_count(digits);
  Count chained;
  const int64_t* tokens = source.data<int64_t>();
  for (std::size_t i = 0; i < exact.size(); ++i, tokens += source.size(1)) {
    const Carries carries = carries_of(number_of({tokens, digits}), number_of({tokens + width + 1, digits}));
    by_count[static_cast<std::size_t>(std::min(carries.count, width - 1))].add(exact[i]);
    if (carries.chained) chained.add(exact[i]);
  }
  out.text += "\nCarries in the sum           problems    exact\n";
  for (std::size_t i = 0; i < by_count.size(); ++i) {
    if (by_count[i].all > 0)
      out.text += fmt::format("  {:<26} {:>8} {:>8.4f}\n", i == 0 ? "none" : std::to_string(i), by_count[i].all,
                              by_count[i].exact());
    json["carries"].push_back({{"carries", i}, {"count", by_count[i].all}, {"exact_match", by_count[i].exact()}});
  }
  if (chained.all > 0)
    out.text += fmt::format("  {:<26} {:>8} {:>8.4f}\n", "a carry that causes another", chained.all, chained.exact());
  json["carry_makes_carry"] = {{"count", chained.all}, {"exact_match", chained.exact()}};
}

// Problems whose longer number has `digits` digits.
struct Length {
  std::string name;
  int64_t digits, width;
  int64_t low, high;        // the first number is in [low, high); the two may be exchanged
  bool fits_first = false;  // the second number is drawn so that the sum has no more digits
  bool trained = false;
};

Batch problems_of(const Length& length, int64_t top, Generator& generator) {
  std::vector<int64_t> first, second;
  const auto below = [&](int64_t n) { return static_cast<int64_t>(generator.random64() % static_cast<uint64_t>(n)); };
  if (length.digits == 1 && length.trained) {  // every such problem
    for (int64_t pair = 0; pair < length.high * length.high; ++pair) {
      first.push_back(pair / length.high);
      second.push_back(pair % length.high);
    }
  }
  while (length.digits > 1 && static_cast<int64_t>(first.size()) < kProblemsPerLength) {
    int64_t a = length.low + below(length.high - length.low);
    int64_t b = below(length.fits_first ? top - a : length.high);
    if (below(2) == 1) std::swap(a, b);
    first.push_back(a);
    second.push_back(b);
  }
  const auto n = static_cast<int64_t>(first.size());
  return addition_batch(tensor(first, {n}), tensor(second, {n}), length.width);
}

}  // namespace

ExtraMetrics AdditionTask::extra_metrics(const nn::Transformer& model, const Batch& tests, const Tensor& predicted,
                                         Generator& generator) const {
  ExtraMetrics out;
  Json json;
  const Tensor right = right_tokens(predicted, tests.target);
  report_digits(out, json, right);
  report_carries(out, json, tests.source, all(right, 1).to_vector<bool>());

  std::vector<Length> lengths;
  int64_t power = 1;  // 10^(digits - 1)
  for (int64_t digits = 1; digits <= max_digits_; ++digits, power *= 10) {
    const int64_t high = std::min(10 * power, limit_);
    lengths.push_back({std::to_string(digits), digits, max_digits_, digits == 1 ? 0 : power, high, false, true});
  }
  if (max_digits_ > 1)
    lengths.push_back({fmt::format("{}, one above {}", max_digits_, limit_ - 1), max_digits_, max_digits_, limit_,
                       2 * limit_, true, false});
  const int64_t longest = model.config.longest_input();
  const bool bounded = longest != std::numeric_limits<int64_t>::max();
  const int64_t reach = bounded ? (longest - 1) / 2 : max_digits_ + 3;
  const int64_t widest = std::min<int64_t>(reach, 17);
  for (int64_t digits = max_digits_ + 1; digits <= widest; ++digits, power *= 10)
    lengths.push_back({std::to_string(digits), digits, digits, power, 5 * power, false, false});

  out.text += "\nDigits of the longer number  problems    exact   digit accuracy\n";
  for (const Length& length : lengths) {
    const Batch batch = problems_of(length, 2 * limit_, generator);
    const Tensor same = right_tokens(decode(*this, model, batch.source, length.width), batch.target);
    const Count exact{batch.source.size(0), sum(all(same, 1)).item<int64_t>()};
    const double digits_right = mean(same.to(kFloat64)).item();
    out.text += fmt::format("  {:<26} {:>8} {:>8.4f}   {:.4f}{}\n", length.name, exact.all, exact.exact(), digits_right,
                            length.trained ? "" : "   not in training");
    json["digits"].push_back({{"digits", length.digits},
                              {"problems", length.name},
                              {"trained", length.trained},
                              {"count", exact.all},
                              {"exact_match", exact.exact()},
                              {"digit_accuracy", digits_right}});
  }
  if (bounded)
    out.text += fmt::format("  The model's {} positions allow numbers of up to {} digits.\n", longest, widest);
  out.json = json.dump();
  return out;
}

}  // namespace tapegrad::tasks
