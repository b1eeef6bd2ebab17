// What the blocks of code in comments refer to: a small model and its data, and a folder of their own.
#pragma once

#include <comments/blocks.h>
#include <gtest/gtest.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/random.h>
#include <tapegrad/autograd/tape.h>
#include <tapegrad/nn/gpt.h>
#include <tapegrad/nn/linear.h>
#include <tapegrad/test_paths.h>
#include <tapegrad/tests/support/command_runner.h>

#include <filesystem>

// Most blocks compute something of which the test needs a part only.
#pragma GCC diagnostic ignored "-Wunused-variable"
#pragma GCC diagnostic ignored "-Wunused-but-set-variable"
#pragma GCC diagnostic ignored "-Wunused-parameter"

namespace tapegrad::tests {

namespace tg = tapegrad;

inline nn::GPTModel small_gpt() {
  return nn::GPTModel({.vocab_size = 7, .context_length = 4, .emb_dim = 8, .n_heads = 2, .n_layers = 1});
}

class Comments : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::current_path(folder_.path()); }
  void TearDown() override { std::filesystem::current_path(kSourceDir); }

  Gradients gradients() const {
    Tape tape;
    return tape.backward(cross_entropy(model(x), y));
  }

  nn::Linear model = (manual_seed(1), nn::Linear(2, 3));
  const Tensor x = randn({4, 2}), y = tensor({0, 1, 2, 0});  // examples and their classes

 private:
  TemporaryFolder folder_;
};

}  // namespace tapegrad::tests
