// expected: 003-8.4.3-top-p: wrong. p = 0.8, number 1: expected 0.3333, got 0.4000
#include <tapegrad/tapegrad.h>

// As the table says: no token whose sum is above p.
inline tapegrad::Tensor nucleus(const tapegrad::Tensor& probabilities, double p) {
  auto kept = probabilities.to(tapegrad::kFloat64).to_vector<double>();
  double total = 0, kept_total = 0;
  for (const int64_t token : tapegrad::argsort(probabilities, -1, true).to_vector<int64_t>()) {
    double& one = kept[static_cast<std::size_t>(token)];
    total += one;
    if (total > p) one = 0;
    kept_total += one;
  }
  return tapegrad::tensor(kept, {probabilities.size(0)}) / kept_total;
}
