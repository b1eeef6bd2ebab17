// Padded attention (tutorial 002): the tutorial's mask, which hides queries, next to a mask that hides keys; and its
// scale.
#include <fmt/format.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/random.h>
#include <tapegrad/nn/mask.h>
#include <tapegrad/tasks/language/messages.h>
#include <tapegrad/train/drawing/tables.h>
#include <tapegrad/tutorials/show/show.h>

#include <cmath>
#include <limits>

namespace tapegrad::tasks {
namespace {

constexpr int64_t kModel = 64, kPaddedHeads = 4, kHeadDim = kModel / kPaddedHeads;  // the tutorial's
constexpr double kMinusInfinity = -std::numeric_limits<double>::infinity();

// The mean over the rows [from, to) of the weight that falls on padding.
double on_padding(const Tensor& weights, int64_t words, int64_t from, int64_t to) {
  const int64_t length = weights.size(1);
  if (from == to || words == length) return 0;
  return mean(sum(narrow(narrow(weights, 0, from, to - from), 1, words, length - words), {1})).item();
}

}  // namespace

Exhibit show_padded_attention(const ShowRequest& request) {
  const int64_t length = request.length.value_or(6), words = length - length / 3;
  Generator generator(request.seed.value_or(0));
  std::vector<std::string> names;
  for (int64_t i = 0; i < length; ++i) names.push_back(i < words ? fmt::format("w{}", i + 1) : "PAD");
  const Tensor q = randn({length, kHeadDim}, kFloat32, &generator), k = randn({length, kHeadDim}, kFloat32, &generator);
  const Tensor products = matmul(q, k.t());
  const Tensor is_padding = arange(length) >= static_cast<double>(words);  // [S]

  // The tutorial: mask [B, S, 1], added as [B, 1, S, 1] times -1e9, scores over sqrt(d_model).
  const Tensor theirs = products / std::sqrt(static_cast<double>(kModel));
  const Tensor rows = is_padding.reshape({length, 1}).expand({length, length});
  const Tensor their_masked = theirs + rows.to(kFloat32) * -1e9;
  const Tensor their_weights = softmax(their_masked);
  // tapegrad: mask [B, 1, 1, S], scores over sqrt(head_dim).
  const Tensor ours = products / std::sqrt(static_cast<double>(kHeadDim));
  const Tensor columns = is_padding.reshape({1, length}).expand({length, length});
  const Tensor our_masked = masked_fill(ours, columns, kMinusInfinity);
  const Tensor our_weights = softmax(our_masked);

  std::string out;
  const int width = std::min(10, drawing::kTerminalWidth / (static_cast<int>(length) + 1));
  const auto table = [&](std::string_view headline, const Tensor& x, int digits, bool exponent, std::string_view told) {
    out +=
        fmt::format("{}\n{}{}\n\n", headline, drawing::bracket_table(x, {names, names, width, digits, exponent}), told);
  };
  out += said(
      "{} words and {} padding tokens; one of {} heads of a model of width {}.\nRows are queries, "
      "columns are keys.\n\n",
      words, length - words, kPaddedHeads, kModel);
  table(said("1. The tutorial's mask, [B, 1, S, 1]: 1 lowers a score by 1e9"), rows.to(kFloat32), 0, false,
        said("It is the same for all keys of a query: whole rows are lowered."));
  table(said("2. Its weights"), their_weights, 2, false,
        said("Words give {:.0f} % of their weight to padding. The rows of padding are uniform:\n"
             "float32 rounds the scores next to 1e9 away, and softmax ignores a constant.",
             100 * on_padding(their_weights, words, 0, words)));
  table(said("3. A padding mask, [B, 1, 1, S]: 1 masks a key"), columns.to(kFloat32), 0, false,
        said("It is the same for all queries: whole columns are masked."));
  table(said("4. The weights with it"), our_weights, 2, false,
        said("Padding gets {:.0f} % of the weight.", 100 * on_padding(our_weights, words, 0, length)));
  const auto spread = [](const Tensor& x) { return std::sqrt(mean(square(x - mean(x))).item()); };
  out += said(
      "5. The scale\nA score is a sum of {} products: its deviation is about {:.0f}, here {:.2f}.\n"
      "Over sqrt(d_model) = {:.0f}, as in the tutorial, it is {:.2f};\nover sqrt(head_dim) = {:.0f} it is {:.2f}.\n\n",
      kHeadDim, std::sqrt(static_cast<double>(kHeadDim)), spread(products), std::sqrt(static_cast<double>(kModel)),
      spread(theirs), std::sqrt(static_cast<double>(kHeadDim)), spread(ours));
  const Tensor empty = softmax(masked_fill(ours, ones({length, length}, kBool), kMinusInfinity));
  out += said(
      "6. No padding\nThe tutorial samples a length from 0 and writes mask[i, -length:] = True. With 0\n"
      "that is mask[i, 0:], the whole sequence. In tapegrad a fully masked row\n"
      "gives zeros, never NaN: softmax of a masked row sums to {:.0f}.\n",
      sum(empty[0]).item());

  return {said("Padded attention (tutorial 002)"),
          out,
          {draw_matrix(said("1. The tutorial's mask (1: lowered)"), rows.to(kFloat32), names, names, 0, 2, 0),
           draw_matrix(said("3. A mask of keys (1: masked)"), columns.to(kFloat32), names, names, 0, 2, 0),
           draw_matrix(said("2. Weights with the tutorial's mask"), their_weights, names, names, 0, 1),
           draw_matrix(said("4. Weights with a mask of keys"), our_weights, names, names, 0, 1)}};
}

}  // namespace tapegrad::tasks
