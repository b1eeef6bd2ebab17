// The parser task (tutorial 003, section 8.5.3): the input is an expression, the output its parse tree, both as tokens.
#pragma once

#include <tapegrad/tasks/seq2seq/parser/expression.h>
#include <tapegrad/tasks/seq2seq/task.h>

#include <span>
#include <string>
#include <vector>

namespace tapegrad::tasks {

// Expressions with a nesting depth of at most `depth`. With the tutorial's vocabulary of 25 tokens they have one
// operator, and their trees are written without brackets. With brackets in the vocabulary, trees of any depth are
// written; rows are padded with 0 to the longest of a batch. Padding is masked and does not count in the loss. Training
// draws from NumPy's legacy stream, as the tutorial does. `test` takes all expressions of the flat form, or nested ones
// that training has not sampled.
class ParserTask : public Task {
 public:
  static const TaskInfo kInfo;
  static constexpr std::string_view kName = "parser", kHelp = "parse an expression: x=1+2 (tutorial 003, 8.5.3)";
  static constexpr int64_t kLeastPositions = 10;
  static constexpr bool kTakesExpressions = true;
  static constexpr bool kDraws = true;
  static constexpr int64_t kTestCount = 10'000;
  static constexpr int64_t kDeepest = 5;
  struct Settings {
    int64_t depth = 1;
    int64_t data_seed = -1;  // -1: the run's seed
    int64_t max_tokens = 0;  // to which rows are padded; 0: the longest of a batch
    void list(Fields& fields);
  };
  static RunOptions defaults();
  static int64_t longest(const RunOptions& options);
  static void check(const RunOptions& options);
  // Nested expressions need brackets in the vocabulary, and other defaults than the tutorial's.
  static void adapt(RunOptions& options, const Given& given);

  explicit ParserTask(const RunOptions& options);
  TreeForm form() const { return form_; }

  Batch draw(int64_t count, Generator& generator) const override;  // a draw of `generator` seeds the stream
  Batch draw_training(int64_t count, Generator& generator) override;
  std::vector<std::byte> state() const override { return stream_.state(); }
  void set_state(std::span<const std::byte> state) override { stream_.set_state({state.begin(), state.end()}); }
  TestSet test_set(int64_t count, Generator& generator) const override;
  double test_target() const override { return form_ == TreeForm::flat ? 1 : 0.99; }
  Batch read_expression(std::string_view text) const override;
  // Expressions as a batch, padded to the longest, or to `source` and `target` tokens.
  Batch batch_of(std::span<const Tree> trees, int64_t source = 0, int64_t target = 0) const;
  // The expressions that training draws, sorted and without duplicates.
  std::vector<std::string> training_expressions() const;

  Tensor loss(const Tensor& outputs, const Tensor& target) const override;
  std::optional<int64_t> padding() const override;
  bool ends_answer(std::span<const int64_t> tokens) const override;

  std::vector<train::ReportText::OtherEpoch> printed() const override {
    if (form_ != TreeForm::flat) return {};
    return {{0, 6.3280, 0.2309}, {5, 0.0030, 1}};
  }

  std::string token_text(int64_t token) const override { return std::string(token_name(token)); }
  std::string axis_text(int64_t token) const override;
  std::string source_text(const Tokens& tokens) const override { return spaced_text(tokens); }
  std::string target_text(const Tokens& tokens) const override;
  std::string answer_text(const Answer& answer) const override;
  std::string samples_text(const std::vector<Answer>& answers) const override;
  ExtraMetrics extra_metrics(const nn::Transformer& model, const Batch& tests, const Tensor& predicted,
                             Generator& generator) const override;
  RowStyle row_style() const override;
  std::optional<drawing::Drawing> picture(const Answer& answer) const override;
  std::optional<drawing::Drawing> picture_of_part(const Answer& answer, std::size_t written) const override;

 private:
  std::vector<Tree> training_trees(NumpyRandom& stream, int64_t count) const;

  int depth_;
  TreeForm form_;
  int deepest_;  // of --expression: more than depth_ where the model's positions have no end
  int64_t max_tokens_;
  uint32_t data_seed_;
  int64_t batches_, batch_size_;  // of the training run
  NumpyRandom stream_;
};

// One random expression, drawn in the tutorial's order: variable, left digit, operator, right digit. For depths above
// 1: variable, operator, and for each operand a random bit (0: digit, 1: operator) while the depth allows it.
Tree draw_expression(NumpyRandom& stream, int depth);
// The tutorial's expressions, all 1,200.
std::vector<Tree> every_flat_expression();

// How answers compare with the right trees.
struct ParserScore {
  struct Part {
    int64_t expressions = 0, exact = 0;
  };
  int64_t expressions = 0;
  int64_t whole = 0;      // answers that are complete trees
  int64_t structure = 0;  // trees whose operators are all right
  int64_t exact = 0;
  int64_t nodes = 0, right_nodes = 0;
  std::vector<Part> by_depth;  // [depth - 1]
};
ParserScore score_trees(TreeForm form, const std::vector<Answer>& answers);

}  // namespace tapegrad::tasks
