// A solution of exercise 003-8.4.3-greedy.
#include <tapegrad/tapegrad.h>

#include <functional>

using Model = std::function<tapegrad::Tensor(const tapegrad::Tensor&)>;

inline tapegrad::Tensor greedy_tokens(const Model& model, int64_t start, int64_t end, int64_t most) {
  std::vector<int64_t> text{start};
  const auto length = [&] { return static_cast<int64_t>(text.size()); };
  while (length() <= most && (text.size() == 1 || text.back() != end))
    text.push_back(tapegrad::argmax(model(tapegrad::tensor(text, {length()}))).item<int64_t>());
  text.erase(text.begin());
  return tapegrad::tensor(text, {length()});
}
