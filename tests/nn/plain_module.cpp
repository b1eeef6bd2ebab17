// Plain structs are modules without a visit: their members and names are found by the compiler.
#include <tapegrad/nn/dropout.h>
#include <tapegrad/nn/gradcheck.h>
#include <tapegrad/nn/linear.h>
#include <tapegrad/nn/sequential.h>
#include <tapegrad/tests/support/near.h>

#include <array>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace tapegrad {
namespace {

std::vector<std::string> names_in(auto& model) {
  std::vector<std::string> names;
  for (const NamedTensor& t : nn::state_dict(model)) names.push_back(t.name);
  return names;
}

enum class Kind { small, large };

struct FirstAndSecond {  // as a pair has
  nn::Linear first{1, 1};
  int second = 0;
};
static_assert(nn::detail::PlainModule<FirstAndSecond>);

struct PlainBlock {
  nn::Linear up{2, 3}, down{3, 2};
  nn::Dropout dropout{0.5};
  double scale = 2;  // what is no module is left alone
  Tensor operator()(const Tensor& x) const { return x + dropout(down(tanh(up(x)))) * scale; }
};

struct PlainModel {
  nn::List<PlainBlock> blocks;
  nn::Optional<nn::Linear> head;
  nn::Sequential<nn::Linear, PlainBlock> tail{nn::Linear(2, 2), PlainBlock()};
  nn::AnyModule any{PlainBlock()};
  nn::Parameter shift{zeros({2})};
  nn::Buffer table{ones({2})};
  std::string title = "a model";
  std::vector<int> sizes = {1, 2};
  std::map<std::string, int> places;
  std::array<int, 2> pair{};
  std::function<double(double)> rate;
  Kind kind = Kind::small;
  bool flag = false;
  const PlainBlock* shared = nullptr;
  Tensor operator()(const Tensor& x) const { return any(tail(blocks[0](x))) + shift; }
};

TEST(PlainModule, HasTheNamesOfItsMembers) {
  PlainModel model;
  model.blocks.emplace_back();
  EXPECT_EQ(names_in(model),
            (std::vector<std::string>{"blocks.0.up.weight", "blocks.0.up.bias", "blocks.0.down.weight",
                                      "blocks.0.down.bias", "tail.0.weight", "tail.0.bias", "tail.1.up.weight",
                                      "tail.1.up.bias", "tail.1.down.weight", "tail.1.down.bias", "any.up.weight",
                                      "any.up.bias", "any.down.weight", "any.down.bias", "shift", "table"}));
  struct OfAFunction {
    nn::Linear one{1, 1}, two_words{1, 1};
  } local;
  EXPECT_EQ(names_in(local),
            (std::vector<std::string>{"one.weight", "one.bias", "two_words.weight", "two_words.bias"}));
}

TEST(PlainModule, IsAModuleForEverything) {
  PlainModel model;
  model.blocks.emplace_back();
  nn::eval(model);
  EXPECT_FALSE(model.blocks[0].dropout.training);
  const Tensor x = ones({1, 2});
  PlainModel copy = nn::clone(model);
  EXPECT_TRUE(equal(copy(x), model(x)));
  copy.shift.set(ones({2}));
  EXPECT_FALSE(equal(copy(x), model(x)));
  nn::load_state_dict(copy, nn::state_dict(model));
  EXPECT_TRUE(equal(copy(x), model(x)));
  const auto report = nn::gradcheck(model, {x});
  EXPECT_TRUE(report) << report.text;
}

struct SizedBlock {
  int64_t in, out = in;
  nn::Linear layer{in, out};
};

TEST(PlainModule, IsRepeatedWithTheValuesOfItsFirstMembers) {
  nn::List<SizedBlock> blocks = nn::repeat<SizedBlock>(2, 3, 4);
  ASSERT_EQ(blocks.size(), 2U);
  EXPECT_EQ(blocks[1].layer.weight.shape(), (Shape{4, 3}));
  EXPECT_EQ(nn::repeat<SizedBlock>(1, 3)[0].layer.weight.shape(), (Shape{3, 3}));
  EXPECT_EQ(nn::count_parameters(blocks), 2 * 16);
}

// Indices that a module keeps.
TEST(Buffer, IsAnEntryOfAnIndex) {
  const nn::Buffer ids(tensor({2, 0}));
  Tensor x = tensor({{1, 2, 3}, {4, 5, 6}}, kFloat32);
  tests::expect_near(x(all, ids), {3, 1, 6, 4});
  x(0, ids) = 0;
  tests::expect_near(x, {0, 2, 0, 4, 5, 6});
}

}  // namespace
}  // namespace tapegrad
