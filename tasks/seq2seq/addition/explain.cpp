// Explains the addition task, and measures a trained model's accuracy by digit position, carries and length.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <tapegrad/autograd/internal/fixed_math.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/nn/loss.h>
#include <tapegrad/tasks/language/messages.h>
#include <tapegrad/tasks/seq2seq/addition/addition.h>
#include <tapegrad/tasks/seq2seq/sample.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

namespace tapegrad::tasks {
namespace {

constexpr int64_t kProblemsPerLength = 2000;

void explain_data(std::string& out, const Tokens& source, const Tokens& target, int64_t width, int64_t limit) {
  const Tokens first(source.begin(), source.begin() + width), second(source.begin() + width + 1, source.end());
  const auto number = [](const Tokens& digits) {
    int64_t n = 0;
    for (const int64_t digit : digits) n = 10 * n + digit;
    return n;
  };
  out += said("=== Addition task: the data ===\nMaximum digits: {}\n\n", width);
  out += said(
      "1. Input sequence\n   Tensor shape: [1, {}]\n   First number: {} (indices {})\n"
      "   Plus sign: '+' (index {})\n   Second number: {} (indices {})\n   Full input: {}\n\n",
      source.size(), number(first), first, AdditionTask::kPlus, number(second), second, source);
  out += said("2. Target sequence\n   Tensor shape: [1, {}]\n   Actual sum: {}\n   Target sequence: {}\n\n",
              target.size(), number(target), target);
  out += said(
      "3. Numbers as tokens\n"
      "   Each digit is its own token and 10 is the plus sign: 11 tokens. Leading zeros\n"
      "   make all numbers equally long; with three digits:\n"
      "      7 -> \"007\" -> [0, 0, 7]\n     25 -> \"025\" -> [0, 2, 5]\n    348 -> \"348\" -> [3, 4, 8]\n"
      "   Both numbers are sampled from 0 to {}, so the sum has at most {} digits.\n"
      "   The answer starts with its highest digit. Each digit may depend on a carry\n"
      "   from lower digits, which the decoder has not written yet.\n\n",
      limit - 1, width);
}

void explain_masks(std::string& out, const Tokens& source, const Tokens& target) {
  Tokens read{0}, seen;
  read.insert(read.end(), target.begin(), target.end() - 1);
  for (const int64_t token : source) seen.push_back(token != 0 ? 1 : 0);
  out += said(
      "=== Masks ===\n"
      "Decoder input, a 0 and then the target without its last token: {}\n"
      "Mask of the source (1: visible): {}\n"
      "   All numbers are equally long: there is no padding, and nothing is masked.\n"
      "   The tutorial's mask (token != 0, --tutorial-masks): {}\n"
      "   It treats every digit 0 as padding: the model has to infer zeros from the\n"
      "   other positions. Example: 310 + 98 is [3, 1, 0, 10, 0, 9, 8] with the mask\n"
      "   [1, 1, 0, 1, 0, 1, 1].\n"
      "Causal mask of the decoder (row t attends to tokens 0 to t):\n",
      read, Tokens(source.size(), 1), seen);
  out += causal_mask_text(target.size()) + '\n';
}

// The section's example: one answer of three digits; its numbers are probabilities.
void explain_addition_loss(std::string& out) {
  constexpr double kShown[3][10] = {{0.1, 0.8, 0.1}, {0.1, 0.1, 0.7, 0.1}, {0.8, 0.1, 0.1}};
  const Tokens target{1, 2, 0};
  auto to = std::back_inserter(out);
  out += said("=== Loss, by hand (one answer of three digits) ===\n1. Predicted probabilities of 0 ... 9\n");
  std::vector<double> values;
  for (const auto& digit : kShown) {
    fmt::format_to(to, "   {}\n", digit);
    values.insert(values.end(), digit, digit + 10);
  }
  out += said("2. Target: {}, the answer 120; one-hot:\n", target);
  const Tensor hot = one_hot(tensor(target, {3}), 10);
  for (int64_t i = 0; i < 3; ++i) fmt::format_to(to, "   {}\n", hot[i].to_vector<int64_t>());
  const Tensor outputs = log(tensor(values, {1, 3, 10})), targets = tensor(target, {1, 3});
  out += said(
      "3. Most likely digits: {}; exact match: {}; accuracy {:.1f}\n"
      "4. Loss: the sum of -log(p of the target digit), divided by the batch size\n   ",
      argmax(outputs[0], -1).to_vector<int64_t>(), nn::exact_match(outputs, targets) == 1 ? "True" : "False",
      nn::exact_match(outputs, targets));
  for (std::size_t i = 0; i < 3; ++i)
    fmt::format_to(to, "{}{:.3f}", i == 0 ? "" : " + ", -fixed::log(kShown[i][target[i]]));
  out += said(" = {:.3f}\n   Accuracy is exact match: one wrong digit makes an answer wrong.\n",
              nn::sequence_loss(outputs, targets).item());
}

struct Count {
  int64_t all = 0, right = 0;
  double exact() const { return share(right, all); }
};

std::vector<int64_t> numbers(const Tensor& source, int64_t begin, int64_t width) {
  std::vector<int64_t> out;
  const int64_t* tokens = source.data<int64_t>();
  for (int64_t i = 0; i < source.size(0); ++i, tokens += source.size(1)) {
    int64_t number = 0;
    for (int64_t d = begin; d < begin + width; ++d) number = 10 * number + tokens[d];
    out.push_back(number);
  }
  return out;
}

// right [N, T]: the share of correct digits at each position.
void report_digits(ExtraMetrics& out, nlohmann::ordered_json& json, const Tensor& right) {
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

void report_carries(ExtraMetrics& out, nlohmann::ordered_json& json, const Tensor& source,
                    const std::vector<bool>& exact) {
  const int64_t width = source.size(1) / 2;
  const std::vector<int64_t> first = numbers(source, 0, width), second = numbers(source, width + 1, width);
  std::vector<Count> by_count(static_cast<std::size_t>(width));
  Count chained;
  for (std::size_t i = 0; i < first.size(); ++i) {
    const Carries carries = carries_of(first[i], second[i]);
    Count& count = by_count[static_cast<std::size_t>(std::min(carries.count, width - 1))];
    for (Count* c : {&count, carries.chained ? &chained : nullptr}) {
      if (c == nullptr) continue;
      ++c->all;
      c->right += exact[i] ? 1 : 0;
    }
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

std::string AdditionTask::explain(const Batch* example) const {
  const Batch shown = example ? *example : addition_batch(tensor({153}), tensor({391}), max_digits_);
  const Tokens source = shown.source.to_vector<int64_t>(), target = shown.target.to_vector<int64_t>();
  std::string out;
  explain_data(out, source, target, max_digits_, limit_);
  explain_masks(out, source, target);
  explain_addition_loss(out);
  return out;
}

ExtraMetrics AdditionTask::extra_metrics(const nn::Transformer& model, const Batch& tests, const Tensor& predicted,
                                         Generator& generator) const {
  ExtraMetrics out;
  nlohmann::ordered_json json;
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
