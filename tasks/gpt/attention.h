// Attention maps of a GPT.
#pragma once

#include <tapegrad/nn/decoder.h>
#include <tapegrad/tasks/attention/decoding.h>
#include <tapegrad/tasks/attention/head_map.h>
#include <tapegrad/train/data/tokenizer.h>

#include <cstdint>
#include <vector>

namespace tapegrad::tasks {

/// Every head of a decoder that reads `ids`, which fit into its context. Rows are labelled with the tokens' texts, or
/// their ids where there is no tokenizer. `logits`: becomes [T, V], those of each token's successor.
std::vector<HeadMap> attend(const nn::Decoder& model, const std::vector<int64_t>& ids, const data::Tokenizer* tokenizer,
                            Tensor* logits = nullptr);
/// The steps in which a decoder reads the heads' tokens and writes the last one's successor: the first `given` of `ids`
/// are the prompt. Logits as of attend().
Decoding decoding_of(const std::vector<HeadMap>& heads, const Tensor& logits, const std::vector<int64_t>& ids,
                     int64_t given, const data::Tokenizer* tokenizer);

}  // namespace tapegrad::tasks
