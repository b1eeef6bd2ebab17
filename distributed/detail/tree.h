// The one order in which terms are summed: a binary tree that depends on their number alone, so that a sum is
// bit-identical wherever its terms were computed.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <utility>
#include <vector>

namespace tapegrad::distributed::detail {

/// Terms [begin, end): a node of the tree, or the terms that one process has.
struct Terms {
  int64_t begin = 0, end = 0;
  int64_t size() const { return end - begin; }
  bool has(const Terms& other) const { return begin <= other.begin && other.end <= end; }
  friend bool operator==(const Terms&, const Terms&) = default;
};

/// The two summands of a node with more than one term. The left one has half of the terms, rounded up.
inline std::pair<Terms, Terms> halves(const Terms& node) {
  const int64_t middle = node.begin + (node.size() + 1) / 2;
  return {{node.begin, middle}, {middle, node.end}};
}

/// Whether `part` is a node of the tree below `root`.
inline bool is_node(Terms root, const Terms& part) {
  while (root.size() > part.size()) {
    const auto [left, right] = halves(root);
    root = left.has(part) ? left : right;
  }
  return root == part;
}

/// The largest nodes whose terms are all in `own`, in order: what a process with these terms can sum by itself. They
/// are few: one where the number of processes is a power of two that divides the number of terms.
inline void add_nodes(const Terms& root, const Terms& own, std::vector<Terms>& nodes) {
  if (root.size() == 0 || own.size() == 0 || root.end <= own.begin || own.end <= root.begin) return;
  if (own.has(root)) {
    nodes.push_back(root);
    return;
  }
  const auto [left, right] = halves(root);
  add_nodes(left, own, nodes);
  add_nodes(right, own, nodes);
}

/// Evaluates the tree: `given(node)` returns a pointer to the value of a node that is known, nullptr for one that must
/// be summed. `add(a, b)` adds b to a, in place, and returns a.
template <class Value, class Given, class Add>
Value fold(const Terms& node, const Given& given, const Add& add) {
  if (Value found = given(node)) return found;
  const auto [left, right] = halves(node);
  const Value a = fold<Value>(left, given, add), b = fold<Value>(right, given, add);
  return add(a, b);
}

/// The terms that a process computes. The last process has the first ones, so that process 0 ends with the last term
/// for any number of processes: what is printed about a step's last batch is then the same.
inline Terms terms_of(int64_t rank, int64_t size, int64_t terms) {
  const int64_t place = size - 1 - rank;
  return {terms * place / size, terms * (place + 1) / size};
}

/// The most values that one of `size` processes has at once while it computes and sums its terms: the sums of nodes
/// that wait for their siblings, and the term that is computed. log2(terms / size) + 1 for powers of two.
inline int64_t values_at_once(int64_t terms, int64_t size) {
  int64_t most = 0;
  for (int64_t rank = 0; rank < size; ++rank) {
    std::vector<Terms> nodes;
    add_nodes({0, terms}, terms_of(rank, size, terms), nodes);
    int64_t complete = 0;
    for (const Terms& node : nodes) most = std::max<int64_t>(most, complete++ + std::bit_width(uint64_t(node.size())));
  }
  return most;
}

}  // namespace tapegrad::distributed::detail
