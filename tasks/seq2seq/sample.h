// One example through a trained model: what it answers, and what every attention head looked at.
#pragma once

#include <tapegrad/tasks/drawing/svg.h>
#include <tapegrad/tasks/seq2seq/task.h>

#include <string>
#include <vector>

namespace tapegrad::tasks {

// Greedy answers to sources [N, S], [N, length], as many at a time as are quick.
Tensor decode(const Task& task, const nn::Transformer& model, const Tensor& source, int64_t length, int64_t beams = 1);

// Greedy answers to `count` new examples.
std::vector<Answer> answers(const Task& task, const nn::Transformer& model, int64_t count, Generator& generator);

// The weights of one head: rows are queries, columns keys.
struct HeadMap {
  std::string name;   // "encoder layer 0, head 1"
  std::string group;  // "encoder self-attention"
  std::vector<std::string> row_tokens, column_tokens;
  std::vector<float> weights;  // [rows, columns]
};

// All heads, encoder first, while the model answers `input` [1, S]; the decoder reads its own answer of `length`
// tokens.
struct AttentionSample {
  Answer answer;
  std::vector<HeadMap> heads;
};
AttentionSample attend(const Task& task, const nn::Transformer& model, const Batch& example);

drawing::Drawing draw(const HeadMap& head);
// A view for the terminal: for every head where its weight lies, and the decoder's cross-attention as shades.
std::string attention_text(const AttentionSample& sample);
// All heads in one drawing.
drawing::Drawing draw(const AttentionSample& sample);

}  // namespace tapegrad::tasks
