// Reads and writes expressions, trees and tokens.
// build: fuzzed
#include <fmt/format.h>
#include <tapegrad/tasks/seq2seq/parser/expression.h>
#include <tapegrad/tasks/seq2seq/text_reader.h>
#include <tapegrad/tasks/settings/bad_request.h>

#include <algorithm>
#include <array>

namespace tapegrad::tasks {
namespace {

using T = ExpressionTokens;

constexpr std::array<std::string_view, T::kCount> kNames{"_",   "=", "+", "-", "*", "/", "ASSIGN", "ADD", "SUB", "MUL",
                                                         "DIV", "x", "y", "z", "0", "1", "2",      "3",   "4",   "5",
                                                         "6",   "7", "8", "9", "?", "(", ")",      "[",   "]"};
constexpr std::string_view kOperators = "+-*/";

bool is_product(int64_t op) { return op >= T::kAdd + 2; }

// --- text to tree ---

class Parser : TextReader {
 public:
  explicit Parser(std::string_view text) : TextReader(text) {}

  Tree assignment() {
    if (text_.size() > kLongest)
      bad_request("--expression", "expected at most {} bytes, got {}", kLongest, text_.size());
    skip_blanks();
    if (done() || here() < 'x' || here() > 'z') fault("a variable (x, y or z)");
    Tree variable{T::kVariable + take() - 'x', {}};
    if (done() || here() != '=') fault("= after the variable");
    take();
    Tree value = sum();
    if (!done()) fault(kOperator, here() == ')' ? " without a matching (" : "");
    if (!T::is_operator(value.token)) fault(kOperator);
    return {T::kAssign, {std::move(variable), std::move(value)}};
  }

 private:
  static constexpr std::size_t kLongest = 4096;
  static constexpr int kDeepest = 64;  // nested parentheses
  static constexpr std::string_view kOperator = "an operator (+ - * /)";

  char take() {
    const char c = text_[at_++];
    skip_blanks();
    return c;
  }

  Tree chain(std::string_view operators, Tree (Parser::*operand)()) {
    Tree left = (this->*operand)();
    while (!done() && operators.find(here()) != std::string_view::npos) {
      const auto op = T::kAdd + static_cast<int64_t>(kOperators.find(take()));
      Tree right = (this->*operand)();
      Tree both{op, {}};
      both.children.push_back(std::move(left));
      both.children.push_back(std::move(right));
      left = std::move(both);
    }
    return left;
  }
  Tree sum() { return chain("+-", &Parser::product); }
  Tree product() { return chain("*/", &Parser::operand); }
  Tree operand() {
    if (!at_digit() && (done() || here() != '(')) fault("a digit or (");
    if (here() != '(') {
      Tree digit{T::kDigit + text_[at_] - '0', {}};
      ++at_;
      if (at_digit()) fault(kOperator, " (numbers have one digit)");
      skip_blanks();
      return digit;
    }
    if (++open_ > kDeepest) fault(fmt::format("at most {} nested parentheses", kDeepest));
    const std::size_t opened = at_;
    take();
    Tree inside = sum();
    if (done() || here() != ')') fault(fmt::format(") for the ( in column {}", column_of(opened)));
    take();
    --open_;
    return inside;
  }

  int open_ = 0;
};

// --- tree to text ---

// Calls put(token) for every token of an operator's expression. Operators are left-associative, so a right operand of
// the same precedence needs parentheses.
template <class Put>
void write_operand(const Tree& tree, const Put& put) {
  if (!T::is_operator(tree.token)) return put(tree.token);
  for (std::size_t side = 0; side < 2; ++side) {
    const Tree& child = tree.children[side];
    if (side == 1) put(tree.token - T::kAdd + T::kPlus);
    const bool closed = T::is_operator(child.token) && (side == 0 ? is_product(tree.token) && !is_product(child.token)
                                                                  : is_product(tree.token) || !is_product(child.token));
    if (closed) put(T::kOpen);
    write_operand(child, put);
    if (closed) put(T::kClose);
  }
}

template <class Put>
void write_expression(const Tree& tree, const Put& put) {
  put(tree.children[0].token);
  put(T::kEquals);
  write_operand(tree.children[1], put);
}

void write_brackets(const Tree& tree, std::vector<int64_t>& out) {
  if (tree.children.empty()) return out.push_back(tree.token);
  out.push_back(T::kOpenTree);
  out.push_back(tree.token);
  for (const Tree& child : tree.children) write_brackets(child, out);
  out.push_back(T::kCloseTree);
}

// --- tokens to tree ---

class TreeReader {
 public:
  explicit TreeReader(std::span<const int64_t> tokens) : tokens_(tokens) {}

  ReadTree flat() {
    root();
    child(read_.tree, T::is_operator);
    if (read_.whole) {
      Tree& op = read_.tree.children.back();
      child(op, T::is_digit);
      child(op, T::is_digit);
    }
    return std::move(read_);
  }

