// The graph of a tape: every operation, parameter and edge of it, frames and boxes of modules, names in quotes.
#include <tapegrad/tests/support/pictures/dot.h>
#include <tapegrad/tests/support/testing.h>

namespace tapegrad::tests {
namespace {

// x + down(relu(up(norm(x)))), three times, between a table and a head.
struct DrawnBlock {
  nn::LayerNorm norm{4};
  nn::Linear up{4, 8}, down{8, 4};
  Tensor operator()(const Tensor& x) const { return x + down(relu(up(norm(x)))); }
};
struct DrawnNet {
  nn::Embedding table{10, 4};
  std::vector<DrawnBlock> blocks = std::vector<DrawnBlock>(3);
  nn::Linear head{4, 10};
  Tensor operator()(const Tensor& ids) const {
    Tensor x = table(ids);
    for (const DrawnBlock& block : blocks) x = block(x);
    return head(x);
  }
};

struct OddlyNamed {
  nn::Linear layer{2, 2};
  void visit(auto&& field) { field("층 \"a\\b\"\n{", layer); }
};

Tensor loss_of(const DrawnNet& net) {
  return cross_entropy(net(tensor(std::vector<int64_t>{1, 2, 3}, {3})), tensor(std::vector<int64_t>{2, 3, 4}, {3}));
}

std::string drawn(const GraphOptions& options) {
  manual_seed(0);
  DrawnNet net;
  const NamedTensors named = nn::parameters(net);
  Tape tape;
  const Tensor loss = loss_of(net);
  return to_dot(tape, options);
}

TEST(Graph, OfAFunctionIsWrittenWordForWord) {
  const Tensor x = tensor({1.0, 2.0}).as_leaf();
  Tape tape;
  const Tensor y = sum(x * exp(x) + 3);
  EXPECT_EQ(to_dot(tape), R"(digraph tape {
  graph [fontname="sans-serif", fontsize=11, labeljust=l, style=rounded, color="#9aa5b1"]
  node [shape=box, fontname="sans-serif", fontsize=10]
  edge [fontname="sans-serif", fontsize=8]
  n0 [label="leaf\n[2]", shape=ellipse, style=filled, fillcolor="#e6eef8"]
  n1 [label="exp\n[2]"]
  n2 [label="mul\n[2]"]
  n3 [label="add\n[2]"]
  n4 [label="sum\n[]"]
  n0 -> n1 [label="[2]"]
  n0 -> n2 [label="[2]"]
  n1 -> n2 [label="[2]"]
  n2 -> n3 [label="[2]"]
  n3 -> n4 [label="[2]"]
}
)");
}

TEST(Graph, HasEveryOperationParameterAndInput) {
  manual_seed(0);
  DrawnNet net;
  const NamedTensors named = nn::parameters(net);
  Tape tape;
  const Tensor loss = loss_of(net);
  const Dot dot = read_dot(to_dot(tape, {.depth = 0}));
  ASSERT_EQ(static_cast<int64_t>(dot.labels.size()), tape.size());
  std::multiset<std::string> expected, found;
  std::set<std::string> names;
  for (int64_t i = 0; i < tape.size(); ++i) {
    const std::string& label = dot.labels.at(fmt::format("n{}", i));
    if (tape.op_name(i) == "leaf") {
      names.insert(label);
    } else {
      EXPECT_EQ(label, fmt::format("{}\\n{}", tape.op_name(i), str(tape.shape_of(i))));
    }
    for (const int64_t from : tape.inputs_of(i))
      if (from >= 0) expected.insert(fmt::format("n{} n{} {}", from, i, str(tape.shape_of(from))));
  }
  for (const Dot::Edge& edge : dot.edges) found.insert(fmt::format("{} {} {}", edge.from, edge.to, edge.label));
  EXPECT_EQ(found, expected);
  ASSERT_EQ(names.size(), named.size());
  for (const NamedTensor& one : named)
    EXPECT_EQ(names.count(fmt::format("{}\\n{}", one.name, str(one.tensor.shape()))), 1U) << one.name;
}

TEST(Graph, OperationsAreInTheFramesOfTheirModules) {
  const Dot dot = read_dot(drawn({.depth = 0}));
  std::set<std::string> places;
  for (const auto& [node, label] : dot.labels) {
    places.insert(label.substr(0, label.find('\\')) + " in " + dot.places.at(node));
  }
  for (const char* part :
       {"embedding in table", "layer_norm in blocks.1.norm", "linear in blocks.2.up", "relu in blocks.0",
        "add in blocks.0", "add in blocks.1", "add in blocks.2",  // the residual sum ends a block
        "linear in head", "cross_entropy in ", "blocks.2.up.weight in blocks.2.up"})
    EXPECT_EQ(places.count(part), 1U) << part;
  EXPECT_EQ(dot.frames.size(), 14U);  // table, head, three blocks, three modules in each
  EXPECT_EQ(std::set<std::string>(dot.frames.begin(), dot.frames.end()).size(), 14U);
}

TEST(Graph, ModulesOfTheLastLevelAndLaterLayersAreBoxes) {
  const auto boxes = [](const GraphOptions& options) {
    std::vector<std::string> labels;
    for (const auto& [node, label] : read_dot(drawn(options)).labels)
      if (node[0] == 'm') labels.push_back(label);
    std::sort(labels.begin(), labels.end());
    return labels;
  };
  using Labels = std::vector<std::string>;
  EXPECT_EQ(boxes({.depth = 0}), Labels{});
  EXPECT_EQ(boxes({.depth = 3}),
            (Labels{"blocks.1\\n5 operations, 6 parameters", "blocks.2\\n5 operations, 6 parameters"}));
  EXPECT_EQ(boxes({.depth = 3, .all_layers = true}), Labels{});
  EXPECT_EQ(boxes({.depth = 1}),
            (Labels{"blocks.0\\n5 operations, 6 parameters", "blocks.1\\n5 operations, 6 parameters",
                    "blocks.2\\n5 operations, 6 parameters", "head\\n1 operation, 2 parameters",
                    "table\\n1 operation, 1 parameter"}));
  EXPECT_EQ(boxes({.depth = 2}),
            (Labels{"blocks.0.down\\n1 operation, 2 parameters", "blocks.0.norm\\n1 operation, 2 parameters",
                    "blocks.0.up\\n1 operation, 2 parameters", "blocks.1\\n5 operations, 6 parameters",
                    "blocks.2\\n5 operations, 6 parameters"}));
}

// Equal edges of a box are drawn once: table -> blocks.0 and table -> add have the same end or shape, not both.
TEST(Graph, EdgesOfBoxesAreDrawnOnce) {
  const Dot dot = read_dot(drawn({.depth = 1}));
  std::set<std::string> edges;
  for (const Dot::Edge& edge : dot.edges) {
    EXPECT_NE(edge.from, edge.to);
    EXPECT_TRUE(edges.insert(edge.from + edge.to + edge.label).second) << edge.from << " " << edge.to;
  }
}

TEST(Graph, NamesMayHaveAnyCharacters) {
  const Tensor x = ones({2}).as_leaf();
  OddlyNamed odd;
  const NamedTensors named = nn::parameters(odd);
  Tape tape;
  const Tensor y = sum(odd.layer(x));
  const Dot dot = read_dot(to_dot(tape));
  EXPECT_EQ(dot.frames, std::vector<std::string>{R"(층 \"a\\b\"\\n{)"});
  EXPECT_EQ(dot.labels.at("n1"), R"(층 \"a\\b\"\\n{.weight\n[2, 2])");
}

TEST(Graph, WhatCannotBeDrawnIsAnError) {
  const Tensor x = ones({2}).as_leaf();
  Tape tape;
  EXPECT_EQ(error_of([&] { to_dot(tape); }),
            "[graph] expected a tape with recorded operations, got an empty one (call to_dot before backward)");
  const Tensor y = sum(x);
  EXPECT_EQ(error_of([&] { to_dot(tape, {.depth = -1}); }), "[graph] expected a depth of at least 0, got -1");
  const std::string before = to_dot(tape);
  tape.backward(y, {.retain_graph = true});
  EXPECT_EQ(to_dot(tape), before);
  tape.backward(y);
  EXPECT_EQ(error_of([&] { to_dot(tape); }).substr(0, 8), "[graph] ");
}

}  // namespace
}  // namespace tapegrad::tests
