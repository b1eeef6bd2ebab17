// Generates sequences with a trained model: greedily, by beam search, by sampling (tutorial 003, section 8.4.3).
#pragma once

#include <tapegrad/nn/generate_options.h>
#include <tapegrad/nn/next_token.h>

namespace tapegrad::nn {

struct Decoder;
struct Transformer;

/// Continues prompt [B, T] int64, T >= 1 (at least a start token). A row ends at its first token that is end_token or
/// for which `stop` returns true (so its length is at least 1), or after max_new_tokens. Records nothing. Errors:
/// options out of range, and the model's errors.
Generated generate(NextTokenLogits& model, const Tensor& prompt, const GenerateOptions& options);

/// Continues several prompts of any lengths at once; the weights are read once per step for every 16 of them. Sequence
/// i samples from its own generator, Generator(seed + i). Its tokens do not depend on the other prompts: they are those
/// of generate() with this prompt, a cached DecoderNext and that generator (options.generator is not used). With one
/// beam only. The model should be in eval mode. Errors: as for generate().
Generated generate_each(const Decoder& model, std::span<const std::vector<int64_t>> prompts,
                        const GenerateOptions& options, uint64_t seed);

/// logits [B, V] -> the probabilities [B, V] of sampling; temperature > 0.
Tensor sampling_probabilities(const Tensor& logits, const GenerateOptions& options);

/// Greedy decoding: begins with `start` and takes the most likely next token `length` times (0: none). src [B, S] ->
/// [B, length] int64 without the start token. The model should be in eval mode. Error if length exceeds the longest
/// input of the model.
Tensor greedy_decode(const Transformer& model, const Tensor& src, const Tensor& src_mask, int64_t length,
                     int64_t start = 0);

}  // namespace tapegrad::nn
