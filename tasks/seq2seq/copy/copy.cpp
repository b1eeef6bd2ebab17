// Draws batches of the copy task, and explains it.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <tapegrad/autograd/internal/fixed_math.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/nn/loss.h>
#include <tapegrad/tasks/language/messages.h>
#include <tapegrad/tasks/seq2seq/copy/copy.h>

#include <cmath>

namespace tapegrad::tasks {
namespace {

void explain_data(std::string& out, const Tokens& example, int64_t vocab_size) {
  out += said("=== Copy task: the data ===\nSequence length: {}\n\n", example.size());
  out += said("1. Input sequence\n   Tensor shape: [1, {}]\n   Input sequence: {}\n\n", example.size(), example);
  out += said("2. Target sequence\n   Tensor shape: [1, {}]\n   Target sequence: {}\n\n", example.size(), example);
  out += said(
      "3. Task\n"
      "   - Repeat the input, token by token: the simplest use of encoder and decoder.\n"
      "   - Each token is an integer from 1 to {} (0 is padding and the start token).\n"
      "   - Input and output have the same length.\n"
      "   - This example: {} -> {}\n\n",
      vocab_size - 1, example, example);
}

void explain_masks(std::string& out, const Tokens& example) {
  const std::size_t n = example.size();
  Tokens shifted{0};
  shifted.insert(shifted.end(), example.begin(), example.end() - 1);
  out += said(
      "=== Masks ===\n"
      "Decoder input, a 0 and then the target without its last token: {}\n"
      "Padding mask of the source (token != 0; 1: visible): {}\n"
      "   All sequences have the same length, so nothing is masked.\n"
      "Causal mask of the decoder (row t attends to tokens 0 to t):\n",
      shifted, std::vector<int>(n, 1));
  out += causal_mask_text(n) + '\n';
}

// The section's example: batch 2, length 3, vocabulary 5; its numbers are probabilities.
void explain_copy_loss(std::string& out) {
  constexpr double kShown[2][3][5] = {{{0.9, 0.1, 0, 0, 0}, {0.1, 0.8, 0.1, 0, 0}, {0, 0.1, 0.9, 0, 0}},
                                      {{0.8, 0.2, 0, 0, 0}, {0.1, 0.7, 0.2, 0, 0}, {0.1, 0.1, 0.8, 0, 0}}};
  auto to = std::back_inserter(out);
  out += said("=== Loss, by hand (batch 2, length 3, vocabulary 5) ===\n1. Predicted probabilities\n");
  for (const auto& sequence : kShown)
    for (const auto& token : sequence) fmt::format_to(to, "   {}{}\n", &token == sequence ? "- " : "  ", token);
  out += said("2. Target: [[0, 1, 2], [0, 1, 2]], one-hot:\n   [[1,0,0,0,0], [0,1,0,0,0], [0,0,1,0,0]], twice\n");

  std::vector<double> values;
  for (const auto& sequence : kShown)
    for (const auto& token : sequence) values.insert(values.end(), token, token + 5);
  const Tensor outputs = log(tensor(values, {2, 3, 5}));
  const Tensor target = tensor(std::vector<int64_t>{0, 1, 2, 0, 1, 2}, {2, 3});
  out += said(
      "3. Most likely tokens: {} and {}\n   Exact match: [True, True]; accuracy {:.1f}\n"
      "4. Loss: the sum of -log(p of the target token), divided by the batch size\n   1/2 * (",
      argmax(outputs[0], -1).to_vector<int64_t>(), argmax(outputs[1], -1).to_vector<int64_t>(),
      nn::exact_match(outputs, target));
  for (std::size_t i = 0; i < 6; ++i) {
    const double p = kShown[i / 3][i % 3][i % 3];
    fmt::format_to(to, "{}{:.4f}", i == 0 ? "" : " + ", -fixed::log(p));
  }
  fmt::format_to(to, ") = {:.4f}\n", nn::sequence_loss(outputs, target).item());
  out += said(
      "   = -1/2 * (log(0.9) + log(0.8) + log(0.9) + log(0.8) + log(0.7) + log(0.8))\n"
      "   Accuracy is exact match: one wrong token makes a sequence wrong.\n");
}

}  // namespace

const TaskInfo CopyTask::kInfo = info_of<CopyTask>();

void CopyTask::Settings::list(Fields& f) {
  f.add({.name = "seq-length", .help = "tokens per sequence", .group = Group::data, .limits = kCount, .example = true},
        seq_length);
}

Batch CopyTask::draw(int64_t count, Generator& generator) const {
  const Tensor tokens = Tensor::empty({count, seq_length_}, kInt64);
  generator.randint(tokens.mutable_data<int64_t>(), tokens.numel(), 1, vocab_size_);
  return {tokens, tokens};
}

std::string CopyTask::explain(const Batch* example) const {
  const Tokens sequence = example ? example->source.to_vector<int64_t>() : Tokens{7, 15, 2, 3, 12};
  std::string out;
  explain_data(out, sequence, vocab_size_);
  explain_masks(out, sequence);
  explain_copy_loss(out);
  return out;
}

}  // namespace tapegrad::tasks
