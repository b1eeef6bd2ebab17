// Assignments such as x=1+2*3: their grammar, their trees, and the tokens that stand for both (tutorial,
// section 8.5.3).
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

// The ids are the tutorial's up to 23; it leaves 24 free. Parentheses stand in expressions, brackets in trees.
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

// How people read a token: "x", "ADD", "7", "_" for 0. The tutorial reads digits one too high; here 14 is 0.
std::string_view token_name(int64_t token);

// A parse tree: ASSIGN over a variable and an operator, operators over operators and digits.
struct Tree {
  int64_t token = 0;
  std::vector<Tree> children;
};
bool operator==(const Tree& a, const Tree& b);

// How many operators lie over one another: 1 of x=1+2.
int operator_depth(const Tree& tree);
int64_t count_nodes(const Tree& tree);
// How many nodes of `tree` stand in `other` at the same place with the same label.
int64_t count_same_nodes(const Tree& tree, const Tree& other);
// Whether both have the same operators at the same places, and something else at all others.
bool same_structure(const Tree& a, const Tree& b);

// The tree of an expression, blanks aside. BadRequest that names the column and what is needed there.
Tree parse_expression(std::string_view text);
// The expression of a tree, with no parenthesis that could be left out: parse_expression(expression_text(t)) == t.
std::string expression_text(const Tree& tree);
// The same as tokens.
std::vector<int64_t> expression_tokens(const Tree& tree);

// The two ways to write a tree in a row: the tutorial's, for one operator (ASSIGN x ADD 1 2), and one with brackets,
// for any tree ([ ASSIGN x [ ADD 1 [ MUL 2 3 ] ] ]).
enum class TreeForm : uint8_t { flat, brackets };
std::vector<int64_t> linearise(const Tree& tree, TreeForm form);

// A tree out of a row of tokens, as far as it is one.
struct ReadTree {
  Tree tree;           // what was read before the first fault; its token is 0 where nothing was
  bool whole = false;  // it is a tree, and nothing but padding may follow it
  std::size_t used = 0;
};
ReadTree read_tree(std::span<const int64_t> tokens, TreeForm form);

// The longest rows that trees of so many operators over one another have.
int64_t longest_expression(int depth);
int64_t longest_tree(int depth, TreeForm form);

// "['ASSIGN', 'x', ['ADD', '1', '2']]"
std::string list_text(const Tree& tree);
// "['ASSIGN', 'x', 'ADD', '1', '2']", without padding at the end.
std::string list_text(std::span<const int64_t> tokens);
// "x = 1 + 2", without padding.
std::string spaced_text(std::span<const int64_t> tokens);

}  // namespace tapegrad::tasks
