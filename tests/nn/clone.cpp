// Clones are deep, whatever holds the modules: values, names, modes, ties and frozen parameters are kept.
#include <tapegrad/tests/support/testing.h>

#include <variant>

namespace tapegrad::tests {
namespace {

// Every parameter and buffer of the clone has the values, name and frozen state of the model's, and its own memory. The
// clone keeps them when the model changes.
template <class Model>
void expect_deep(Model& model) {
  nn::parameters(model);  // names
  nn::EvalMode eval(model);
  const int64_t before = nn::Parameter::alive();
  Model copy = nn::clone(model);
  EXPECT_EQ(nn::Parameter::alive() - before, static_cast<int64_t>(nn::parameters(model).size()));
  const auto ours = nn::named_parameters(model), theirs = nn::named_parameters(std::as_const(copy));
  ASSERT_EQ(ours.size(), theirs.size());
  ASSERT_GT(ours.size(), 0u);
  for (std::size_t i = 0; i < ours.size(); ++i) {
    nn::Parameter &our = ours[i].parameter, &their = theirs[i].parameter;
    EXPECT_EQ(ours[i].name, theirs[i].name);
    EXPECT_EQ(our.name(), their.name());
    EXPECT_EQ(our.frozen(), their.frozen());
    EXPECT_TRUE(same_bits(our, their)) << our.name();
    EXPECT_FALSE(our.tied_to(their));
    const Tensor kept = their->clone();
    our.set(our.tensor() + 1);
    EXPECT_TRUE(same_bits(kept, their)) << our.name();
  }
  const auto our_buffers = nn::named_buffers(model), their_buffers = nn::named_buffers(copy);
  ASSERT_EQ(our_buffers.size(), their_buffers.size());
  for (std::size_t i = 0; i < our_buffers.size(); ++i) {
    EXPECT_TRUE(same_bits(our_buffers[i].buffer, their_buffers[i].buffer));
    EXPECT_FALSE(our_buffers[i].buffer->storage() == their_buffers[i].buffer->storage());
  }
}

// Plain, with everything that may hold a module.
struct Member {
  nn::Linear layer{2, 2};
  nn::Buffer table{randn({2})};
  nn::Dropout dropout{0.5};
  std::optional<nn::Linear> maybe, none;
};

struct Holds {
  nn::Parameter scale{randn({2})};
  std::vector<nn::Linear> list;
  std::vector<std::vector<nn::Linear>> lists;
  std::array<std::optional<nn::Linear>, 2> pair;
  std::map<std::string, Member> named;
  std::variant<std::monostate, nn::Linear, Member> choice;
  std::unique_ptr<Member> owned;
  std::shared_ptr<nn::Linear> shared, again;
  std::shared_ptr<const std::vector<int64_t>> data;
  nn::List<Member> own_list;
  nn::Dict<std::unique_ptr<nn::Linear>> own_dict;
  nn::AnyModule any;
  int64_t number = 3;
  const std::string text = "text";
  std::vector<std::string> texts;
};

Holds holding() {
  Holds model;
  model.list.emplace_back(2, 1);
  model.list.emplace_back(1, 2);
  model.lists.resize(2);
  model.lists[1].emplace_back(1, 1);
  model.pair[1].emplace(2, 1);
  model.named["x"].maybe.emplace(3, 1);
  model.named["a"].dropout.training = false;
  model.choice.emplace<Member>();
  model.owned = std::make_unique<Member>();
  model.shared = model.again = std::make_shared<nn::Linear>(2, 3);
  model.data = std::make_shared<const std::vector<int64_t>>(3, 7);
  model.own_list.emplace_back();
  model.own_dict.emplace("one", std::make_unique<nn::Linear>(1, 1));
  model.any = nn::Sequential{nn::Linear(2, 2), [](const Tensor& x) { return relu(x); }};
  model.texts = {"a", "b"};
  return model;
}

TEST(Clone, CopiesWhatHoldsModulesInAPlainStruct) {
  manual_seed(5);
  Holds model = holding();
  nn::freeze(model.named["a"].layer);
  nn::freeze(model.owned->layer.bias);
  const Holds copy = nn::clone(model);
  expect_deep(model);
  EXPECT_FALSE(copy.named.at("a").dropout.training);
  EXPECT_TRUE(copy.named.at("x").dropout.training);
  EXPECT_FALSE(copy.named.at("x").none.has_value());
  EXPECT_EQ(copy.lists[0].size(), 0u);
  EXPECT_EQ(copy.number, 3);
  EXPECT_EQ(copy.text, "text");
  EXPECT_EQ(copy.texts, model.texts);
}

TEST(Clone, KeepsWhatIsSharedWithinTheModel) {
  Holds model = holding();
  tie(model.list[0].weight, model.named["x"].layer.weight = nn::Parameter(ones({1, 2})));
  tie(model.list[0].weight, model.pair[1]->weight);
  const Holds copy = nn::clone(model);
  EXPECT_EQ(copy.shared, copy.again);
  EXPECT_NE(copy.shared, model.shared);
  EXPECT_EQ(copy.data, model.data);  // no module: one copy is enough
  EXPECT_TRUE(copy.list[0].weight.tied_to(copy.named.at("x").layer.weight));
  EXPECT_TRUE(copy.list[0].weight.tied_to(copy.pair[1]->weight));
  EXPECT_FALSE(copy.list[0].weight.tied_to(model.list[0].weight));
  expect_deep(model);
}

// With a constructor and a visit.
struct Built {
  explicit Built(int64_t dim) : heads{{"a", nn::Linear(dim, 1)}}, dim(dim) {
    tower.emplace_back(holding());
    choice = nn::Linear(dim, dim);
  }
  void visit(auto&& field) {
    field("heads", heads);
    field("tower", tower);
    field("choice", choice);
    field("maybe", maybe);
  }
  nn::Dict<nn::Linear> heads;
  nn::List<Holds> tower;
  nn::Variant<nn::Dropout, nn::Linear> choice = nn::Dropout(0.1);
  nn::Optional<std::map<std::string, nn::Linear>> maybe;
  int64_t dim;
};

TEST(Clone, CopiesAStructWithAVisitByItsConstructor) {
  Built model(2);
  model.maybe.emplace()["b"] = nn::Linear(2, 2);
  nn::freeze(model.choice);
  expect_deep(model);
  EXPECT_EQ(nn::clone(model).dim, 2);
  std::vector<nn::Linear> list;
  list.emplace_back(1, 1);
  expect_deep(list);
  std::map<std::string, nn::Linear> map;
  map.emplace("a", nn::Linear(1, 1));
  expect_deep(map);
}

// Without a constructor, with a visit that names members under other names, leaves one out and walks through others
// itself.
struct Named {
  std::optional<nn::Linear> maybe, none;
  std::map<std::string, Member> named;
  std::variant<std::monostate, nn::Linear, Member> choice;
  std::vector<nn::Linear> list;
  std::unique_ptr<Named> next;
  std::shared_ptr<nn::Linear> shared, again;
  nn::Linear out_of_sight{1, 1};
  int64_t number = 3;
  const std::string text = "text";
  void visit(auto&& field) {
    field("first", maybe);
    field("second", none);
    field("by_name", named);
    field("choice", choice);
    for (std::size_t i = 0; i < list.size(); ++i) field("list" + std::to_string(i), list[i]);
    field("next", next);
    field("shared", shared);
    field.ignore(out_of_sight);
  }
};

TEST(Clone, CopiesAStructWithAVisitAndWithoutAConstructorMemberByMember) {
  Named model;
  model.maybe.emplace(2, 1);
  model.named["a"].dropout.training = false;
  model.choice.emplace<Member>();
  model.list.emplace_back(2, 2);
  model.next = std::make_unique<Named>();
  model.next->list.emplace_back(1, 2);
  model.shared = model.again = std::make_shared<nn::Linear>(2, 3);
  tie(model.list[0].weight, model.named["a"].layer.weight);
  nn::freeze(model.list);
  model.number = 5;
  const Named copy = nn::clone(model);
  EXPECT_EQ(copy.shared, copy.again);
  EXPECT_NE(copy.shared, model.shared);
  EXPECT_TRUE(copy.list[0].weight.tied_to(copy.named.at("a").layer.weight));
  EXPECT_FALSE(copy.none.has_value());
  EXPECT_EQ(copy.number, 5);
  EXPECT_TRUE(same_bits(copy.out_of_sight.weight, model.out_of_sight.weight));
  EXPECT_FALSE(copy.out_of_sight.weight.tied_to(model.out_of_sight.weight));
  const int64_t before = nn::Parameter::alive();
  const Named again = nn::clone(model);
  EXPECT_EQ(nn::Parameter::alive() - before,
            static_cast<int64_t>(nn::parameters(model).size()) + 4);  // those out of sight
  EXPECT_EQ(nn::named_parameters(copy).size(), nn::named_parameters(std::as_const(model)).size());
}

// With a base class, whose members are not known: by its constructor.
struct Derived : nn::Linear {
  nn::Linear other{2, 2};
  void visit(auto&& field) {
    nn::Linear::visit(field);
    field("other", other);
  }
};

TEST(Clone, CopiesAStructWithABaseClassByItsConstructor) {
  Derived model{nn::Linear(1, 2)};
  expect_deep(model);
}

// A tree.
struct Node {
  nn::Linear layer{1, 1};
  nn::List<Node> children;
  void visit(auto&& field) {
    field("layer", layer);
    field("children", children);
  }
};

TEST(Clone, CopiesATree) {
  Node root;
  root.children.emplace_back().children.emplace_back();
  expect_deep(root);
}

struct Borrows {
  nn::Linear table{3, 4};
  nn::Linear* head = &table;
  void visit(auto&& field) {
    field("table", table);
    field("head", *head);
  }
};

TEST(Clone, OfAPointerIntoTheModelIsAnError) {
  const Borrows model;
  EXPECT_ERROR(nn::clone(model));
}

struct Refers {
  std::vector<nn::Linear> layers;
  const int64_t& number;
  void visit(auto&& field) { field("layers", layers); }
};

TEST(Clone, OfAReferenceIsAnError) {
  const int64_t number = 3;
  const Refers model{{}, number};
  EXPECT_ERROR(nn::clone(model));
}

TEST(Clone, OfAVariantWithoutAValueIsAnError) {
  struct Throws {
    operator nn::Linear() const { fail("test", "no layer"); }
  };
  struct Model {
    std::variant<nn::Linear, nn::Dropout> choice{nn::Dropout(0.1)};
  } model;
  EXPECT_THROW(model.choice.emplace<0>(Throws()), Error);
  EXPECT_EQ(nn::state_dict(model).size(), 0u);
  EXPECT_ERROR(nn::clone(model));
}

}  // namespace
}  // namespace tapegrad::tests
