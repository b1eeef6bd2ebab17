// Reads the graphs that to_dot() writes, and checks that they are well-formed.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <regex>
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
  static const std::regex kNode("([mn][0-9]+) \\[label=" + kText + "(?:, .*)?\\]");
  static const std::regex kEdge("([mn][0-9]+) -> ([mn][0-9]+) \\[label=" + kText + "\\]");
  static const std::regex kFrame("subgraph cluster_[0-9]+ \\{"), kLabel("label=" + kText);
  Dot dot;
  std::vector<std::string> open;  // labels of the frames around a line
  std::istringstream lines(text);
  std::string line;
  std::getline(lines, line);
  EXPECT_EQ(line, "digraph tape {");
  open.emplace_back();
  while (std::getline(lines, line) && !open.empty()) {
    std::smatch found;
    line.erase(0, line.find_first_not_of(' '));
    if (line == "}") {
      open.pop_back();
    } else if (std::regex_match(line, kFrame)) {
      open.emplace_back();
    } else if (std::regex_match(line, found, kLabel)) {
      open.back() = found[1];
      dot.frames.push_back(found[1]);
    } else if (std::regex_match(line, found, kNode)) {
      EXPECT_TRUE(dot.labels.emplace(found[1], found[2]).second) << line;
      dot.places[found[1]] = open.back();
    } else if (std::regex_match(line, found, kEdge)) {
      dot.edges.push_back({found[1], found[2], found[3]});
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
