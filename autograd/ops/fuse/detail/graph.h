// What a formula of fuse() computes: a list of terms.
#pragma once

#include <tapegrad/autograd/fuse.h>
#include <tapegrad/autograd/op.h>
#include <tapegrad/autograd/ops/detail/formula.h>

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

namespace tapegrad {

extern const ElementwiseOp kFuse;

/// One step: an operand of the formula, a number, or an action on earlier terms.
struct FuseTerm {
  static constexpr std::size_t kMostOperands = 4;

  const FuseAction* action;
  int32_t count = 0;  ///< operands
  std::array<int32_t, kMostOperands> operands{};
  Scalars scalars{};  ///< of a number: its value; of an operand of the formula: its index

  bool operator==(const FuseTerm& other) const {  // by bits: 0 and -0 differ, NaN is equal to NaN
    using Numbers = std::array<uint64_t, std::size(Scalars{}.values)>;
    return action == other.action && operands == other.operands &&
           std::bit_cast<Numbers>(scalars) == std::bit_cast<Numbers>(other.scalars);
  }
  int32_t index() const { return static_cast<int32_t>(scalars.values[0]); }
};

/// The gradients of a term's operands, from the term and dy; those that are not wanted stay empty.
struct FuseGradients {
  SymbolGraph& graph;
  std::array<Symbol, FuseTerm::kMostOperands> x;  ///< the operands
  Symbol y, dy;
  std::array<bool, FuseTerm::kMostOperands> wanted;
  std::array<std::optional<Symbol>, FuseTerm::kMostOperands> dx{};
};

/// What a term can be. The three ways to differentiate one: a function of one tensor has its gradient as an action; a
/// gradient of that kind is first written out in simpler terms; the others have a rule.
struct FuseAction {
  const Formula* kernels = nullptr;            ///< nullptr: an operand, or a number
  const Formula* with_number_last = nullptr;   ///< if the last of two operands is a number, which becomes a scalar
  const Formula* with_number_first = nullptr;  ///< if the first is
  bool negates_last = false;                   ///< with_number_last takes -number
  const FuseAction* gradient = nullptr;        ///< dx from dy and x, or from y
  bool keeps_y = false;
  Symbol (*written_out)(const Symbol* operands, const double* scalars) = nullptr;
  void (*rule)(FuseGradients& g) = nullptr;
};

/// All actions; made at the first use.
struct FuseActions {
  static const FuseActions& all();

  FuseAction operand, number;
  FuseAction add, sub, mul, div, neg, maximum, minimum, pow, atan2;
  FuseAction clamp, clamp_grad;
  FuseAction power, square, cube, sqrt, reciprocal, rsqrt;  ///< pow with a number
  FuseAction power_grad, square_grad, cube_grad, sqrt_grad, reciprocal_grad, rsqrt_grad;
  FuseAction div_grad_b, pow_grad_a, pow_grad_b, maximum_grad, minimum_grad, atan2_grad;
  FuseAction where_less, where_less_equal, where_equal;  ///< a < b ? x : y
  struct Function {
    FuseAction value, gradient;
  };
  std::array<Function, std::size(kSymbolFunctions)> functions;

 private:
  FuseActions();
};

/// The kernel that computes both of two actions, with the operands and scalars of the inner one, then the others of the
/// outer one; nullptr if there is none. `place`: of the inner one among the outer one's operands.
const Formula* pair_of(const Formula& inner, const Formula& outer, int place);

/// The terms of a formula, in an order in which they can be computed; equal terms are stored once.
class SymbolGraph {
 public:
  SymbolGraph() { terms_.reserve(kFew); }
  Symbol operand(int32_t index) { return add(FuseActions::all().operand, {}, {{static_cast<double>(index)}}); }
  Symbol number(double value) { return add(FuseActions::all().number, {}, {{value}}); }
  Symbol add(const FuseAction& action, std::initializer_list<Symbol> operands, const Scalars& scalars = {});
  Symbol add(FuseTerm term);

  const std::vector<FuseTerm>& terms() const { return terms_; }
  Symbol at(int32_t term) { return {this, use(), term}; }
  /// The place of a symbol; a number becomes a term. Error for a symbol of another graph.
  int32_t place(const Symbol& x);
  /// Removes all terms; their symbols are no longer valid.
  void clear();

  /// The graph of the first symbol that is not a number; nullptr if all are numbers.
  static SymbolGraph* of(std::initializer_list<Symbol> symbols);
  /// The value of a symbol that is a number.
  static std::optional<double> number_of(const Symbol& x);

 private:
  static constexpr std::size_t kFew = 16;  // up to so many terms are searched one by one

  std::size_t slot_of(const FuseTerm& term) const;
  uint32_t use() const { return use_.load(std::memory_order_relaxed); }
  /// Error unless the symbol, of this graph, is of the current call.
  void require_current(const Symbol& x) const;

  std::vector<FuseTerm> terms_;
  std::vector<int32_t> table_;     // hash table of more terms, open addressing; -1: empty
  std::atomic<uint32_t> use_ = 0;  // counts clear(); atomic, because a symbol that was kept may be on another thread
};

/// The formula with gelu, silu and sigmoid in place of their written-out forms: more accurate, and one action each.
std::pair<std::vector<FuseTerm>, int32_t> with_idioms(const std::vector<FuseTerm>& terms, int32_t result);

}  // namespace tapegrad
