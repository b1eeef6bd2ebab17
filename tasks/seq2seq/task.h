// What a sequence-to-sequence task provides to training and to the command.
//
// To add a task: a class derived from Task in its own folder, with the static members that Task lists and its own
// settings, and one line in the list of tasks (tasks.cpp).
#pragma once

#include <tapegrad/autograd/random.h>
#include <tapegrad/tasks/seq2seq/options.h>
#include <tapegrad/train/drawing/svg.h>
#include <tapegrad/train/report.h>

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

// Examples to test with, and what they are: "1000 new sequences".
struct TestSet {
  Batch examples;
  std::string what;
};

// More metrics of a trained model: as a text, and as a JSON object ("": none).
struct ExtraMetrics {
  std::string text;
  std::string json;
};

// The text before, between and after the tokens of a row: "[7, 15, 2]".
struct RowStyle {
  std::string_view open = "[", between = ", ", close = "]";
};

class Task {
 public:
  // Each task also has these static members; those with a value here are optional.
  //   static constexpr std::string_view kName, kHelp;   "copy", "repeat the input"
  //   struct Settings { void list(Fields&); };          the settings that only this task has
  //   static RunOptions defaults();                     the settings of `train` without options
  //   static int64_t longest(const RunOptions&);        tokens of the longer one of source and target
  static constexpr int64_t kLeastPositions = 1;     // the least that --max-position-embeddings 0 means
  static constexpr bool kTakesExpressions = false;  // --expression, read by read_expression
  static constexpr bool kDraws = false;             // picture() returns drawings
  static constexpr int64_t kTestCount = 1000;       // examples of `test`
  static void check(const RunOptions&) {}           // BadRequest for settings that are not possible
  // Changes defaults that depend on the options that were given by name.
  static void adapt(RunOptions&, const Given&) {}

  virtual ~Task() = default;

  // --- data ---
  // `count` new examples.
  virtual Batch draw(int64_t count, Generator& generator) const = 0;
  // The same for a training step; a task may have its own random stream, or record what it draws.
  virtual Batch draw_training(int64_t count, Generator& generator) { return draw(count, generator); }
  // What draw_training changes, for checkpoints and model files. set_state: Error if the bytes are not a valid state.
  virtual std::vector<std::byte> state() const { return {}; }
  virtual void set_state(std::span<const std::byte> /*state*/) {}
  // Examples to test with; not seen in training, if the task has a record of its draws.
  virtual TestSet test_set(int64_t count, Generator& generator) const;
  // The exact-match rate that `test` requires.
  virtual double test_target() const = 0;
  // One example, [1, S] and [1, T], from a text. BadRequest "[--expression] ..." with the position of the error.
  virtual Batch read_expression(std::string_view text) const;
  // The same of --text, which a task that reads no expressions may also have. BadRequest "[--text] ...".
  virtual Batch read_text(std::string_view text) const;

  // --- masks, loss, accuracy ---
  // Which source tokens may be attended to, for nn::MultiHeadAttention; an empty handle: all.
  virtual Tensor source_mask(const Tensor& source) const;
  // The decoder's first input.
  virtual int64_t start_token() const { return 0; }
  // outputs [B, T, V] are log-probabilities. The loss is one number.
  virtual Tensor loss(const Tensor& outputs, const Tensor& target) const;
  // Which tokens are right, [B, T] bool. An example is right when all of its tokens are.
  virtual Tensor right_tokens(const Tensor& predicted, const Tensor& target) const { return predicted == target; }
  // The token that pads shorter examples, if lengths differ; it does not count in any rate.
  virtual std::optional<int64_t> padding() const { return {}; }
  // Whether the tokens decoded so far are a complete answer, after which decoding stops.
  virtual bool ends_answer(std::span<const int64_t> /*tokens*/) const { return false; }

  // --- texts and pictures ---
  // The epochs that the tutorial prints of its run, which had no seed.
  virtual std::vector<train::ReportText::OtherEpoch> printed() const { return {}; }
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
  // What is known of an answer of which the first tokens are written, as a picture, where the task has one.
  virtual std::optional<drawing::Drawing> picture_of_part(const Answer& /*answer*/, std::size_t /*written*/) const {
    return {};
  }
  // What `test` reports in addition to the rates; predicted [N, T] answers `tests`.
  virtual ExtraMetrics extra_metrics(const nn::Transformer& /*model*/, const Batch& /*tests*/,
                                     const Tensor& /*predicted*/, Generator& /*generator*/) const {
    return {};
  }
  // How show_tokens and the report write a row.
  virtual RowStyle row_style() const { return {}; }
};

// The decoder's input in training: the start token, then the target without its last token. [B, T].
Tensor shifted(const Task& task, const Tensor& target);
const char* true_or_false(bool b);  // as Python prints it
// part / whole; 0 of nothing.
double share(int64_t part, int64_t whole);
// The exact-match rate; predicted and target [B, T].
double accuracy(const Task& task, const Tensor& predicted, const Tensor& target);
std::string show_tokens(const Task& task, const Tokens& tokens);  // in the task's row style
// The predicted tokens: the most likely ones of outputs [B, T, V], and padding where the target [B, T] is padded.
Tensor predicted_tokens(const Task& task, const Tensor& outputs, const Tensor& target);
// The rows of a batch with what was predicted for them, the first `count` of them, without padding at their ends.
std::vector<Answer> answers_of(const Task& task, const Batch& batch, const Tensor& predicted, int64_t count);

/// All tasks, in the order of --help (tasks.cpp), and one of them. Error for a name that no task has.
std::span<const TaskInfo* const> all_tasks();
const TaskInfo& task_named(std::string_view name);
/// The task of the model that --model names, which is not a GPT's. bad_request for a model of another kind.
const TaskInfo& task_of_given_model(std::string_view name);

/// The table of a task's static members.
template <class T>
constexpr TaskInfo info_of() {
  return {.name = T::kName,
          .help = T::kHelp,
          .defaults = T::defaults,
          .list = [](std::any& own, Fields& fields) { std::any_cast<typename T::Settings&>(own).list(fields); },
          .longest = T::longest,
          .check = T::check,
          .adapt = T::adapt,
          .make = [](const RunOptions& options) -> std::unique_ptr<Task> { return std::make_unique<T>(options); },
          .least_positions = T::kLeastPositions,
          .takes_expressions = T::kTakesExpressions,
          .draws = T::kDraws,
          .test_count = T::kTestCount};
}

}  // namespace tapegrad::tasks
