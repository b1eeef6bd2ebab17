// Tutorial 002: multi-head attention over padded sequences.
#include <fmt/format.h>
#include <tapegrad/tapegrad.h>
#include <tapegrad/tasks/language/messages.h>
#include <tapegrad/train/drawing/tables.h>
#include <tapegrad/tutorials/numbers.h>
#include <tapegrad/tutorials/pages.h>
#include <tapegrad/tutorials/pages/journey.h>
#include <tapegrad/tutorials/programs/padded_attention.h>
#include <tapegrad/tutorials/show/show.h>

#include <algorithm>
#include <cmath>

namespace tapegrad::tasks::tutorial {
namespace {

// bool [rows, length, 1]: true for the last counts[i] tokens of row i.
Tensor last_padded(const std::vector<int64_t>& counts, int64_t length) {
  std::vector<Tensor> rows;
  for (const int64_t count : counts) rows.push_back(arange(length) >= static_cast<double>(length - count));
  return stack(rows).unsqueeze(-1);
}

// The shapes of the tutorial's first `count` steps, as it prints them, for one batch.
Number shapes_of_steps(int64_t batch, int64_t length, int64_t width, std::size_t count, std::string_view steps_shown) {
  manual_seed(0);
  const tutorial002::MultiHeadAttention attention(width, 64, 4);
  const Tensor x = randn({batch, length, width});
  const Tensor mask = last_padded(std::vector<int64_t>(static_cast<std::size_t>(batch), length / 3), length);
  NamedTensors steps;
  static_cast<void>(attention(x, mask, &steps));
  std::string ours;
  for (std::size_t i = 0; i < count; ++i) ours += plain_shape(steps[i].tensor) + "\n";
  return same(fmt::format("Batch {}, length {}, width {}: {}", batch, length, width, steps_shown), plain(ours));
}

constexpr std::string_view kAllSteps =
    "x, q, k, v, three by head, score, scaled, mask, masked, softmax, result, merged, output";

std::vector<Number> numbers_of_comments() {
  manual_seed(0);
  const tutorial002::MultiHeadAttention attention(32, 64, 4);
  NamedTensors steps;
  static_cast<void>(attention(randn({2, 5, 32}), last_padded({1, 1}, 5), &steps));
  const auto shape = [&](std::string_view name) {
    const auto found = std::find_if(steps.begin(), steps.end(), [&](const auto& step) { return step.name == name; });
    return plain_shape(found->tensor);
  };
  return {same("comment: q, k, v by head", shape("q by head")), same("comment: mask", shape("mask")),
          same("comment: masked score", shape("masked score"))};
}

constexpr int64_t kModel = 64, kPaddedHeads = 4, kHeadDim = kModel / kPaddedHeads;  // the tutorial's

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
  const Tensor their_weights = softmax(theirs + rows.to(kFloat32) * -1e9);
  // tapegrad: mask [B, 1, 1, S], scores over sqrt(head_dim).
  const Tensor ours = products / std::sqrt(static_cast<double>(kHeadDim));
  const Tensor columns = is_padding.reshape({1, length}).expand({length, length});
  const Tensor our_weights = softmax(masked_fill(ours, columns, -INFINITY));

  Notes out;
  const int width = std::min(10, drawing::kTerminalWidth / (static_cast<int>(length) + 1));
  const auto table = [&](std::string_view headline, const Tensor& x, int digits, std::string_view told) {
    (out += fmt::format("{}\n", headline)) += Matrix{x, {names, names, width, digits}};
    out += fmt::format("{}\n\n", told);
  };
  out += said(
      "{} words and {} padding tokens; one of {} heads of a model of width {}.\nRows are queries, "
      "columns are keys.\n\n",
      words, length - words, kPaddedHeads, kModel);
  table(said("1. The tutorial's mask, [B, 1, S, 1]: 1 lowers a score by 1e9"), rows.to(kFloat32), 0,
        said("It is the same for all keys of a query: whole rows are lowered."));
  table(said("2. Its weights"), their_weights, 2,
        said("Words give {:.0f} % of their weight to padding. The rows of padding are uniform:\n"
             "float32 rounds the scores next to 1e9 away, and softmax ignores a constant.",
             100 * on_padding(their_weights, words, 0, words)));
  table(said("3. A padding mask, [B, 1, 1, S]: 1 masks a key"), columns.to(kFloat32), 0,
        said("It is the same for all queries: whole columns are masked."));
  table(said("4. The weights with it"), our_weights, 2,
        said("Padding gets {:.0f} % of the weight.", 100 * on_padding(our_weights, words, 0, length)));
  const auto spread = [](const Tensor& x) { return std::sqrt(mean(square(x - mean(x))).item()); };
  out += said(
      "5. The scale\nA score is a sum of {} products: its deviation is about {:.0f}, here {:.2f}.\n"
      "Over sqrt(d_model) = {:.0f}, as in the tutorial, it is {:.2f};\nover sqrt(head_dim) = {:.0f} it is {:.2f}.\n\n",
      kHeadDim, std::sqrt(static_cast<double>(kHeadDim)), spread(products), std::sqrt(static_cast<double>(kModel)),
      spread(theirs), std::sqrt(static_cast<double>(kHeadDim)), spread(ours));
  const Tensor empty = softmax(masked_fill(ours, ones({length, length}, kBool), -INFINITY));
  out += said(
      "6. No padding\nThe tutorial samples a length from 0 and writes mask[i, -length:] = True. With 0\n"
      "that is mask[i, 0:], the whole sequence. In tapegrad a fully masked row\n"
      "gives zeros, never NaN: softmax of a masked row sums to {:.0f}.\n",
      sum(empty[0]).item());

