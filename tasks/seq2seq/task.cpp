// The default behaviour of a task.
#include <fmt/format.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/nn/mask.h>
#include <tapegrad/tasks/seq2seq/task.h>
#include <tapegrad/train/drawing/tables.h>

#include <algorithm>

namespace tapegrad::tasks {

TestSet Task::test_set(int64_t count, Generator& generator) const {
  return {draw(count, generator), fmt::format("{} new sequences", count)};
}

Batch Task::read_expression(std::string_view) const { bad_request("--expression", "this task reads no expressions"); }

Batch Task::read_text(std::string_view text) const {
  return as_bad_request("--text", [&] { return read_expression(text); });
}

Tensor Task::source_mask(const Tensor& source) const { return nn::padding_mask(source); }

std::string Task::source_text(const Tokens& tokens) const { return show_tokens(*this, tokens); }
std::string Task::target_text(const Tokens& tokens) const { return show_tokens(*this, tokens); }

std::string Task::answer_text(const Answer& answer) const {
  return drawing::wrapped(fmt::format("Input: {}\nOutput: {}\nAccuracy: {}\n", source_text(answer.input),
                                      target_text(answer.output), true_or_false(answer.right())),
                          4);
}

Tensor shifted(const Task& task, const Tensor& target) {
  const Tensor start = full({target.size(0), 1}, static_cast<double>(task.start_token()), kInt64);
  return cat({start, target.slice(1, kAll, -1)}, 1);
}

const char* true_or_false(bool b) { return b ? "True" : "False"; }

double share(int64_t part, int64_t whole) {
  return static_cast<double>(part) / static_cast<double>(std::max<int64_t>(whole, 1));
}

double accuracy(const Task& task, const Tensor& predicted, const Tensor& target) {
  return mean(all(task.right_tokens(predicted, target), 1).to(kFloat64)).item();
}

std::string show_tokens(const Task& task, const Tokens& tokens) {
  const RowStyle style = task.row_style();
  std::string out(style.open);
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (i > 0) out += style.between;
    out += task.token_text(tokens[i]);
  }
  return out.append(style.close);
}

Tensor predicted_tokens(const Task& task, const Tensor& outputs, const Tensor& target) {
  const Tensor likeliest = argmax(outputs.detach(), -1);
  if (!task.padding()) return likeliest;
  const auto padding = static_cast<double>(*task.padding());
  return masked_fill(likeliest, target == padding, padding);
}

std::vector<Answer> answers_of(const Task& task, const Batch& batch, const Tensor& predicted, int64_t count) {
  const auto row = [&](const Tensor& tokens, int64_t i) {
    Tokens out = tokens[i].contiguous().to_vector<int64_t>();
    while (task.padding() && !out.empty() && out.back() == *task.padding()) out.pop_back();
    return out;
  };
  std::vector<Answer> out;
  for (int64_t i = 0; i < std::min(count, batch.source.size(0)); ++i)
    out.push_back({row(batch.source, i), row(batch.target, i), row(predicted, i)});
  return out;
}

}  // namespace tapegrad::tasks
