// Module machinery on structs as users write them: names, state, clones, modes.
#include <tapegrad/tests/nn/models/small_models.h>
#include <tapegrad/tests/support/contents.h>
#include <tapegrad/tests/support/testing.h>

namespace tapegrad::tests {
namespace {

struct TestMlp {
  nn::Linear up, down;
  explicit TestMlp(int64_t dim) : up(dim, 4 * dim), down(4 * dim, dim) {}
  Tensor operator()(const Tensor& x) const { return x + down(relu(up(x))); }
  void visit(auto&& field) {
    field("up", up);
    field("down", down);
  }
};

struct Model {
  explicit Model(int64_t depth) : table(zeros({2, 3})) {
    for (int64_t i = 0; i < depth; ++i) blocks.emplace_back(3);
  }
  void visit(auto&& field) {
    field("blocks", blocks);
    field("head", head);
    field("table", table);
    field("drop", drop);
    field("extra", extra);
  }

  nn::List<TestMlp> blocks;
  std::array<nn::Linear, 2> head{nn::Linear(3, 2), nn::Linear(2, 1, false)};
  nn::Buffer table;
  nn::Dropout drop{0.5};
  std::optional<nn::Dropout> extra;
};

static_assert(!std::is_copy_constructible_v<nn::Parameter> && !std::is_copy_assignable_v<nn::Parameter>);
static_assert(!std::is_copy_constructible_v<TestMlp> && !std::is_copy_assignable_v<TestMlp>);
static_assert(std::is_nothrow_move_constructible_v<nn::Parameter> && std::is_nothrow_move_constructible_v<nn::Linear>);

TEST(Module, NamesInTheOrderOfTheVisits) {
  Model model(2);
  std::vector<std::string> names;
  for (const auto& [name, parameter] : nn::named_parameters(model)) {
    names.push_back(name);
    EXPECT_EQ(parameter.name(), name);
  }
  EXPECT_TEXT(names);
  ASSERT_EQ(nn::named_buffers(model).size(), 1U);
  EXPECT_EQ(nn::named_buffers(model)[0].name, "table");
  EXPECT_EQ(nn::count_parameters(model), 2 * (12 * 3 + 12 + 3 * 12 + 3) + 2 * 3 + 2 + 2);
  EXPECT_EQ(model.blocks[0].up.weight->shape(), (Shape{12, 3}));
}

TEST(Module, VisitReachesEveryParameterMade) {
  const int64_t before = nn::Parameter::alive();
  {
    Model model(3);
    EXPECT_EQ(nn::Parameter::alive() - before, static_cast<int64_t>(nn::named_parameters(model).size()));
    const Model moved = std::move(model);
    EXPECT_EQ(nn::Parameter::alive() - before, 15);
    const Model copy = nn::clone(moved);
    EXPECT_EQ(nn::Parameter::alive() - before, 30);
  }
  EXPECT_EQ(nn::Parameter::alive(), before);
  nn::Transformer transformer(small_transformer(5, 7));
  EXPECT_EQ(nn::Parameter::alive() - before, static_cast<int64_t>(nn::named_parameters(transformer).size()));
}

TEST(Module, ASilentCopyIsAnError) {
  Model model(1);
  EXPECT_TEXT(error_of([&] { const TestMlp silent = model.blocks[0]; }));
}

// A head that is the table, named in both places.
struct Tied {
  nn::Linear table{3, 4}, other{3, 4};
  nn::Linear* head = &table;
  void visit(auto&& field) {
    field("table", table);
    field("head", *head);
    field.ignore(other);
  }
};

struct SameNames {
  nn::Linear a{2, 2, false}, b{2, 2, false};
  void visit(auto&& field) {
    field("w", a);
    field("w", b);
  }
};

TEST(Module, AParameterThatIsVisitedTwiceIsTied) {
  Tied tied;
  EXPECT_EQ(nn::count_parameters(tied), 16);
  const NamedTensors leaves = nn::parameters(tied), state = nn::state_dict(tied);
  ASSERT_EQ(leaves.size(), 2U);
  ASSERT_EQ(state.size(), 2U);
  EXPECT_EQ(leaves[0].name, "table.weight");
  EXPECT_EQ(state[1].name, "table.bias");
  NamedTensors both = state;
  both.push_back({"head.weight", state[0].tensor});
  nn::load_state_dict(tied, both);
  both.back().tensor = zeros({4, 3});
  EXPECT_ERROR(nn::load_state_dict(tied, both));
  tied.head = &tied.other;
  EXPECT_EQ(nn::parameters(tied).size(), 4U);
  SameNames same;
  EXPECT_ERROR(nn::named_parameters(same));
}

TEST(Module, AnUnusedParameterIsNamed) {
  TestMlp idle(2);
  const Gradients grads = Tape().backward(sum(idle.up(ones({1, 2}))));
  EXPECT_EQ(grads[idle.up.bias].numel(), 8);
  EXPECT_EQ(error_of([&] { grads[idle.down.bias]; }), "[gradients] the leaf of shape [2] took no part in the loss");
  nn::named_parameters(idle);
  EXPECT_ERROR(grads[idle.down.bias]);
}

TEST(Module, EvalModeRestoresTheModeOfEachModule) {
  Model model(1);
  model.extra.emplace(0.1);
  nn::eval(*model.extra);
  try {
    const nn::EvalMode outer(model);
    EXPECT_FALSE(model.drop.training || model.extra->training);
    {
      nn::train(model);
      const nn::EvalMode inner(model);
      EXPECT_FALSE(model.drop.training || model.extra->training);
    }
    EXPECT_TRUE(model.drop.training && model.extra->training);
    fail("test", "an evaluation that fails");
  } catch (const Error&) {
  }
  EXPECT_TRUE(model.drop.training);
  EXPECT_FALSE(model.extra->training);
}

TEST(Module, AParameterIsALeaf) {
  const Tensor values = ones({2});
  nn::Parameter p(values);
  p.set(zeros({2}));
  EXPECT_EQ(values.to_vector<float>(), (std::vector<float>{1, 1}));
  Tape tape;
  const Tensor y = sum(p * p);
  EXPECT_ERROR(p.set(ones({2})));
  p.set_name("w");
  EXPECT_ERROR(nn::init::ones(p));
  const Gradients grads = tape.backward(y);
  EXPECT_EQ(grads[p].to_vector<float>(), (std::vector<float>{0, 0}));
  p.set(ones({2}));
  EXPECT_EQ(error_of([&] { p.set(ones({3})); }), "[parameter] expected values of shape [2] for \"w\", got [3]");
}

TEST(Module, AParameterIsIndexedAsATensor) {
  const nn::Parameter p(tensor({{1., 2., 3.}, {4., 5., 6.}}));
  const nn::Buffer b(p.tensor().detach());
  EXPECT_EQ(p(1, all).to_vector<float>(), (std::vector<float>{4, 5, 6}));
  EXPECT_EQ(p({}, range(0, 2)).to_vector<float>(), (std::vector<float>{1, 2, 4, 5}));
  EXPECT_EQ(b(all, range(1, 2), newaxis).shape(), (Shape{2, 1, 1}));
}

TEST(Module, StateRoundTrips) {
  Model from(2), to(2);
  from.table.set(full({2, 3}, 7));
  const NamedTensors state = nn::state_dict(from);
  ASSERT_EQ(state.size(), 12U);
  EXPECT_EQ(state.back().name, "table");
  const nn::LoadReport report = nn::load_state_dict(to, state);
  EXPECT_TRUE(report.missing.empty() && report.unexpected.empty());
  expect_same(nn::state_dict(to), state);
}

TEST(Module, StateErrorsNameTheEntries) {
  Model model(1);
  NamedTensors state = nn::state_dict(nn::clone(model));
  state[0].name = "blocks.0.upp.weight";
  state[1].tensor = zeros({5});
  const std::vector<float> before = model.blocks[0].down.weight->to_vector<float>();
  state[2].tensor = zeros({3, 12});
  EXPECT_ERROR(nn::load_state_dict(model, state));
  EXPECT_EQ(model.blocks[0].down.weight->to_vector<float>(), before);
  state[1].tensor = ones({12});
  const nn::LoadReport report = nn::load_state_dict(model, state, false);
  EXPECT_EQ(report.missing, std::vector<std::string>{"blocks.0.up.weight"});
  EXPECT_EQ(report.unexpected, std::vector<std::string>{"blocks.0.upp.weight"});
  EXPECT_EQ(model.blocks[0].up.bias->to_vector<float>(), std::vector<float>(12, 1));
  state.push_back(state[1]);
  EXPECT_ERROR(nn::load_state_dict(model, state, false));
  state.back().tensor = {};
  EXPECT_ERROR(nn::load_state_dict(model, state, false));
}

}  // namespace
}  // namespace tapegrad::tests
