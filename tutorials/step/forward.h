// The training step of one sequence through the two families of models, as a trace. Dropout is off.
#pragma once

#include <tapegrad/nn/gpt.h>
#include <tapegrad/nn/transformer.h>
#include <tapegrad/tasks/seq2seq/task.h>
#include <tapegrad/tutorials/step/trace.h>

namespace tapegrad::tasks::step {

/// One example, [1, S] and [1, T], through the encoder-decoder; the last node is the task's loss. BadRequest for
/// another form of attention than full, for relative positions, and for added ones that depend on the embeddings.
void trace_transformer(Trace& trace, const nn::Transformer& model, const Task& task, const Batch& example);

/// ids [T + 1]: the model reads the first T, and predicts the last T; the last node is the mean cross-entropy. The same
/// BadRequests, and one for shared keys and values.
void trace_gpt(Trace& trace, const nn::GPTModel& model, const Tensor& ids);

}  // namespace tapegrad::tasks::step
