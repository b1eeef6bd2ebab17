// Writes the steps of a loss.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <tapegrad/autograd/internal/fixed_math.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/nn/loss.h>
#include <tapegrad/tasks/seq2seq/loss_example.h>
#include <tapegrad/tasks/seq2seq/task.h>

namespace tapegrad::tasks {
namespace {

// -log(p) of the right tokens of a sequence.
std::vector<double> terms_of(const LossExample& example, int64_t sequence) {
  std::vector<double> terms;
  for (int64_t t = 0; t < example.target.size(1); ++t)
    terms.push_back(-fixed::log(example.p[sequence][t][example.target[sequence][t].item<int64_t>()].item()));
  return terms;
}

}  // namespace

LossExample::LossExample(const std::vector<double>& p, const std::vector<int64_t>& right, int64_t batch)
    : p(tensor(p, {static_cast<int64_t>(p.size())}).reshape({batch, static_cast<int64_t>(right.size()) / batch, -1})),
      target(tensor(right, {static_cast<int64_t>(right.size())}).reshape({batch, -1})) {}

std::string LossExample::probabilities() const {
  std::string out;
  for (int64_t b = 0; b < p.size(0); ++b) {
    for (int64_t t = 0; t < p.size(1); ++t) {
      const char* const margin = p.size(0) == 1 ? "" : t == 0 ? "- " : "  ";
      out += fmt::format("{}   {}{}", out.empty() ? "" : "\n", margin, p[b][t].to_vector<double>());
    }
  }
  return out;
}

std::string LossExample::likely(int64_t sequence) const {
  return fmt::format("{}", argmax(p[sequence], -1).to_vector<int64_t>());
}

std::string LossExample::exact(int64_t sequence) const {
  return true_or_false(all(argmax(p[sequence], -1) == target[sequence]));
}

std::string LossExample::accuracy() const { return fmt::format("{:.1f}", nn::exact_match(log(p), target)); }

std::string LossExample::terms(int64_t sequence, int digits) const {
  std::string out;
  for (const double term : terms_of(*this, sequence))
    out += fmt::format("{}{:.{}f}", out.empty() ? "" : " + ", term, digits);
  return out;
}

std::string LossExample::sum_of_terms(int64_t sequence) const {
  double sum = 0;
  for (const double term : terms_of(*this, sequence)) sum += term;
  return fmt::format("{:.3f}", sum);
}

std::string LossExample::loss(int digits) const {
  return fmt::format("{:.{}f}", nn::sequence_loss(log(p), target).item(), digits);
}

}  // namespace tapegrad::tasks
