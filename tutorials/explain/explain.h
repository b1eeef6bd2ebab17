// The verb `explain <task>`: what tutorial 003, section 8.5, says of a task: its data, masks and loss.
//
// To add a task: a part [en] and a part [ko] in <task>.txt of this folder, and a row of kEssays (explain.cpp).
#pragma once

#include <tapegrad/tasks/language/texts.h>
#include <tapegrad/tasks/seq2seq/parser/expression.h>
#include <tapegrad/tasks/seq2seq/verbs.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tapegrad::tasks {

class Task;
struct Batch;

/// A task that is explained.
struct Essay {
  const TaskInfo* task;
  /// Changes defaults that are the example's; `expression` is empty if none was given.
  void (*adapt)(RunOptions& options, std::string_view expression);
  /// The example is the tutorial's where it is nullptr.
  std::string (*text)(const RunOptions& options, const Task& task, const Batch* example);
  bool explains_many = false;  ///< shows every row of the example
};
/// All of them, in the order of --help.
std::span<const Essay> essays();

struct ExplainRequest : ExampleRequest {
  explicit ExplainRequest(const Essay& essay) : ExampleRequest(*essay.task), essay(&essay) {}
  const Essay* essay;
  std::optional<uint64_t> seed;         // of a random example; otherwise the tutorial's
  std::optional<int64_t> num_examples;  // random examples, for tasks that explain several

  void list(Fields& fields);
  Fields asked() { return example_fields(options); }
};
int explain(ExplainRequest request);

// --- for essays ---

/// The values of a loss by hand, of float64 probabilities [B, T, V] that a model predicts, and the right tokens [B, T]:
/// {probabilities}, one line per token; {loss} and {accuracy}; of each sequence its most likely tokens {likely0},
/// whether they are right {exact0}, and -log(p) of its right tokens, {terms0}, with their sum {loss0}. Losses have this
/// number of digits.
std::vector<Value> loss_values(const Tensor& outputs, const Tensor& target, int digits);
/// What a decoder reads in training: the start token 0, then the target without its last token.
std::vector<int64_t> shifted(const std::vector<int64_t>& target);
/// The causal mask of n tokens as rows of 1 (visible) and 0, without the end of the last one.
std::string causal_mask_text(std::size_t n);

/// The essay about the parser task; with the tutorial's examples if none are given.
std::string explain_parser(const std::vector<Tree>& examples, TreeForm form);

}  // namespace tapegrad::tasks
