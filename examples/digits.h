// The 1,797 handwritten digits of digits.txt as a dataset, for the examples that use them.
#pragma once

#include "data_option.h"

#include <tapegrad/tapegrad.h>
#include <tapegrad/train.h>

#include <sstream>
#include <string>
#include <utility>
#include <vector>

inline constexpr char kDigitsFile[] = "digits.txt";

/// Images of 8 x 8 pixels and their labels. Each line of the file has the digit, then its pixels row by row: grey
/// levels from 0 (white) to g (16, black).
struct Digits {
  tapegrad::Tensor images;  // float32 [N, 1, 8, 8], from 0 (white) to 1 (black)
  tapegrad::Tensor labels;  // int64 [N]

  explicit Digits(const std::string& path) {
    std::istringstream file(tapegrad::train::read_file(path));
    std::vector<float> pixels;
    std::vector<int64_t> answers;
    std::string line;
    while (std::getline(file, line)) {
      answers.push_back(line.at(0) - '0');
      for (const char level : line.substr(2)) {
        pixels.push_back(static_cast<float>(level <= '9' ? level - '0' : level - 'a' + 10) / 16);
      }
    }
    if (answers.empty() || pixels.size() != 64 * answers.size())
      tapegrad::fail("digits", "expected lines of a digit and 64 pixels in " + path);
    const auto count = static_cast<int64_t>(answers.size());
    images = tapegrad::tensor(pixels, {count, 1, 8, 8});
    labels = tapegrad::tensor(answers, {count});
  }

  int64_t size() const { return labels.numel(); }
  std::pair<tapegrad::Tensor, int64_t> operator[](int64_t i) const { return {images[i], labels[i].item<int64_t>()}; }
};

/// Splits them into training data and a fifth for testing.
inline auto split(const Digits& digits) {
  const int64_t held_out = digits.size() / 5;
  return tapegrad::data::random_split(digits, std::vector<int64_t>{digits.size() - held_out, held_out});
}

/// A whole dataset as one batch.
inline auto all_of(const tapegrad::data::Subset<Digits>& part) {
  return *tapegrad::data::DataLoader(part, {.batch_size = part.size()}).begin().next();
}
