// Reads the graphs that to_dot() writes, and checks that they are well-formed.
#pragma once

#include <tapegrad/tests/support/patterns.h>

#include <gtest/gtest.h>

#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace tapegrad::tests {

struct Dot {
  struct Edge {
    std::string from, to, label;
  };
  std::map<std::string, std::string> labels;  // of nodes, with escapes
  std::map<std::string, std::string> places;  // of nodes: the label of the innermost frame; "" for none
  std::vector<std::string> frames;            // labels
  std::vector<Edge> edges;
};

// Expects one statement per line, balanced braces, each node declared once, and edges between declared nodes.
inline Dot read_dot(const std::string& text) {
  static const std::string kText = "\"((?:[^\"\\\\]|\\\\.)*)\"";
  static const Pattern kNode("([mn][0-9]+) \\[label=" + kText + "(?:, .*)?\\]");
  static const Pattern kEdge("([mn][0-9]+) -> ([mn][0-9]+) \\[label=" + kText + "\\]");
  static const Pattern kFrame("subgraph cluster_[0-9]+ \\{"), kLabel("label=" + kText);
  Dot dot;
  std::vector<std::string> open;  // labels of the frames around a line
  std::istringstream lines(text);
  std::string line;
  std::getline(lines, line);
  EXPECT_EQ(line, "digraph tape {");
  open.emplace_back();
  while (std::getline(lines, line) && !open.empty()) {
    line.erase(0, line.find_first_not_of(' '));
    if (line == "}") {
      open.pop_back();
    } else if (kFrame.matches(line)) {
      open.emplace_back();
    } else if (const Match label = kLabel.whole(line); !label.empty()) {
      open.back() = label[1];
      dot.frames.push_back(label[1]);
    } else if (const Match node = kNode.whole(line); !node.empty()) {
      EXPECT_TRUE(dot.labels.emplace(node[1], node[2]).second) << line;
      dot.places[node[1]] = open.back();
    } else if (const Match edge = kEdge.whole(line); !edge.empty()) {
      dot.edges.push_back({edge[1], edge[2], edge[3]});
    } else {
      EXPECT_TRUE(line.starts_with("graph [") || line.starts_with("node [") || line.starts_with("edge [")) << line;
    }
  }
  EXPECT_TRUE(open.empty()) << "braces";
  EXPECT_FALSE(std::getline(lines, line)) << line;
  for (const Dot::Edge& edge : dot.edges)
    for (const std::string& end : {edge.from, edge.to}) EXPECT_EQ(dot.labels.count(end), 1U) << end;
  return dot;
}

}  // namespace tapegrad::tests
