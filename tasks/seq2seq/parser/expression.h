// Assignments such as x=1+2*3: grammar, trees, and the tokens of both (tutorial 003, section 8.5.3).
//
//   assignment := variable '=' sum          sum     := product (('+' | '-') product)*
//   variable   := 'x' | 'y' | 'z'           product := operand (('*' | '/') operand)*
//                                           operand := digit | '(' sum ')'
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tapegrad::tasks {

// Ids up to 23 are the tutorial's; it leaves 24 unused. Expressions have parentheses, trees have brackets.
struct ExpressionTokens {
  static constexpr int64_t kPadding = 0, kEquals = 1, kPlus = 2;  // + - * / are 2 to 5
  static constexpr int64_t kAssign = 6, kAdd = 7;                 // ADD SUB MUL DIV are 7 to 10
  static constexpr int64_t kVariable = 11, kDigit = 14;           // x y z, 0 to 9
  static constexpr int64_t kOpen = 25, kClose = 26;               // ( )
  static constexpr int64_t kOpenTree = 27, kCloseTree = 28;       // [ ]
  static constexpr int64_t kFlatCount = 25, kCount = 29;

  static constexpr bool is_operator(int64_t token) { return token >= kAdd && token < kAdd + 4; }
  static constexpr bool is_variable(int64_t token) { return token >= kVariable && token < kVariable + 3; }
  static constexpr bool is_digit(int64_t token) { return token >= kDigit && token < kDigit + 10; }
};

// A token as text: "x", "ADD", "7", "_" for 0. Token 14 is the digit 0; the tutorial decodes digits one too high.
std::string_view token_name(int64_t token);

// A parse tree: ASSIGN has a variable and an operator as children; an operator has two operators or digits.
struct Tree {
  int64_t token = 0;
  std::vector<Tree> children;
  bool operator==(const Tree&) const = default;
};

// Nesting depth of the operators: 1 for x=1+2.
int operator_depth(const Tree& tree);
int64_t count_nodes(const Tree& tree);
// How many nodes of `tree` have a node at the same place of `other` with the same label.
int64_t count_same_nodes(const Tree& tree, const Tree& other);
// Whether both have the same operators at the same places; other labels may differ.
bool same_structure(const Tree& a, const Tree& b);

// The tree of an expression; blanks are ignored. BadRequest with the column, what was expected there and what was
// found.
Tree parse_expression(std::string_view text);
// The expression of a tree, with as few parentheses as possible: parse_expression(expression_text(t)) == t.
std::string expression_text(const Tree& tree);
// The same as tokens.
std::vector<int64_t> expression_tokens(const Tree& tree);

// Two ways to write a tree as a sequence: the tutorial's, for one operator (ASSIGN x ADD 1 2), and with brackets, for
// any tree ([ ASSIGN x [ ADD 1 [ MUL 2 3 ] ] ]).
enum class TreeForm : uint8_t { flat, brackets };
std::vector<int64_t> linearise(const Tree& tree, TreeForm form);

// The tree that a sequence of tokens starts with.
struct ReadTree {
  Tree tree = {};      // what was read before the first fault; token 0 if nothing was
  bool whole = false;  // a complete tree; only padding may follow it
  std::size_t used = 0;
};
ReadTree read_tree(std::span<const int64_t> tokens, TreeForm form);

// Length of the longest expression and of the longest tree of this nesting depth.
int64_t longest_expression(int depth);
int64_t longest_tree(int depth, TreeForm form);

// "['ASSIGN', 'x', ['ADD', '1', '2']]"
std::string list_text(const Tree& tree);
// "['ASSIGN', 'x', 'ADD', '1', '2']", without padding at the end.
std::string list_text(std::span<const int64_t> tokens);
// "x = 1 + 2", without padding.
std::string spaced_text(std::span<const int64_t> tokens);

}  // namespace tapegrad::tasks
