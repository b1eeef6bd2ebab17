// expected: 003-8.4.3-greedy: wrong. at most two tokens, number 2: expected 1, got 3
#include <tapegrad/tapegrad.h>

#include <functional>

using Model = std::function<tapegrad::Tensor(const tapegrad::Tensor&)>;

// The model reads the last token alone.
inline tapegrad::Tensor greedy_tokens(const Model& model, int64_t start, int64_t end, int64_t most) {
  std::vector<int64_t> text;
  int64_t last = start;
  while (static_cast<int64_t>(text.size()) < most && (text.empty() || last != end)) {
    last = tapegrad::argmax(model(tapegrad::tensor({last}))).item<int64_t>();
    text.push_back(last);
  }
  return tapegrad::tensor(text, {static_cast<int64_t>(text.size())});
}
