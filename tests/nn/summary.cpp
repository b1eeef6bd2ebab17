// The summary of a module.
#include <gtest/gtest.h>
#include <tapegrad/tapegrad.h>
#include <tapegrad/tests/nn/tied_language.h>
#include <tapegrad/tests/support/contents.h>
#include <tapegrad/tests/support/near.h>

#include <string>

namespace tapegrad::summary_tests {
namespace {

using namespace tests;

struct Classifier {
  nn::Sequential<nn::Linear, nn::Dropout, nn::LayerNorm> stem{nn::Linear(6, 4), nn::Dropout(0.5), nn::LayerNorm(4)};
  nn::List<nn::Linear> layers = nn::repeat<nn::Linear>(2, 4, 4);
  nn::Hooked<nn::Linear> head{4, 4, false};
  nn::Buffer steps{zeros({3})};
  Tensor operator()(const Tensor& x) const {
    EXPECT_FALSE(stem.get<1>().training);
    Tensor y = stem(x);
    for (const nn::Linear& layer : layers) y = layer(y);
    return head(y).flatten();
  }
  void visit(auto&& field) {
    field("stem", stem);
    field("layers", layers);
    field("head", head);
    field("steps", steps);
  }
};

TEST(Summary, IsATreeWithMarks) {
  Classifier model;
  nn::tie(model.layers[0].weight, model.head.weight);
  nn::freeze(model.stem);
  EXPECT_EQ(nn::summary(model),
            "name          type        shape   count\n"
            "Classifier                           76\n"
            "  stem        Sequential             36\n"
            "    0         Linear                 28\n"
            "      weight              [4, 6]     24  (frozen)\n"
            "      bias                [4]         4  (frozen)\n"
            "    1         Dropout                 0\n"
            "    2         LayerNorm               8\n"
            "      weight              [4]         4  (frozen)\n"
            "      bias                [4]         4  (frozen)\n"
            "  layers.0    Linear                 20\n"
            "    weight                [4, 4]     16\n"
            "    bias                  [4]         4\n"
            "  layers.1    Linear                 20\n"
            "    weight                [4, 4]     16\n"
            "    bias                  [4]         4\n"
            "  head        Linear                  0\n"
            "    weight                [4, 4]         (tied to layers.0.weight)\n"
            "  steps                   [3]            (buffer)\n"
            "parameters                           76\n"
            "trainable                            40\n");
}

TEST(Summary, HasTheShapesOfOutputs) {
  Classifier model;
  nn::freeze(model.layers[1]);
  const Tensor x = randn({2, 6});
  manual_seed(9);
  const Tensor expected = rand({3});
  manual_seed(9);
  EXPECT_EQ(nn::summary(model, {x}),
            "name          type        shape      count\n"
            "Classifier                -> [8]        92\n"
            "  stem        Sequential  -> [2, 4]     36\n"
            "    0         Linear      -> [2, 4]     28\n"
            "      weight              [4, 6]        24\n"
            "      bias                [4]            4\n"
            "    1         Dropout     -> [2, 4]      0\n"
            "    2         LayerNorm   -> [2, 4]      8\n"
            "      weight              [4]            4\n"
            "      bias                [4]            4\n"
            "  layers.0    Linear      -> [2, 4]     20\n"
            "    weight                [4, 4]        16\n"
            "    bias                  [4]            4\n"
            "  layers.1    Linear      -> [2, 4]     20\n"
            "    weight                [4, 4]        16  (frozen)\n"
            "    bias                  [4]            4  (frozen)\n"
            "  head        Linear      -> [2, 4]     16\n"
            "    weight                [4, 4]        16\n"
            "  steps                   [3]               (buffer)\n"
            "parameters                              92\n"
            "trainable                               72\n");
  EXPECT_EQ(values_of(rand({3})), values_of(expected)) << "the generator goes on as before";
  EXPECT_TRUE(model.stem.get<1>().training);
  EXPECT_TRUE(model.layers[1].weight.frozen());
  EXPECT_EQ(error_of([&] {
              nn::summary(model, {randn({2, 5})});
            }),
            "[linear] expected an input with last axis 6 for weight [4, 6] [out, in], got [2, 5]");
  EXPECT_TRUE(model.stem.get<1>().training);
}

TEST(Summary, ATiedParameterDoesNotTellWhichModuleUsedIt) {
  Language model = tied_language();
  const std::string text = nn::summary(model, {tensor({{0, 1}})});
  EXPECT_NE(text.find("\nLanguage               -> [1, 2, 5]"), std::string::npos) << text;
  EXPECT_NE(text.find("\n  table     Embedding                   15"), std::string::npos) << text;
  EXPECT_NE(text.find("\n  middle    Linear     -> [1, 2, 3]"), std::string::npos) << text;
}

TEST(Summary, OfAPartAndOfOneParameter) {
  const Language model;
  EXPECT_EQ(nn::summary(model.middle),
            "name        type  shape   count\n"
            "Linear                       12\n"
            "  weight          [3, 3]      9\n"
            "  bias            [3]         3\n"
            "parameters                   12\n");
  EXPECT_EQ(nn::summary(model.middle.weight),
            "name        type  shape   count\n"
            "parameter         [3, 3]      9\n"
            "parameters                    9\n");
}

}  // namespace
}  // namespace tapegrad::summary_tests
