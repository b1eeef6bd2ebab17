// Attention maps of a GPT.
#pragma once

#include <tapegrad/nn/decoder.h>
#include <tapegrad/tasks/attention/head_map.h>
#include <tapegrad/tasks/data/tokenizer.h>

#include <cstdint>
#include <vector>

namespace tapegrad::tasks {

/// Every head of a decoder that reads `ids`, which fit into its context. Rows are labelled with the tokens' texts, or
/// their ids where there is no tokenizer.
std::vector<HeadMap> attend(const nn::Decoder& model, const std::vector<int64_t>& ids,
                            const data::Tokenizer* tokenizer);

}  // namespace tapegrad::tasks
