// The addition task (tutorial 003, section 8.5.2): the input is two numbers, the output is their sum, both as digits.
#pragma once

#include <tapegrad/tasks/seq2seq/task.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tapegrad::tasks {

// Tokens: the digits 0 to 9, and 10 for '+'. Numbers have max_digits digits, with leading zeros: the source is
// first '+' second, 2 max_digits + 1 tokens; the target is the sum, max_digits tokens. Operands are drawn from 0 to
// (10^max_digits - 1) / 2, so that the sum fits. Nothing is masked, unless tutorial_masks selects the tutorial's masks,
// which treat the digit 0 as padding.
class AdditionTask : public Task {
 public:
  static const TaskInfo kInfo;
  static constexpr std::string_view kName = "addition", kHelp = "add two numbers: 153+391 (tutorial 003, 8.5.2)";
  static constexpr int64_t kLeastPositions = 10;
  static constexpr bool kTakesExpressions = true;
  static constexpr int64_t kTestCount = 10'000;
  static constexpr int64_t kPlus = 10;
  // The tutorial's model and data, with tapegrad's learning rate; adapt() restores the tutorial's rate if
  // tutorial_masks or another schedule is given.
  struct Settings {
    int64_t max_digits = 3;
    bool tutorial_masks = false;
    void list(Fields& fields);
  };
  static RunOptions defaults();
  static void adapt(RunOptions& options, const Given& given);
  static void check(const RunOptions& options);
  static int64_t longest(const RunOptions& options) { return 2 * options.of<AdditionTask>().max_digits + 1; }

  explicit AdditionTask(const RunOptions& options);
  int64_t limit() const { return limit_; }  // operands are less

  Batch draw(int64_t count, Generator& generator) const override;
  // Records what it drew, for up to three digits.
  Batch draw_training(int64_t count, Generator& generator) override;
  std::vector<std::byte> state() const override { return drawn_; }
  void set_state(std::span<const std::byte> state) override;
  // `count` of the problems that training never drew, or all of them; if none is left, of all problems.
  TestSet test_set(int64_t count, Generator& generator) const override;
  double test_target() const override { return tutorial_masks_ ? 0.99 : 0.999; }
  // "310+98"; spaces are allowed.
  Batch read_expression(std::string_view text) const override;

  Tensor source_mask(const Tensor& source) const override;
  std::vector<train::ReportText::OtherEpoch> printed() const override {
    if (max_digits_ != 3) return {};
    return {{0, 6.1352, 0.0073}, {5, 0.0552, 0.9852}};
  }

  std::string token_text(int64_t token) const override;
  std::string source_text(const Tokens& tokens) const override;  // "310 + 98"
  std::string target_text(const Tokens& tokens) const override;  // "408"
  std::string answer_text(const Answer& answer) const override;
  std::string samples_text(const std::vector<Answer>& answers) const override;
  // The sum in columns: its carries, the digits written so far, and how the next one comes about.
  std::optional<drawing::Drawing> picture_of_part(const Answer& answer, std::size_t written) const override;
  // Accuracy by digit position, by carries, and by the number of digits.
  ExtraMetrics extra_metrics(const nn::Transformer& model, const Batch& tests, const Tensor& predicted,
                             Generator& generator) const override;

 private:
  int64_t max_digits_, limit_;
  bool tutorial_masks_;
  std::vector<std::byte> drawn_;  // one bit per pair of operands, or empty
};

// The number that these digits write.
int64_t number_of(std::span<const int64_t> digits);
// first and second [N] int64 -> the batch of their sums, with `width` digits per number.
Batch addition_batch(const Tensor& first, const Tensor& second, int64_t width);

// The carries of a sum: their number, and whether one of them is caused by another (digits that add up to 9).
struct Carries {
  int64_t count = 0;
  bool chained = false;
};
Carries carries_of(int64_t first, int64_t second);
// The carry into each column of two numbers with the same number of digits, highest first.
std::vector<int64_t> carries_into(std::span<const int64_t> first, std::span<const int64_t> second);

}  // namespace tapegrad::tasks