  return {said("Padded attention (tutorial 002)"),
          out,
          {draw_matrix(said("1. The tutorial's mask (1: lowered)"), rows.to(kFloat32), names, names, 0, 2, 0),
           draw_matrix(said("2. Weights with the tutorial's mask"), their_weights, names, names, 0, 1),
           draw_matrix(said("3. A mask of keys (1: masked)"), columns.to(kFloat32), names, names, 0, 2, 0),
           draw_matrix(said("4. Weights with a mask of keys"), our_weights, names, names, 0, 1)}};
}

namespace {

std::vector<Figure> figures_of_padded() { return {{.panels = show_padded_attention({}).drawings}}; }

// Weights with the tutorial's mask, and with one of keys.
std::string share_of_padding() {
  Generator generator(0);
  const Tensor scores = randn({6, 6}, kFloat32, &generator);
  const Tensor padded = last_padded({2}, 6)[0];  // [6, 1]
  const Tensor theirs = softmax(scores + padded.to(kFloat32) * -1e9);
  const Tensor ours = softmax(masked_fill(scores, padded.reshape({1, 6}), -INFINITY));
  const auto share = [](const Tensor& weights) { return mean(sum(weights.slice(0, 0, 4).slice(1, 4, 6), {1})).item(); };
  return said(
      "weight that words give to padding\n  mask [B, 1, S, 1], the tutorial's:  {:.0f} %\n"
      "  mask [B, 1, 1, S]:                  {:.0f} %\n",
      100 * share(theirs), 100 * share(ours));
}

std::string deviation_by_scale() {
  Generator generator(0);
  const Tensor q = randn({500, 16}, kFloat64, &generator), k = randn({500, 16}, kFloat64, &generator);
  const double deviation = std(matmul(q, k.t())).item();
  return said(
      "scores of heads of 16 numbers: deviation {:.2f}\n  over sqrt(d_model) = 8:  {:.2f}\n"
      "  over sqrt(head_dim) = 4: {:.2f}\n",
      deviation, deviation / 8, deviation / 4);
}

std::string scores_with_padding() {
  Generator generator(0);
  return json_of_mask({"w1", "w2", "w3", "w4", "PAD", "PAD"}, randn({6, 6}, kFloat32, &generator),
                      (!last_padded({2}, 6)[0]).t());
}

// The first sentence of the page's last lines of code.
std::string ids_as_mask() {
  Generator generator(0);
  return json_of_mask({"5", "8", "3", "PAD", "PAD"}, randn({5, 5}, kFloat32, &generator), tensor({5, 8, 3, 0, 0}) != 0);
}

std::vector<Number> numbers_of_sizes() {
  const Tensor ragged = last_padded({2, 1, 4, 0}, 10);
  manual_seed(0);
  const tutorial002::MultiHeadAttention attention(32, 64, 4);
  const Tensor output = attention(randn({4, 10, 32}), ragged);
  return {same("Mask shape", plain_shape(ragged)),
          same("Mask of the first sequence, 1: True", rows_of(ragged[0].squeeze().to(kFloat32), 0)),
          shapes_of_steps(4, 10, 32, 15, kAllSteps),
          shapes_of_steps(2, 5, 32, 15, kAllSteps),
          shapes_of_steps(8, 20, 64, 6, "x, q, k, v, q and k by head; then the print breaks off"),
          drawn("Output, first token", rows_of(output[0][0].slice(0, 0, 5), 4))};
}

std::vector<Figure> figures_of_ragged() {
  std::vector<std::string> sentences{"1", "2", "3", "4"}, places;
  for (int i = 1; i <= 10; ++i) places.push_back(std::to_string(i));
  const Tensor ragged = last_padded({2, 1, 4, 0}, 10).squeeze(-1).to(kFloat32);
  return {{draw_matrix(said("Padding, one sentence per row"), ragged, sentences, places, 0, 2, 0)}};
}

// What the tutorial's slice gives for each drawn length.
std::string slice_of_zero() {
  std::string out = said("pad_length  masked by mask[i, -pad_length:]\n");
  for (const int64_t count : {2, 1, 0}) {
    // Python's index -0 is 0: the slice begins at the start.
    const Tensor row = zeros({10}), masked = row.slice(0, count == 0 ? 0 : 10 - count, 10);
    out += said("{:>10}  {} of 10 tokens\n", count, masked.size(0));
  }
  return out;
}

}  // namespace

const Computation k002_1{
    "002-1", numbers_of_comments, figures_of_padded, {scores_with_padding}, {share_of_padding, deviation_by_scale}};
const Computation k002_2{"002-2", numbers_of_sizes, figures_of_ragged, {ids_as_mask}, {slice_of_zero}};

}  // namespace tapegrad::tasks::tutorial
