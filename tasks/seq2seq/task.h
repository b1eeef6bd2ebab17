// What a sequence-to-sequence task is to the loop that trains it and to the command, and the list of tasks.
//
// A new task is a class derived from Task in a file of its own, with the static members that Task lists, an entry in
// task_kinds() (task.cpp), and its own settings in RunOptions (options.h).
#pragma once

#include <tapegrad/autograd/random.h>
#include <tapegrad/tasks/drawing/svg.h>
#include <tapegrad/tasks/seq2seq/options.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tapegrad::tasks {

using Tokens = std::vector<int64_t>;

// int64 tokens: source [B, S], target [B, T].
struct Batch {
  Tensor source, target;
};

// One example with what a model answered.
struct Answer {
  Tokens input, target, output;
  bool right() const { return output == target; }
};

// Examples to test with, and what they are: "1000 fresh sequences".
struct Exam {
  Batch examples;
  std::string what;
};

// What else can be told of a trained model: a text, and the same as the members of a JSON object ("" for none).
struct Findings {
  std::string text;
  std::string json;
};

// What stands before, between and behind the tokens of a row: "[7, 15, 2]".
struct RowStyle {
  std::string_view open = "[", between = ", ", close = "]";
};

class Task {
 public:
  // Every task has these too, as static members; those with a value here need not be repeated.
  //   static constexpr std::string_view kName;          "copy"
  //   static RunOptions defaults();                     what `train` does when nothing else is asked for
  //   static int64_t longest(const RunOptions&);   tokens of the longer one of source and target
  static constexpr int64_t kLeastPositions = 1;     // what --max-position-embeddings 0 means at least
  static constexpr bool kTakesExpressions = false;  // --expression, read by read_expression
  static constexpr bool kDraws = false;             // picture() has something to show
  static constexpr int64_t kTestCount = 1000;       // examples of `test`
  static void check(const RunOptions&) {}           // BadRequest for settings that make no task
  // Changes defaults that depend on what was given by name.
  static void adapt(RunOptions&, const std::vector<std::string>& /*given*/) {}
  // Changes defaults so that `explain` can take this expression.
  static void fit(RunOptions&, std::string_view /*expression*/) {}

  virtual ~Task() = default;

  // --- data ---
  // `count` fresh examples.
  virtual Batch draw(int64_t count, Generator& generator) const = 0;
  // The same for a step of training; a task may keep a stream of its own, or remember what it drew.
  virtual Batch draw_training(int64_t count, Generator& generator) { return draw(count, generator); }
  // What draw_training changes: kept in checkpoints and model files. set_state: Error when the bytes are no state.
  virtual std::vector<std::byte> state() const { return {}; }
  virtual void set_state(std::span<const std::byte> /*state*/) {}
  // Examples to test with: unseen in training, where the task can tell.
  virtual Exam exam(int64_t count, Generator& generator) const;
  // The share of them that `test` wants to be right as a whole.
  virtual double test_target() const = 0;
  // One example, [1, S] and [1, T], from a text. BadRequest "[--expression] ..." that points at what is wrong.
  virtual Batch read_expression(std::string_view text) const;

  // --- masks, loss, accuracy ---
  // Which source tokens may be seen, for nn::MultiHeadAttention; an empty handle: all.
  virtual Tensor source_mask(const Tensor& source) const;
  // What the decoder is given at first.
  virtual int64_t start_token() const { return 0; }
  // outputs [B, T, V] are log-probabilities. The loss is one number.
  virtual Tensor loss(const Tensor& outputs, const Tensor& target) const;
  // Which tokens are right, [B, T] bool. An example is right when all of its tokens are.
  virtual Tensor right_tokens(const Tensor& predicted, const Tensor& target) const;
  // The token behind examples that are shorter than others, if they are not equally long: it counts in no rate.
  virtual std::optional<int64_t> padding() const { return {}; }
  // Whether the tokens that a model gave so far are a whole answer: it is asked for no more then.
  virtual bool ends_answer(std::span<const int64_t> /*tokens*/) const { return false; }

  // --- for people ---
  virtual std::string token_text(int64_t token) const { return std::to_string(token); }
  virtual std::string axis_text(int64_t token) const { return token_text(token); }  // of at most two characters
  virtual std::string source_text(const Tokens& tokens) const;                      // "[7, 15, 2]"
  virtual std::string target_text(const Tokens& tokens) const;
  // What `test` prints for one example; whole lines.
  virtual std::string answer_text(const Answer& answer) const;
  // Examples of the last batch of an epoch, with what was predicted; whole lines, or nothing.
  virtual std::string samples_text(const std::vector<Answer>& /*answers*/) const { return ""; }
  // An answer as a picture, where the task has one.
  virtual std::optional<drawing::Drawing> picture(const Answer& /*answer*/) const { return {}; }
  // The section's explanation: data, masks and loss. The example is the tutorial's where it is nullptr.
  virtual std::string explain(const Batch* example) const = 0;
  // What `test` tells beside the rates; predicted [N, T] answers the exam.
  virtual Findings examine(const nn::Transformer& model, const Batch& exam, const Tensor& predicted,
                           Generator& generator) const;
  // How show_tokens and the report write a row.
  virtual RowStyle row_style() const { return {}; }
};

// The decoder's input in training: the start token, then the target without its last token. [B, T].
Tensor shifted(const Task& task, const Tensor& target);
// The share of examples that are right as a whole; predicted and target [B, T].
double accuracy(const Task& task, const Tensor& predicted, const Tensor& target);
std::string show_tokens(const Task& task, const Tokens& tokens);  // in the task's row style
// What a model predicts out of outputs [B, T, V] for targets [B, T]: the likeliest tokens, padding where the target has
// it.
Tensor predicted_tokens(const Task& task, const Tensor& outputs, const Tensor& target);
// The rows of a batch with what was predicted for them, the first `count` of them, without padding at their ends.
std::vector<Answer> answers_of(const Task& task, const Batch& batch, const Tensor& predicted, int64_t count);

// What the command knows of a task before one is made: the static members of its class.
struct TaskKind {
  std::string_view name;
  RunOptions (*defaults)();
  int64_t (*longest)(const RunOptions&);
  void (*check)(const RunOptions&);
  void (*adapt)(RunOptions&, const std::vector<std::string>& given);
  void (*fit)(RunOptions&, std::string_view expression);
  std::unique_ptr<Task> (*make)(const RunOptions&);
  int64_t least_positions;
  bool takes_expressions;
  bool draws;
  int64_t test_count;
};
std::span<const TaskKind> task_kinds();
// Error for a name that has no task, here and below.
const TaskKind& kind_of(std::string_view task);

RunOptions default_options(std::string_view task);
std::unique_ptr<Task> make_task(const RunOptions& options);

}  // namespace tapegrad::tasks
