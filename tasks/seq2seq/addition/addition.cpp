// Draws addition problems, records those drawn in training, and parses expressions.
#include <fmt/format.h>
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/nn/mask.h>
#include <tapegrad/tasks/seq2seq/addition/addition.h>
#include <tapegrad/tasks/seq2seq/text_reader.h>
#include <tapegrad/train/drawing/tables.h>

#include <algorithm>

namespace tapegrad::tasks {
namespace {

constexpr int64_t kMostDrawn = int64_t{1} << 20;  // pairs of operands that are recorded, one bit each

int64_t power_of_10(int64_t exponent) {
  int64_t power = 1;
  for (; exponent > 0; --exponent) power *= 10;
  return power;
}

// Parses "310 + 98".
class ExpressionReader : TextReader {
 public:
  ExpressionReader(std::string_view text, int64_t max_digits) : TextReader(text), max_digits_(max_digits) {}

  std::pair<int64_t, int64_t> read() {
    const int64_t first = operand();
    skip_blanks();
    if (done() || here() != '+') fault("a digit or +", kHint);
    ++at_;
    const int64_t second = operand();
    skip_blanks();
    if (!done()) fault("a digit or the end", kHint);
    const int64_t sum = first + second;
    const std::string written = std::to_string(sum);
    if (static_cast<int64_t>(written.size()) > max_digits_)
      wrong(fmt::format("expected a sum of at most {} digits, got {}", max_digits_, sum));
    return {first, second};
  }

 private:
  static constexpr std::string_view kHint = " (as in 310+98)";

  int64_t operand() {
    skip_blanks();
    if (!at_digit()) fault("a digit", kHint);
    const std::size_t begin = at_;
    while (at_digit()) ++at_;
    std::string_view digits = text_.substr(begin, at_ - begin);
    while (digits.size() > 1 && digits.front() == '0') digits.remove_prefix(1);
    if (static_cast<int64_t>(digits.size()) > max_digits_)
      wrong(fmt::format("column {}: expected at most {} digits, got {}", column_of(begin), max_digits_, digits));
    int64_t number = 0;
    for (const char c : digits) number = 10 * number + (c - '0');
    return number;
  }

  [[noreturn]] void wrong(std::string_view message) const {
    bad_request("--expression", "{}: {}{}", quoted(), message, kHint);
  }

