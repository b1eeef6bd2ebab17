// expected: 003-8.3.1: wrong. twice as long, row 2, column 1: expected -1.3600, got -1.5600
#include <tapegrad/tapegrad.h>

// The nearest vector below, without a mixture.
inline tapegrad::Tensor stretched(const tapegrad::Tensor& table, int64_t length) {
  std::vector<tapegrad::Tensor> rows;
  for (int64_t i = 0; i < length; ++i) rows.push_back(table[i * table.size(0) / length]);
  return tapegrad::stack(rows);
}
