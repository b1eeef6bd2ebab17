// Examples through a trained model: what it answers, what every attention head looked at, and both as HTML that needs
// nothing from outside.
#pragma once

#include <tapegrad/tasks/attention/head_map.h>
#include <tapegrad/tasks/seq2seq/task.h>

#include <string>
#include <vector>

namespace tapegrad::tasks {

// Answers to sources [N, S], [N, length], as many at a time as are quick: greedy ones, or those of a beam search.
Tensor decode(const Task& task, const nn::Transformer& model, const Tensor& source, int64_t length, int64_t beams = 1,
              double length_penalty = 0);

// The answer to one example.
Answer answer_to(const Task& task, const nn::Transformer& model, const Batch& example, int64_t beams = 1,
                 double length_penalty = 0);
// Greedy answers to `count` new examples.
std::vector<Answer> answers(const Task& task, const nn::Transformer& model, int64_t count, Generator& generator);

// All heads, encoder first, while the model answers `input` [1, S]; the decoder reads its own answer of `length`
// tokens.
struct AttentionSample {
  Answer answer;
  std::vector<HeadMap> heads;
  Tensor logits;  // [T, V]: what the decoder expected after each token that it read
  Tokens output;  // [T]: the tokens that it wrote
};
inline constexpr const char* kCrossGroup = "cross-attention (decoder to encoder)";  // of heads
AttentionSample attend(const Task& task, const nn::Transformer& model, const Batch& example);

/// What a task adds to the report of its run: answers to new examples, and attention maps. The model is in eval mode.
std::string report_sections(const Task& task, const RunOptions& options, const nn::Transformer& model);

/// A page with one drawing.
std::string drawing_html(std::string_view title, const drawing::Drawing& drawing);

/// The attention maps of one example, and a sentence about them.
std::string attention_maps(const Task& task, const AttentionSample& sample);

}  // namespace tapegrad::tasks
