// A solution of exercise 003-8.4.3-top-p.
#include <tapegrad/tapegrad.h>

inline tapegrad::Tensor nucleus(const tapegrad::Tensor& probabilities, double p) {
  auto kept = probabilities.to(tapegrad::kFloat64).to_vector<double>();
  double total = 0;
  for (const int64_t token : tapegrad::argsort(probabilities, -1, true).to_vector<int64_t>()) {
    double& one = kept[static_cast<std::size_t>(token)];
    if (total >= p) one = 0;  // the tokens before it reach p
    total += one;
  }
  return tapegrad::tensor(kept, {probabilities.size(0)}) / total;
}
