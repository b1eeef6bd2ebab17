// The parser task (tutorial, section 8.5.3): an expression goes in, its parse tree comes out, both as tokens.
#pragma once

#include <tapegrad/tasks/seq2seq/parser/expression.h>
#include <tapegrad/tasks/seq2seq/task.h>

#include <span>
#include <string>
#include <vector>

namespace tapegrad::tasks {

// Expressions whose operators lie at most `depth` over one another. With the tutorial's vocabulary of 25 tokens they
// are the tutorial's, of one operator, and their trees are written without brackets. With brackets in the vocabulary
// trees of any depth are written; rows that are shorter than the longest of a batch are padded with 0, which attention
// does not see and the loss does not count. Training draws from NumPy's legacy stream, as the tutorial does. `test`
// takes every expression of the flat form, and of nested ones those that training has not drawn.
class ParserTask : public Task {
 public:
  static const TaskInfo kInfo;
  static constexpr std::string_view kName = "parser", kHelp = "parse an expression into its tree";
  static constexpr int64_t kLeastPositions = 10;
  static constexpr bool kTakesExpressions = true;
  static constexpr bool kDraws = true;
  static constexpr int64_t kTestCount = 10'000;
  static constexpr int64_t kDeepest = 5;
  struct Settings {
    int64_t depth = 1;
    int64_t data_seed = -1;  // -1: the seed
    void list(Fields& fields);
  };
  static RunOptions defaults();
  static int64_t longest(const RunOptions& options);
  static void check(const RunOptions& options);
  // Nested expressions need brackets in the vocabulary, and another recipe than the tutorial's.
  static void adapt(RunOptions& options, const Given& given);
  static void for_explain(RunOptions& options, std::string_view expression);

  explicit ParserTask(const RunOptions& options);
  TreeForm form() const { return form_; }

  Batch draw(int64_t count, Generator& generator) const override;  // one word of `generator` seeds a stream
  Batch draw_training(int64_t count, Generator& generator) override;
  std::vector<std::byte> state() const override { return stream_.state(); }
  void set_state(std::span<const std::byte> state) override { stream_.set_state({state.begin(), state.end()}); }
  TestSet test_set(int64_t count, Generator& generator) const override;
  double test_target() const override { return form_ == TreeForm::flat ? 1 : 0.99; }
  Batch read_expression(std::string_view text) const override;
  // Expressions as a batch, padded to the longest or to `source` and `target` tokens.
  Batch batch_of(std::span<const Tree> trees, int64_t source = 0, int64_t target = 0) const;
  // The expressions that training draws, sorted, each once.
  std::vector<std::string> training_expressions() const;

  Tensor loss(const Tensor& outputs, const Tensor& target) const override;
  std::optional<int64_t> padding() const override;
  bool ends_answer(std::span<const int64_t> tokens) const override;

  std::string token_text(int64_t token) const override { return std::string(token_name(token)); }
  std::string axis_text(int64_t token) const override;
  std::string source_text(const Tokens& tokens) const override { return spaced_text(tokens); }
  std::string target_text(const Tokens& tokens) const override;
  std::string answer_text(const Answer& answer) const override;
  std::string samples_text(const std::vector<Answer>& answers) const override;
  std::string explain(const Batch* example) const override;
  ExtraMetrics extra_metrics(const nn::Transformer& model, const Batch& tests, const Tensor& predicted,
                             Generator& generator) const override;
  RowStyle row_style() const override;
  std::optional<drawing::Drawing> picture(const Answer& answer) const override;

 private:
  int depth_;
  TreeForm form_;
  uint32_t data_seed_;
  int64_t batches_, batch_size_;  // of the training run
  NumpyRandom stream_;
};

// One expression, drawn as the tutorial draws: variable, left digit, operator, right digit. For depths above 1:
// variable, operator, and for either side a coin (0: a digit, 1: an operator) as long as the depth allows it.
Tree draw_expression(NumpyRandom& stream, int depth);
// The tutorial's expressions, all 1,200.
std::vector<Tree> every_flat_expression();

// How answers compare with the trees that they should be.
struct ParserScore {
  struct Part {
    int64_t expressions = 0, exact = 0;
  };
  int64_t expressions = 0;
  int64_t whole = 0;      // answers that are trees
  int64_t structure = 0;  // trees with the right operators at the right places
  int64_t exact = 0;
  int64_t nodes = 0, right_nodes = 0;
  std::vector<Part> by_depth;  // [depth - 1]
};
ParserScore score_trees(TreeForm form, const std::vector<Answer>& answers);

// The section's explanation as a text: data, tokens, masks, and the loss computed by hand. The tutorial's examples
// where none are given.
std::string explain_parser(const std::vector<Tree>& examples, TreeForm form);

}  // namespace tapegrad::tasks