  int64_t max_digits_;
};

}  // namespace

const TaskInfo AdditionTask::kInfo = info_of<AdditionTask>();

void AdditionTask::Settings::list(Fields& f) {
  Options in_data(f, Group::data);
  constexpr Limits kDigits{.least = 1, .most = 17};  // sums fit into 64 bits
  in_data("max-digits", "digits of each operand, and of the answer", max_digits, kDigits).example();
  in_data("tutorial-masks", "mask the zeros of the input, and train as the tutorial does", tutorial_masks);
}

RunOptions AdditionTask::defaults() {
  RunOptions o(kInfo, Settings{});
  o.config.vocab_size = 11;
  o.config.hidden_size = 256;
  o.config.num_hidden_layers = 3;
  o.config.num_attention_heads = 4;
  o.config.intermediate_size = 512;
  o.num_epochs = 10;
  o.steps_per_epoch = 300;
  o.batch_size = 128;
  o.lr = 5e-4;
  o.schedule = "warmup-cosine";
  o.warmup = 200;
  return o;
}

void AdditionTask::adapt(RunOptions& options, const Given& given) {
  const bool other_schedule = contains(given, "schedule") && options.schedule != "warmup-cosine";
  if (!options.of<AdditionTask>().tutorial_masks && !other_schedule) return;
  const TrainingSettings tutorial;
  if (!contains(given, "lr")) options.lr = tutorial.lr;
  if (!contains(given, "schedule")) options.schedule = tutorial.schedule;
  if (!contains(given, "warmup")) options.warmup = tutorial.warmup;
}

void AdditionTask::check(const RunOptions& options) {
  if (options.config.vocab_size <= kPlus)
    bad_request("--vocab-size", "expected at least {}, ten digits and +, got {}", kPlus + 1, options.config.vocab_size);
}

AdditionTask::AdditionTask(const RunOptions& options)
    : max_digits_(options.of<AdditionTask>().max_digits),
      limit_(power_of_10(max_digits_) / 2),
      tutorial_masks_(options.of<AdditionTask>().tutorial_masks) {
  if (limit_ <= kMostDrawn && limit_ * limit_ <= kMostDrawn)
    drawn_.resize(static_cast<std::size_t>((limit_ * limit_ + 7) / 8));
}

int64_t number_of(std::span<const int64_t> digits) {
  int64_t number = 0;
  for (const int64_t digit : digits) number = 10 * number + digit;
  return number;
}

Batch addition_batch(const Tensor& first, const Tensor& second, int64_t width) {
  const int64_t n = first.size(0), length = 2 * width + 1;
  const Tensor source = Tensor::empty({n, length}, kInt64), target = Tensor::empty({n, width}, kInt64);
  const int64_t* a = first.data<int64_t>();
  const int64_t* b = second.data<int64_t>();
  int64_t* out = source.mutable_data<int64_t>();
  int64_t* sum = target.mutable_data<int64_t>();
  const auto write = [width](int64_t* to, int64_t number) {
    for (int64_t i = width; i-- > 0; number /= 10) to[i] = number % 10;
  };
  for (int64_t i = 0; i < n; ++i) {
    write(out + i * length, a[i]);
    out[i * length + width] = AdditionTask::kPlus;
    write(out + i * length + width + 1, b[i]);
    write(sum + i * width, a[i] + b[i]);
  }
  return {source, target};
}

Carries carries_of(int64_t first, int64_t second) {
  Carries out;
  for (int64_t carry = 0; first > 0 || second > 0; first /= 10, second /= 10) {
    const int64_t digits = first % 10 + second % 10;
    out.chained = out.chained || (digits == 9 && carry == 1);
    carry = digits + carry >= 10 ? 1 : 0;
    out.count += carry;
  }
  return out;
}

Batch AdditionTask::draw(int64_t count, Generator& generator) const {
  const Tensor first = Tensor::empty({count}, kInt64), second = Tensor::empty({count}, kInt64);
  for (const Tensor& operand : {first, second}) generator.randint(operand.mutable_data<int64_t>(), count, 0, limit_);
  return addition_batch(first, second, max_digits_);
}

Batch AdditionTask::draw_training(int64_t count, Generator& generator) {
  const Batch batch = draw(count, generator);
  if (drawn_.empty()) return batch;
  const auto width = static_cast<std::size_t>(max_digits_);
  const int64_t* tokens = batch.source.data<int64_t>();
  for (int64_t i = 0; i < count; ++i, tokens += 2 * max_digits_ + 1) {
    const int64_t first = number_of({tokens, width}), second = number_of({tokens + width + 1, width});
    const auto pair = static_cast<std::size_t>(first * limit_ + second);
    drawn_[pair / 8] |= std::byte{1} << (pair % 8);
  }
  return batch;
}

void AdditionTask::set_state(std::span<const std::byte> state) {
  if (state.size() != drawn_.size())
    fail("addition", "expected a record of sampled problems of {} bytes, for {} digits, got {} bytes", drawn_.size(),
         max_digits_, state.size());
  drawn_.assign(state.begin(), state.end());
}

TestSet AdditionTask::test_set(int64_t count, Generator& generator) const {
  if (drawn_.empty()) return {draw(count, generator), fmt::format("{} new problems", count)};
  std::vector<int64_t> unseen;
  for (int64_t pair = 0; pair < limit_ * limit_; ++pair) {
    const auto i = static_cast<std::size_t>(pair);
    if ((drawn_[i / 8] & (std::byte{1} << (i % 8))) == std::byte{0}) unseen.push_back(pair);
  }
  const auto left = static_cast<int64_t>(unseen.size());
  if (left == 0)
    return {draw(count, generator), fmt::format("{} problems (training drew all {})", count, limit_ * limit_)};
  const int64_t taken = std::min(count, left);
  const Tensor first = Tensor::empty({taken}, kInt64), second = Tensor::empty({taken}, kInt64);
  for (int64_t i = 0; i < taken; ++i) {  // the first steps of a shuffle
    const auto other = i + static_cast<int64_t>(generator.random64() % static_cast<uint64_t>(left - i));
    std::swap(unseen[static_cast<std::size_t>(i)], unseen[static_cast<std::size_t>(other)]);
    first.mutable_data<int64_t>()[i] = unseen[static_cast<std::size_t>(i)] / limit_;
    second.mutable_data<int64_t>()[i] = unseen[static_cast<std::size_t>(i)] % limit_;
  }
  return {addition_batch(first, second, max_digits_),
          fmt::format("{} of the {} problems that no training step drew", taken, left)};
}

Batch AdditionTask::read_expression(std::string_view text) const {
  const auto [first, second] = ExpressionReader(text, max_digits_).read();
  return addition_batch(tensor(Tokens{first}, {1}), tensor(Tokens{second}, {1}), max_digits_);
}

Tensor AdditionTask::source_mask(const Tensor& source) const {
  return tutorial_masks_ ? nn::padding_mask(source) : Tensor();
}

std::string AdditionTask::token_text(int64_t token) const { return token == kPlus ? "+" : std::to_string(token); }

std::string AdditionTask::source_text(const Tokens& tokens) const {
  const std::span<const int64_t> all(tokens);
  const std::size_t width = all.size() / 2;
  return fmt::format("{} + {}", number_of(all.first(width)), number_of(all.last(width)));
}

std::string AdditionTask::target_text(const Tokens& tokens) const {
  if (std::ranges::all_of(tokens, [](int64_t token) { return token >= 0 && token <= 9; }))
    return std::to_string(number_of(tokens));
  return show_tokens(*this, tokens);  // a model may write a + instead of a digit
}

std::string AdditionTask::answer_text(const Answer& answer) const {
  const std::span<const int64_t> input(answer.input);
  const std::size_t width = input.size() / 2;
  const bool beyond = number_of(input.first(width)) >= limit_ || number_of(input.last(width)) >= limit_;
  return drawing::wrapped(
      fmt::format("{} = {} (actual answer: {})\nCorrect: {}\n{}", source_text(answer.input), target_text(answer.output),
                  target_text(answer.target), true_or_false(answer.right()),
                  beyond ? fmt::format("(trained with numbers up to {})\n", limit_ - 1) : ""),
      4);
}

std::string AdditionTask::samples_text(const std::vector<Answer>& answers) const {
  std::string out = "  of the last batch:\n";
  for (std::size_t i = 0; i < std::min<std::size_t>(answers.size(), 3); ++i)
    out += fmt::format("    {} = {} (actual answer: {}) {}\n", source_text(answers[i].input),
                       target_text(answers[i].output), target_text(answers[i].target),
                       answers[i].right() ? "right" : "wrong");
  return drawing::wrapped(out);
}

}  // namespace tapegrad::tasks