  ReadTree brackets() {
    take(T::kOpenTree);
    root();
    node(read_.tree);
    take(T::kCloseTree);
    return std::move(read_);
  }

 private:
  int64_t here() const { return read_.used < tokens_.size() ? tokens_[read_.used] : -1; }
  void take(int64_t token) {
    read_.whole = read_.whole && here() == token;
    if (read_.whole) ++read_.used;
  }
  void root() {
    take(T::kAssign);
    if (read_.whole) read_.tree.token = T::kAssign;
    child(read_.tree, T::is_variable);
  }
  void child(Tree& parent, bool (*kind)(int64_t)) {
    read_.whole = read_.whole && kind(here());
    if (read_.whole) parent.children.push_back({tokens_[read_.used++], {}});
  }
  void node(Tree& parent) {
    if (!read_.whole || here() != T::kOpenTree) return child(parent, T::is_digit);
    ++read_.used;
    child(parent, T::is_operator);
    if (!read_.whole) return;
    Tree& op = parent.children.back();
    node(op);
    node(op);
    take(T::kCloseTree);
  }

  std::span<const int64_t> tokens_;
  ReadTree read_{.whole = true};
};

std::span<const int64_t> without_padding(std::span<const int64_t> tokens) {
  while (!tokens.empty() && tokens.back() == T::kPadding) tokens = tokens.first(tokens.size() - 1);
  return tokens;
}

int64_t leaves(int depth) { return int64_t{1} << depth; }

}  // namespace

std::string_view token_name(int64_t token) {
  return token >= 0 && token < T::kCount ? kNames[static_cast<std::size_t>(token)] : "?";
}

int operator_depth(const Tree& tree) {
  int deepest = 0;
  for (const Tree& child : tree.children) deepest = std::max(deepest, operator_depth(child));
  return deepest + (T::is_operator(tree.token) ? 1 : 0);
}

int64_t count_nodes(const Tree& tree) {
  int64_t count = 1;
  for (const Tree& child : tree.children) count += count_nodes(child);
  return count;
}

int64_t count_same_nodes(const Tree& tree, const Tree& other) {
  int64_t count = tree.token == other.token ? 1 : 0;
  for (std::size_t i = 0; i < std::min(tree.children.size(), other.children.size()); ++i)
    count += count_same_nodes(tree.children[i], other.children[i]);
  return count;
}

bool same_structure(const Tree& a, const Tree& b) {
  if (!a.children.empty() && a.token != b.token) return false;
  return std::ranges::equal(a.children, b.children, same_structure);
}

Tree parse_expression(std::string_view text) { return Parser(text).assignment(); }

std::string expression_text(const Tree& tree) {
  std::string out;
  write_expression(tree, [&](int64_t token) { out += token_name(token); });
  return out;
}

std::vector<int64_t> expression_tokens(const Tree& tree) {
  std::vector<int64_t> out;
  write_expression(tree, [&](int64_t token) { out.push_back(token); });
  return out;
}

std::vector<int64_t> linearise(const Tree& tree, TreeForm form) {
  std::vector<int64_t> out;
  if (form == TreeForm::brackets) {
    write_brackets(tree, out);
    return out;
  }
  const Tree& op = tree.children[1];
  if (operator_depth(op) != 1) fail("linearise", "expected one operator between two digits in the flat form");
  return {tree.token, tree.children[0].token, op.token, op.children[0].token, op.children[1].token};
}

ReadTree read_tree(std::span<const int64_t> tokens, TreeForm form) {
  TreeReader reader(tokens);
  return form == TreeForm::flat ? reader.flat() : reader.brackets();
}

// Variable and =, 2^depth digits, 2^depth - 1 operators, and parentheses around every operator but the first.
int64_t longest_expression(int depth) { return 2 + leaves(depth) + leaves(depth) - 1 + 2 * (leaves(depth) - 2); }

// Digits, three tokens per operator, and [ ASSIGN x ] around them.
int64_t longest_tree(int depth, TreeForm form) {
  return form == TreeForm::flat ? 5 : leaves(depth) + 3 * (leaves(depth) - 1) + 4;
}

std::string list_text(const Tree& tree) {
  if (tree.children.empty()) return fmt::format("'{}'", token_name(tree.token));
  std::string out = fmt::format("['{}'", token_name(tree.token));
  for (const Tree& child : tree.children) out += ", " + list_text(child);
  return out + "]";
}

std::string list_text(std::span<const int64_t> tokens) {
  std::string out = "[";
  for (const int64_t token : without_padding(tokens))
    out += fmt::format("{}'{}'", out.size() > 1 ? ", " : "", token_name(token));
  return out + "]";
}

std::string spaced_text(std::span<const int64_t> tokens) {
  std::string out;
  for (const int64_t token : without_padding(tokens)) out.append(out.empty() ? "" : " ").append(token_name(token));
  return out;
}

}  // namespace tapegrad::tasks
