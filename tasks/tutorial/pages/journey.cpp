// The sentence of tutorial 004, and JSON.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/random.h>
#include <tapegrad/tasks/tutorial/pages/journey.h>
#include <tapegrad/tasks/tutorials/attention.h>

#include <cmath>

namespace tapegrad::tasks::tutorial {

const std::vector<std::string>& journey_words() {
  static const std::vector<std::string> kWords{"Your", "journey", "starts", "with", "one", "step"};
  return kWords;
}

Tensor journey_vectors() {
  return tensor({{0.43, 0.15, 0.89},
                 {0.55, 0.87, 0.66},
                 {0.57, 0.85, 0.64},
                 {0.22, 0.58, 0.33},
                 {0.77, 0.25, 0.10},
                 {0.05, 0.80, 0.55}});
}

Tensor journey_scores() {
  manual_seed(789);
  const SelfAttentionV2 attention(3, 2);
  const Tensor x = journey_vectors();
  return matmul(attention.query(x), attention.key(x).t());
}

std::string json_of(const Tensor& x) {
  if (x.dim() == 0) return fmt::format("{}", std::round(x.item() * 1e4) / 1e4);
  std::vector<std::string> parts;
  for (int64_t i = 0; i < x.size(0); ++i) parts.push_back(json_of(x[i]));
  return fmt::format("[{}]", fmt::join(parts, ","));
}

std::string json_of(const std::vector<std::string>& texts) {
  std::vector<std::string> quoted;  // the pages' words have neither quotes nor backslashes
  for (const std::string& text : texts) quoted.push_back(fmt::format("\"{}\"", text));
  return fmt::format("[{}]", fmt::join(quoted, ","));
}

}  // namespace tapegrad::tasks::tutorial
