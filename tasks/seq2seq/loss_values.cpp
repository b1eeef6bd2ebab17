// Computes a loss step by step, and as training does.
#include <tapegrad/autograd/internal/fixed_math.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/nn/loss.h>
#include <tapegrad/tasks/seq2seq/loss_values.h>
#include <tapegrad/tasks/seq2seq/task.h>

namespace tapegrad::tasks {

std::vector<Value> loss_values(const std::vector<double>& p, const std::vector<int64_t>& right, int64_t batch,
                               int digits) {
  const auto tokens = static_cast<int64_t>(right.size());
  const Tensor outputs = tensor(p, {static_cast<int64_t>(p.size())}).reshape({batch, tokens / batch, -1});
  const Tensor target = tensor(right, {tokens}).reshape({batch, -1}), likely = argmax(outputs, -1);
  const auto number = [digits](double x) { return fmt::format("{:.{}f}", x, digits); };
  std::vector<Value> values{{"loss", number(nn::sequence_loss(log(outputs), target).item())},
                            {"accuracy", fmt::format("{:.1f}", nn::exact_match(log(outputs), target))}};
  std::vector<std::string> lines;
  for (int64_t b = 0; b < batch; ++b) {
    std::vector<std::string> terms;
    double sum = 0;
    for (int64_t t = 0; t < target.size(1); ++t) {
      lines.push_back(fmt::format("   {}{}",
                                  batch == 1 ? ""
                                  : t == 0   ? "- "
                                             : "  ",
                                  outputs[b][t].to_vector<double>()));
      const double term = -fixed::log(outputs[b][t][target[b][t].item<int64_t>()].item());
      terms.push_back(number(term));
      sum += term;
    }
    values.insert(values.end(), {{fmt::format("likely{}", b), likely[b].to_vector<int64_t>()},
                                 {fmt::format("exact{}", b), true_or_false(all(likely[b] == target[b]))},
                                 {fmt::format("terms{}", b), fmt::format("{}", fmt::join(terms, " + "))},
                                 {fmt::format("loss{}", b), number(sum)}});
  }
  values.emplace_back("probabilities", fmt::format("{}", fmt::join(lines, "\n")));
  return values;
}

}  // namespace tapegrad::tasks
