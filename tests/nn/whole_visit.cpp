// What a visit forgets is found; plain structs are modules without a visit.
#include <tapegrad/tests/support/contents.h>
#include <tapegrad/tests/support/testing.h>

#include <new>

namespace tapegrad::tests {
namespace {

struct ForgetsALayer {
  nn::Linear up{2, 3}, down{3, 2};
  Tensor operator()(const Tensor& x) const { return down(up(x)); }
  void visit(auto&& field) { field("up", up); }
};

struct ForgetsADropout {
  nn::Linear up{2, 3};
  nn::Dropout dropout{0.1};
  void visit(auto&& field) { field("up", up); }
};

struct ForgetsABuffer {
  nn::Buffer table{ones({4})};
  nn::Parameter scale{ones({1})};
  void visit(auto&& field) { field("scale", scale); }
};

struct LeavesOneOut {
  nn::Linear student{2, 2}, teacher{2, 2};
  void visit(auto&& field) {
    field("student", student);
    field.ignore(teacher);
  }
};

const char* const kHint =
    " not named by its visit: field(\"name\", member) names a member, and field.ignore(member) leaves one out on "
    "purpose";

std::string found(std::string_view what) { return "[visit] " + std::string(what) + kHint; }

TEST(WholeVisit, NamesWhatIsForgottenAndWhere) {
  ForgetsALayer layer;
  const auto offset = [&](const auto& member) {
    return std::to_string(reinterpret_cast<const std::byte*>(&member) - reinterpret_cast<const std::byte*>(&layer));
  };
  EXPECT_EQ(error_of([&] { nn::state_dict(layer); }),
            found("a parameter of shape [2, 3] at byte " + offset(layer.down.weight) +
                  " of the ForgetsALayer; a parameter of shape [2] at byte " + offset(layer.down.bias) +
                  " of the ForgetsALayer are"));
  ForgetsADropout dropout;
  expect_parts(error_of([&] { nn::state_dict(dropout); }), {"a module with a training mode, as Dropout is, at byte"});
  ForgetsABuffer buffer;
  EXPECT_EQ(error_of([&] { nn::state_dict(buffer); }),
            found("a buffer of shape [4] at byte 0 of the ForgetsABuffer is"));
}

TEST(WholeVisit, AlsoInsideOfOtherModules) {
  nn::List<nn::AnyModule> list;
  list.emplace_back(nn::Linear(2, 2));
  list.emplace_back(ForgetsALayer());
  expect_parts(error_of([&] { nn::state_dict(list); }), {"of the ForgetsALayer \"1\""});
  expect_parts(error_of([] { nn::gradcheck(ForgetsALayer(), {ones({1, 2})}); }), {"[visit] a parameter of shape"});
}

struct ForgetsContainers {
  nn::Linear up{2, 3};
  nn::List<nn::Linear> list;
  nn::AnyModule any;
  nn::Dict<nn::Dropout> dict;
  nn::List<nn::AnyModule> functions;  // nothing to be forgotten
  ForgetsContainers() {
    functions.emplace_back([](const Tensor& x) { return x * 2; });
  }
  void visit(auto&& field) { field("up", up); }
};

TEST(WholeVisit, SeesTheModulesOfContainers) {
  ForgetsContainers model;
  EXPECT_EQ(nn::state_dict(model).size(), 2u);  // empty containers
  const auto offset = [&](const auto& member) {
    return std::to_string(reinterpret_cast<const std::byte*>(static_cast<const nn::detail::Member*>(&member)) -
                          reinterpret_cast<const std::byte*>(&model));
  };
  model.list.emplace_back(1, 1);
  EXPECT_EQ(error_of([&] { nn::state_dict(model); }),
            found("a container that holds the parameter \"0.weight\" at byte " + offset(model.list) +
                  " of the ForgetsContainers is"));
  model.list.clear();
  model.any = nn::Linear(1, 1);
  EXPECT_EQ(error_of([&] { nn::state_dict(model); }), found("a container that holds the parameter \"weight\" at byte " +
                                                            offset(model.any) + " of the ForgetsContainers is"));
  model.any = {};
  model.dict.emplace("drop", 0.5);
  const std::string dropout = found("a container that holds the mode of the module \"drop\" at byte " +
                                    offset(model.dict) + " of the ForgetsContainers is");
  EXPECT_EQ(error_of([&] { nn::state_dict(model); }), dropout);
  const ForgetsContainers moved = std::move(model), copy = nn::clone(moved);
  EXPECT_EQ(error_of([&] { nn::state_dict(moved); }), dropout);
  EXPECT_EQ(error_of([&] { nn::state_dict(copy); }), dropout);
}

struct ForgetsAnOptional {
  nn::Linear up{2, 3};
  std::optional<nn::Dropout> dropout;
  void visit(auto&& field) { field("up", up); }
};

// A member is found from its construction to its destruction, also where another one was before.
TEST(WholeVisit, SeesWhatAnOptionalHolds) {
  ForgetsAnOptional model;
  for (int i = 0; i < 2; ++i) {
    EXPECT_NO_THROW(nn::require_whole_visit(model));
    model.dropout.emplace(0.1);
    EXPECT_THROW(nn::require_whole_visit(model), Error);
    EXPECT_THROW(nn::require_whole_visit(ForgetsAnOptional(std::move(model))), Error);
    model.dropout.reset();
  }
}

struct HasBytes {
  nn::Linear up{2, 3};
  alignas(nn::Mode) std::byte bytes[sizeof(nn::Mode)] = {};
  void visit(auto&& field) { field("up", up); }
};

TEST(WholeVisit, DoesNotTakeBytesForAMember) {
  HasBytes model;
  const nn::Mode mode = true;
  std::memcpy(model.bytes, static_cast<const void*>(&mode), sizeof mode);
  EXPECT_NO_THROW(nn::require_whole_visit(model));
  auto* const made = new (model.bytes) nn::Mode(true);
  EXPECT_THROW(nn::require_whole_visit(model), Error);
  made->~Mode();
  EXPECT_NO_THROW(nn::require_whole_visit(model));
}

// Names the modules of a list, not the list.
struct NamesElements {
  nn::List<nn::Linear> layers = nn::repeat<nn::Linear>(2, 1, 1);
  nn::List<nn::Linear> others = nn::repeat<nn::Linear>(2, 1, 1);
  void visit(auto&& field) {
    field("first", layers[0]);
    field("second", layers[1]);
    field.ignore(others);
  }
};

TEST(WholeVisit, ModulesOfAContainerMayBeNamedOneByOne) {
  NamesElements model;
  EXPECT_EQ(nn::state_dict(model).size(), 4u);
  model.layers.emplace_back(1, 1);
  expect_parts(error_of([&] { nn::state_dict(model); }), {"a container that holds the parameter \"2.weight\""});
}

TEST(WholeVisit, LeftOutOnPurposeOrElsewhereIsNoError) {
  LeavesOneOut model;
  const ForgetsALayer other;  // not a part of the model
  EXPECT_EQ(nn::state_dict(model).size(), 2u);
  LeavesOneOut moved = std::move(model);
  EXPECT_EQ(nn::state_dict(moved).size(), 2u);
  EXPECT_EQ(nn::state_dict(nn::clone(moved)).size(), 2u);
  EXPECT_NO_THROW(nn::require_whole_visit(moved));
  EXPECT_THROW(nn::require_whole_visit(other), Error);
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
  EXPECT_TEXT(names_of(nn::state_dict(model)));
  struct OfAFunction {
    nn::Linear one{1, 1}, two_words{1, 1};
  } local;
  EXPECT_TEXT(names_of(nn::state_dict(local)));
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
  EXPECT_TRUE(nn::gradients_match(model, {x}));
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

TEST(Buffer, IsAnEntryOfAnIndex) {
  const nn::Buffer ids(tensor({2, 0}));
  Tensor x = tensor({{1, 2, 3}, {4, 5, 6}}, kFloat32);
  expect_near(x(all, ids), {3, 1, 6, 4});
  x(0, ids) = 0;
  expect_near(x, {0, 2, 0, 4, 5, 6});
}

}  // namespace
}  // namespace tapegrad::tests
