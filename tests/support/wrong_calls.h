// Lists of wrong calls and the texts of their errors.
#pragma once

#include <tapegrad/tests/support/near.h>

#include <functional>
#include <vector>

namespace tapegrad::tests {

struct WrongCall {
  const char* text;
  std::function<void()> call;
};

inline void expect_texts(const std::vector<WrongCall>& calls) {
  for (const WrongCall& wrong : calls) EXPECT_EQ(error_of(wrong.call), wrong.text);
}

}  // namespace tapegrad::tests
