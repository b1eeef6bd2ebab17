// The steps in which a model writes its answer, for the player of `attention`.
#pragma once

#include <tapegrad/autograd/io/internal/json_value.h>
#include <tapegrad/tasks/attention/head_map.h>
#include <tapegrad/tasks/seq2seq/sample.h>

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace tapegrad::tasks {

/// What a model has read before it writes one token, and what it expects.
struct DecodingStep {
  int64_t row = 0;                                     // of the heads: the query of the token that it has read last
  std::string next;                                    // the token that follows
  bool given = false;                                  // which is the prompt's, not the model's
  std::vector<std::pair<std::string, double>> likely;  // the most likely tokens and their probabilities, at most five
};
/// One step per row of logits [T, V]; `next` has the ids of the tokens that follow, and its first `given` ones are the
/// prompt's.
std::vector<DecodingStep> decoding_steps(const Tensor& logits, const std::vector<int64_t>& next, int64_t given,
                                         const std::function<std::string(int64_t)>& text_of);

/// The steps in which a model writes its answer.
struct Decoding {
  std::string group;              // of the heads that are shown first; empty: all heads
  std::vector<std::string> read;  // tokens that precede the first step
  std::vector<DecodingStep> steps;
  bool ends = false;                            // the answer is complete after the last step
  std::vector<drawing::Drawing> pictures = {};  // before every step, and after the last one; or none
};
/// The answer of a task; all heads that read the source are shown first.
Decoding decoding_of(const Task& task, const AttentionSample& sample);
/// The heads for the widget attention.js: {"heads": [{"name", "group", "self", "rows", "columns", "weights"}]},
/// weights in ten-thousandths, null where masked.
Json heads_json(const std::vector<HeadMap>& heads);
/// The data of the widget attention.js: {"heads": as in heads_json, "decoding": {"group", "groups", "read",
/// "steps": [{"row", "next", "given", "likely": [[text, probability]]}], "ends", "pictures": [HTML]}}.
Json player_json(const std::vector<HeadMap>& heads, const Decoding& decoding);
/// The player's part of a page, with its heading and a sentence.
std::string player_html(const std::vector<HeadMap>& heads, const Decoding& decoding);

}  // namespace tapegrad::tasks
