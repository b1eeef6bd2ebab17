// Tutorial 000: the causal mask of a GPT, and the whole model.
#include <fmt/format.h>
#include <tapegrad/tapegrad.h>
#include <tapegrad/tasks/architecture/architecture.h>
#include <tapegrad/tasks/language/messages.h>
#include <tapegrad/train/drawing/charts.h>
#include <tapegrad/tutorials/numbers.h>
#include <tapegrad/tutorials/pages.h>
#include <tapegrad/tutorials/pages/journey.h>
#include <tapegrad/tutorials/show/show.h>

#include <cmath>

namespace tapegrad::tasks::tutorial {
namespace {

const std::vector<std::string> kFiveTokens{"t1", "t2", "t3", "t4", "t5"};

Tensor scores_of_five() {
  Generator generator(0);
  return randn({5, 5}, kFloat32, &generator);
}

std::vector<Figure> figures_of_gpt_mask() {
  const Tensor hidden = triu(ones({5, 5}), 1);
  return {{.panels = {
               draw_matrix("triu(ones(5, 5), 1)", hidden, kFiveTokens, kFiveTokens, 0, 2, 0),
               draw_matrix("nn::causal_mask(5)", nn::causal_mask(5).to(kFloat32), kFiveTokens, kFiveTokens, 0, 2, 0)}}};
}

std::vector<Number> numbers_of_gpt_mask() {
  std::string sizes = "tokens  float32  bool\n";
  for (const double n : {256., 1024., 4096.}) {
    const double cells = 12 * n * n / (1 << 20);
    sizes += fmt::format("{:>6} {:>8.2f} {:>5.2f}\n", n, 4 * cells, cells);
  }
  const Tensor theirs = triu(ones({5, 5}), 1), ours = nn::causal_mask(5).to(kFloat32);
  return {own(rows_of(theirs + ours, 0)), own(sizes)};
}

std::string five_as_mask() { return json_of_mask(kFiveTokens, scores_of_five(), tril(ones({5, 5}))); }

std::vector<Number> numbers_of_gpt_steps() {
  const Tensor weights = softmax(masked_fill(scores_of_five(), !nn::causal_mask(5), -INFINITY));
  manual_seed(0);
  const Tensor dropped = dropout(weights, 0.1);
  return {own(rows_of(weights, 4)), own(rows_of(stack({sum(weights, {-1}), sum(dropped, {-1})}), 4))};
}

std::vector<Figure> figures_of_gpt_steps() {
  const Tensor scores = scores_of_five(), hidden = !nn::causal_mask(5);
  const Tensor weights = softmax(masked_fill(scores, hidden, -INFINITY));
  manual_seed(0);
  const Tensor dropped = dropout(weights, 0.1), values = randn({5, 4});
  const std::vector<std::string> four{"1", "2", "3", "4"};
  return {{.panels = {draw_matrix(said("1. Scores"), scores, kFiveTokens, kFiveTokens, -2, 2),
                      draw_matrix(said("2. Masked scores"), masked_fill(scores, hidden, -INFINITY), kFiveTokens,
                                  kFiveTokens, -2, 2),
                      draw_matrix(said("3. Weights"), weights, kFiveTokens, kFiveTokens, 0, 1),
                      draw_matrix(said("4. After dropout"), dropped, kFiveTokens, kFiveTokens, 0, 1),
                      draw_matrix(said("5. Contexts"), matmul(dropped, values), kFiveTokens, four, -2, 2)}}};
}

// The weight that later tokens get, in the row where it is largest, if their scores are lowered by this much.
double leak_of(double lowered) {
  const Tensor scores = scores_of_five(), hidden = !nn::causal_mask(5);
  const Tensor weights = softmax(where(hidden, scores - lowered, scores));
  return amax(sum(where(hidden, weights, zeros({5, 5})), {-1})).item();
}

std::vector<Number> numbers_of_infinity() {
  std::string leaks;
  for (const double lowered : {0., 10., 50., 100., 120., 1e9})
    leaks += fmt::format("{:>10} {:.1e}\n", lowered, leak_of(lowered));
  return {own(leaks)};
}

std::vector<Figure> figures_of_infinity() {
  drawing::Series leak{said("weight of later tokens")};
  for (const double lowered : {0., 1., 2., 5., 10., 20., 40., 60., 80., 100., 120.})
    leak.add(lowered, leak_of(lowered));
  return {{draw(drawing::LineChart{.title = said("What leaks through a finite mask"),
                                   .x_label = said("lowered by"),
                                   .y_label = said("weight"),
                                   .series = {leak},
                                   .log_y = true,
                                   .width = 520})}};
}

std::string finite_mask() {
  const Tensor scores = scores_of_five(), hidden = !nn::causal_mask(5);
  const auto by = [&](double value) { return softmax(masked_fill(scores, hidden, value)); };
  const Tensor right = by(-INFINITY), all_hidden = softmax(full({3}, -1e9)), none = softmax(full({3}, -INFINITY));
  return said(
      "largest difference of a weight, -1e9 against -inf: {:.0e}\n"
      "                                  -10 against -inf: {:.0e}\n"
      "a row that is masked everywhere, -1e9: {}\n"
      "                                 -inf: {}\n",
      amax(abs(by(-1e9) - right)).item(), amax(abs(by(-10) - right)).item(), rows_of(all_hidden, 4), rows_of(none, 4));
}

nn::GPTModel small_gpt() {
  manual_seed(123);
  return nn::GPTModel(
      {.vocab_size = 16, .context_length = 8, .emb_dim = 32, .n_heads = 4, .n_layers = 2, .drop_rate = 0.0});
}

std::vector<Number> numbers_of_gpt() {
  const nn::GPTConfig sizes;
  const int64_t tokens = sizes.vocab_size * sizes.emb_dim, places = sizes.context_length * sizes.emb_dim;
  const int64_t all = sizes.parameter_count(), norm = 2 * sizes.emb_dim;
  std::string parts;
  for (const auto& [name, count] : {std::pair{"token embeddings", tokens},
                                    {"position embeddings", places},
                                    {"12 blocks", all - 2 * tokens - places - norm},
                                    {"last layer norm", norm},
                                    {"output layer", tokens},
                                    {"all", all}})
    parts += fmt::format("{:<20} {:>11}\n", name, count);
  nn::GPTModel model = small_gpt();
  const Tensor change = abs(model(tensor({{3, 4, 5, 6, 7}})) - model(tensor({{3, 4, 9, 6, 7}})));
  return {own(parts), own(rows_of(amax(change[0], {-1}), 4))};
}

std::vector<Figure> figures_of_gpt() {
  nn::GPTModel model = small_gpt();
  const drawing::FlowChart parts = chart_of(architecture::architecture_of(model, said("A small GPT")));
  const Tensor straight = model(tensor({{3, 4, 5, 6, 7}})), other = model(tensor({{3, 4, 9, 6, 7}}));
  const drawing::Series change{.name = "change",
                               .y = amax(abs(straight - other)[0], {-1}).to(kFloat64).to_vector<double>()};
  return {{draw(parts)},
          {draw(drawing::BarChart{.title = said("Change of the logits, by position"),
                                  .labels = kFiveTokens,
                                  .series = {change},
                                  .width = 420})}};
}

std::string rows_of_norm() {
  const Tensor x = given::journey();
  return fmt::format("{{\"tokens\":{},\"rows\":{},\"gamma\":[1,1,1],\"beta\":[0,0,0],\"eps\":1e-5}}",
                     json_of(journey_words()), json_of(x));
}

std::string sizes_of_gpt() {
  return said("parameters with the smallest GPT-2's sizes: {}\nwith the output tied to the embedding:     {}\n",
              nn::GPTConfig{}.parameter_count(), nn::GPTConfig{}.parameter_count() - 50257 * 768);
}

}  // namespace

const Computation k000_1{"000-1", numbers_of_gpt_mask, figures_of_gpt_mask, {five_as_mask}};
const Computation k000_2{"000-2", numbers_of_gpt_steps, figures_of_gpt_steps, {five_as_mask}};
const Computation k000_3{"000-3", numbers_of_infinity, figures_of_infinity, {five_as_mask}, {finite_mask}};
const Computation k000_4{"000-4", numbers_of_gpt, figures_of_gpt, {rows_of_norm}, {sizes_of_gpt}};

}  // namespace tapegrad::tasks::tutorial
