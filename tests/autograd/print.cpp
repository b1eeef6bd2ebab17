// How tensors print: the texts are PyTorch's, except "torch." before a type. The hash of tensors. The graph of a tape:
// every operation, parameter and edge of it, frames and boxes of modules, names in quotes.
#include <tapegrad/autograd/io/internal/checksum.h>
#include <tapegrad/tests/support/call_text.h>
#include <tapegrad/tests/support/pictures/dot.h>
#include <tapegrad/tests/support/testing.h>

namespace tapegrad::tests {
namespace {

TEST(Print, NumbersAndShapes) {
  for (const auto& [numbers, text] : pairs_of_lines("autograd/print_numbers.txt"))
    EXPECT_EQ(str(operand_of(numbers)), text) << numbers;
  std::ostringstream out;
  out << zeros({2, 3}).shape() << Shape{} << zeros({2, 3}).strides();
  EXPECT_EQ(out.str(), "[2, 3][][3, 1]");
  EXPECT_EQ(str(tensor({{1, 2}, {3, 4}})), "tensor([[1, 2],\n        [3, 4]])");
  EXPECT_EQ(str(tensor({{1, 2}, {3, 4}}).t()), "tensor([[1, 3],\n        [2, 4]])");
  EXPECT_EQ(str(arange(4).reshape({2, 1, 2})), "tensor([[[0, 1]],\n\n        [[2, 3]]])");
}

TEST(Print, LongOnesAreBrokenAndLargeOnesAbbreviated) {
  EXPECT_TEXT(str(arange(30)) + "\n");
  EXPECT_EQ(str(arange(1001)), "tensor([   0,    1,    2,  ...,  998,  999, 1000])");
  EXPECT_TEXT(str(zeros({40, 30})) + "\n");
  std::ostringstream out;
  out << ones({1});
  EXPECT_EQ(out.str(), "tensor([1.])");
}

std::string hash_of(const Tensor& x) { return bits_of({{"x", x}}); }

// As documented, written out by hand.
TEST(Bits, IsXxh3OfNamesTypesShapesAndValues) {
  const auto add = [](uint64_t hash, const void* data, std::size_t size) {
    return checksum({static_cast<const std::byte*>(data), size}, hash);
  };
  const auto text = [&](uint64_t hash, const std::string& s) { return add(hash, s.data(), s.size()); };
  const float a[] = {1, -2.5f, 3};
  const int64_t b[] = {7};
  uint64_t hash = add(text(0, "a float32 [3, 1]"), a, sizeof a);
  hash = add(text(hash, "b int64 []"), b, sizeof b);
  hash = add(text(hash, "c bool [0]"), nullptr, 0);
  std::string expected;
  for (int i = 60; i >= 0; i -= 4) {
    expected += "0123456789abcdef"[hash >> i & 15];
    if (i % 16 == 0 && i > 0) expected += ' ';
  }
  const NamedTensors tensors = {{"a", tensor({1.0, -2.5, 3.0}, kFloat32).reshape({3, 1})},
                                {"b", tensor(std::vector<int64_t>{7}, {})},
                                {"c", full({0}, 0, kBool)}};
  EXPECT_EQ(bits_of(tensors), expected);
  EXPECT_EQ(bits_of({tensors[2], tensors[0], tensors[1]}), expected) << "the order of the list is not hashed";
  EXPECT_EQ(bits_of({}), "0000 0000 0000 0000");
}

// Nothing about a tensor is left out, and nothing else matters.
TEST(Bits, FindsEveryDifference) {
  const Tensor x = tensor({0.0, 1.0, 2.0, 3.0, 4.0, 5.0}, kFloat32).reshape({2, 3});
  std::set<std::string> seen = {bits_of({}),
                                hash_of(x),
                                bits_of({{"y", x}}),
                                hash_of(x.reshape({3, 2})),
                                hash_of(x.to(kFloat64)),
                                hash_of(x.to(kBFloat16)),
                                hash_of(x.t()),
                                hash_of(-x),
                                bits_of({{"x", x}, {"y", x}}),
                                bits_of({{"x", x}, {"x", x}})};
  EXPECT_EQ(seen.size(), 10U);
  std::vector<float> values = x.to_vector<float>();
  for (float& value : values)
    for (int bit = 0; bit < 32; ++bit) {
      uint32_t word = 0;
      std::memcpy(&word, &value, 4);
      word ^= 1U << bit;
      const float kept = value;
      std::memcpy(&value, &word, 4);
      EXPECT_TRUE(seen.insert(hash_of(tensor(values, {2, 3}))).second) << bit;
      value = kept;
    }
  EXPECT_EQ(hash_of(x.t()), hash_of(x.t().contiguous()));
  EXPECT_EQ(hash_of(x.slice(0, 1)), hash_of(tensor({3.0, 4.0, 5.0}, kFloat32).reshape({1, 3})));
  EXPECT_EQ(error_of([] { bits_of({{"x", Tensor()}}); }).substr(0, 8), "[tensor]");
}

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
  EXPECT_TEXT(to_dot(tape));
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
  for (const auto& [node, label] : dot.labels)
    places.insert(label.substr(0, label.find('\\')) + " in " + dot.places.at(node));
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
  EXPECT_TEXT(boxes({.depth = 3}));
  EXPECT_EQ(boxes({.depth = 3, .all_layers = true}), Labels{});
  EXPECT_TEXT(boxes({.depth = 1}));
  EXPECT_TEXT(boxes({.depth = 2}));
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
  EXPECT_ERROR(to_dot(tape));
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
