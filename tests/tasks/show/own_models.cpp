// Models of a program's own are drawn from a watched pass: all parameters are in a part, layers are drawn once, and the
// drawing is readable.
#include <tapegrad/tests/support/pictures/svg_check.h>
#include <tapegrad/tests/support/testing.h>
#include <tapegrad/tests/tasks/show/own_models.h>
#include <tapegrad/train/drawing/flow.h>
#include <tapegrad/tutorials/show/architecture_models.h>

namespace tapegrad::tasks::architecture {
namespace {

using namespace tests;

void expect_drawn(const Architecture& found, int64_t parameters) {
  int64_t sum = 0;
  for (const Stack& stack : found.stacks) sum += parameters_of(stack);
  EXPECT_EQ(sum, parameters);
  EXPECT_EQ(found.parameters, parameters);
  const drawing::FlowChart chart = chart_of(found);
  EXPECT_EQ(faults_of_svg(drawing::svg_file(draw(chart))), std::vector<std::string>());
  expect_narrow(table_of(found));
}

// "attn_ln", "attn", "+ attn_ln": the parts of a stack in order; a sum with the part whose input it adds.
std::vector<std::string> titles_of(const Stack& stack, std::size_t first = 0, std::size_t last = 1000) {
  std::vector<std::string> titles;
  for (std::size_t i = first; i < std::min(stack.parts.size(), last + 1); ++i) {
    const drawing::FlowStep& step = stack.parts[i].step;
    titles.push_back(step.adds ? "+ " + stack.parts[*step.adds].step.title : step.title);
  }
  return titles;
}
using Titles = std::vector<std::string>;

TEST(OwnModels, WhisperHasAnEncoderAndADecoder) {
  manual_seed(1);
  own_models::Whisper model;
  const Tensor mel = randn({1, 40, 100}), tokens = tensor({{1, 2, 3, 4}});
  const nn::Watched seen = nn::watch(model, [&] { return model(mel, tokens); });
  const Architecture found = architecture_of(seen, "Whisper", {mel, tokens});
  expect_drawn(found, nn::count_parameters(model));
  nn::eval(model);
  EXPECT_TRUE(equal(found.result, model(mel, tokens)));
  ASSERT_EQ(found.stacks.size(), 2U);
  const Stack &encoder = found.stacks[0], &decoder = found.stacks[1];
  EXPECT_EQ(encoder.name, "Encoder");
  EXPECT_EQ(encoder.input_shape, "[1, 40, 100]");
  EXPECT_EQ(titles_of(encoder), (Titles{"conv1", "gelu", "conv2", "gelu", "add", "Layer norm", "attn", "+ Layer norm",
                                        "Layer norm", "mlp", "+ Layer norm", "Layer norm"}));
  ASSERT_EQ(encoder.layers.size(), 1U);
  EXPECT_EQ(encoder.layers[0].times, 2);
  EXPECT_EQ(encoder.parts[2].step.code[0], "nn::Conv1d(64, 64, 3, {.stride = 2, .padding = 1})");
  EXPECT_EQ(encoder.parts[6].step.code[0], "MultiHeadAttention{.n_state = 64, .n_head = 4}");
  EXPECT_EQ(encoder.parts[6].step.output, "[1, 50, 64]");
  EXPECT_EQ(titles_of(decoder),
            (Titles{"Token embedding", "add", "Layer norm", "attn", "+ Layer norm", "Layer norm", "cross_attn",
                    "+ Layer norm", "Layer norm", "mlp", "+ Layer norm", "Layer norm", "matmul"}));
  EXPECT_EQ(decoder.parts[1].count, 24 * 64) << "the positions are a parameter of the decoder";
  EXPECT_EQ(decoder.parts[6].step.reads, 0U);
  EXPECT_EQ(decoder.parts.back().step.output, "[1, 4, 120]");
}

TEST(OwnModels, DetrIsOneStack) {
  manual_seed(1);
  own_models::DETR model{6, 12};
  const Tensor image = randn({2, 3, 32, 32}), mask = zeros({2, 32, 32}, kBool);
  const nn::Watched seen = nn::watch(model, [&] { return model(image, mask); });
  EXPECT_FALSE(seen.result.defined()) << "a pair";
  const Architecture found = architecture_of(seen, "DETR", {image});
  expect_drawn(found, nn::count_parameters(model));
  ASSERT_EQ(found.stacks.size(), 1U);
  const Stack& stack = found.stacks[0];
  EXPECT_EQ(titles_of(stack, 0, 6), (Titles{"Conv2d", "ReLU", "Conv2d", "ReLU", "Conv2d", "ReLU", "input_proj"}));
  const std::vector<std::string> all = titles_of(stack);
  EXPECT_EQ(std::count(all.begin(), all.end(), "self_attn"), 4)
      << "layers that begin with different sums are drawn one by one";
  EXPECT_EQ(std::count(all.begin(), all.end(), "+ linear1"), 4);
}

TEST(OwnModels, AMixtureOfExpertsIsOnePart) {
  manual_seed(1);
  own_models::MoEGPT model{100, 32, 64, 2, 4, 96, 8, 2};
  tie(model.wte.weight, model.lm_head.weight);
  const Tensor ids = tensor({{1, 2, 3, 4, 5}});
  const nn::Watched seen = nn::watch(model, [&] { return model(ids); });
  const Architecture found = architecture_of(seen, "MoE", {ids});
  expect_drawn(found, nn::count_parameters(model));
  const Stack& stack = found.stacks.at(0);
  const auto moe =
      std::find_if(stack.parts.begin(), stack.parts.end(), [](const Part& part) { return part.step.title == "moe"; });
  ASSERT_NE(moe, stack.parts.end());
  EXPECT_EQ(moe->step.code[0], "MoE{.d = 64, .hidden = 96, .n = 8, .k = 2}");
  EXPECT_EQ(moe->all, 2 * nn::count_parameters(model.h[0].moe));
  EXPECT_EQ(moe->step.output, "[1, 5, 64]");
  EXPECT_EQ((moe + 1)->step.code[0], "x + y");
  EXPECT_EQ(stack.parts.back().step.output, "[1, 5, 100]");
}

}  // namespace
}  // namespace tapegrad::tasks::architecture
