// Numbers about relative positions (tutorial 003, section 8.3.2) that the topic and the pages of the tutorials have.
#pragma once

#include <tapegrad/tutorials/show/notes.h>

#include <cstdint>

namespace tapegrad::tasks::relative_positions {

// How T5's bias shares its numbers among distances, as the tutorial writes it and as the paper has it; which scores
// each can have; and the scale of the bias, with random queries and keys of this width.
Notes forms_of_t5(int64_t dim, uint64_t seed);
// Attention whose scores, or whose powers of scores, are a Toeplitz matrix, by Fourier transforms and in full.
Notes attention_by_fft(int64_t dim, uint64_t seed);

}  // namespace tapegrad::tasks::relative_positions
