// `tapegrad graph`: the operations and parameters of a training step of every kind of run, as Graphviz reads them.
#include <tapegrad/tasks/run/command.h>
#include <tapegrad/tests/support/pictures/dot.h>
#include <tapegrad/tests/support/runs/tiny_run.h>
#include <tapegrad/tests/support/testing.h>

namespace tapegrad::tasks {
namespace {

using namespace tests;

std::string graph_of(const Arguments& words, const TemporaryFolder& folder) {
  return successful(run_command(joined({"graph"}, words), folder)).out;
}

std::set<std::string> labels_of(const std::string& text) {
  std::set<std::string> labels;
  for (const auto& [node, label] : read_dot(text).labels) labels.insert(label);
  return labels;
}

using GraphVerb = InAFolder;

TEST_F(GraphVerb, EveryKindOfRunHasOne) {
  for (const Kind& kind : kinds()) {
    SCOPED_TRACE(kind.name);
    const std::string name(kind.name);
    const Dot page = read_dot(graph_of({name}, folder));
    const auto is_box = [](const auto& node) { return node.first[0] == 'm'; };
    EXPECT_TRUE(std::any_of(page.labels.begin(), page.labels.end(), is_box));
    EXPECT_LE(page.labels.size(), 120U);  // a page
    const Dot boxes = read_dot(graph_of({name, "--depth", "1"}, folder));
    EXPECT_LT(boxes.labels.size(), page.labels.size());
    const Dot all = read_dot(graph_of({name, "--depth", "0"}, folder));
    EXPECT_GT(all.labels.size(), page.labels.size());
    EXPECT_FALSE(std::any_of(all.labels.begin(), all.labels.end(), is_box));
  }
}

TEST_F(GraphVerb, ARunHasItsOwnParametersAndSizes) {
  train_tiny(folder, "copy", "run");
  const std::set<std::string> labels = labels_of(graph_of({"copy", "--model", folder / "run", "--depth", "0"}, folder));
  const SafeTensors model = load_safetensors(folder / "run/model.safetensors");
  EXPECT_GT(model.tensors.size(), 20U);
  for (const NamedTensor& one : model.tensors) {
    // Tables of positions longer than the example are cut by an operation: the leaf has its whole shape.
    EXPECT_EQ(labels.count(fmt::format("{}\\n{}", one.name, str(one.tensor.shape()))), 1U) << one.name;
  }
}

TEST_F(GraphVerb, OnlyTheFirstLayerIsOpen) {
  const Dot page = read_dot(graph_of({"copy"}, folder));
  const std::set<std::string> frames(page.frames.begin(), page.frames.end());
  EXPECT_EQ(frames.count("encoder.layers.0"), 1U);
  EXPECT_EQ(frames.count("encoder.layers.1"), 0U);
  const Dot open = read_dot(graph_of({"copy", "--all-layers"}, folder));
  EXPECT_EQ(std::count(open.frames.begin(), open.frames.end(), "encoder.layers.1"), 1);
}

TEST_F(GraphVerb, WritesAFile) {
  EXPECT_EQ(graph_of({"copy", "--out", "step.dot"}, folder), "");
  EXPECT_EQ(slurp(folder / "step.dot"), graph_of({"copy"}, folder));
}

// Graphviz is no part of what tapegrad is built with: skipped without it. Other tests read the same text.
TEST_F(GraphVerb, GraphvizDrawsIt) {
  if (!has_program("dot")) GTEST_SKIP() << "dot not found (apt-get install graphviz)";
  for (const Arguments& words : {Arguments{"copy"}, {"gpt", "--all-layers"}, {"parser", "--depth", "1"}}) {
    const Ran ran = successful(run_program({"dot", "-Tsvg"}, {.input = graph_of(words, folder)}));
    EXPECT_EQ(ran.err, "");
    EXPECT_NE(ran.out.find("</svg>"), std::string::npos);
  }
}

TEST_F(GraphVerb, WhatIsNotARunIsAnError) {
  train_tiny(folder, "copy", "run");
  std::filesystem::create_directory(folder / "bare");
  std::filesystem::copy(folder / "run/model.safetensors", folder / "bare/model.safetensors");
  expect_errors("tasks/errors/runs.txt", "graph", folder);
}

}  // namespace
}  // namespace tapegrad::tasks
