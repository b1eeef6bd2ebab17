// Symbols, and the terms that they stand for.
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/ops/fuse/detail/graph.h>

#include <algorithm>
#include <limits>

namespace tapegrad {

namespace {

uint64_t term_hash(const FuseTerm& term) {
  uint64_t h = reinterpret_cast<std::uintptr_t>(term.action);
  const auto mix = [&h](uint64_t value) { h = (h ^ value) * 0x9e3779b97f4a7c15ULL, h ^= h >> 29; };
  for (const int32_t operand : term.operands) mix(static_cast<uint64_t>(operand));
  for (const double scalar : term.scalars.values) mix(std::bit_cast<uint64_t>(scalar));
  return h;
}

Symbol number_of_two(SymbolArithmetic with, double a, double b) {
  switch (with) {
    case SymbolArithmetic::add: return a + b;
    case SymbolArithmetic::sub: return a - b;
    case SymbolArithmetic::mul: return a * b;
    case SymbolArithmetic::div: return a / b;
    default: kFuse.fail("expected an argument of the formula, got numbers only (use the functions of <cmath>)");
  }
}

SymbolGraph& graph_of(std::initializer_list<Symbol> symbols) {
  SymbolGraph* const graph = SymbolGraph::of(symbols);
  if (!graph) kFuse.fail("expected an argument of the formula, got numbers only (use the functions of <cmath>)");
  return *graph;
}

}  // namespace

SymbolGraph* SymbolGraph::of(std::initializer_list<Symbol> symbols) {
  SymbolGraph* graph = nullptr;
  for (const Symbol& x : symbols) {
    if (!x.graph_) continue;
    x.graph_->require_current(x);
    if (!graph) graph = x.graph_;
    if (x.graph_ != graph) kFuse.fail("expected symbols of one formula, got one of another formula");
  }
  return graph;
}

void SymbolGraph::require_current(const Symbol& x) const {
  require(x.use_ == use(), kFuse,
          "expected symbols of this call of the formula, got one of an earlier call (a symbol ends with its call)");
}

void SymbolGraph::clear() {
  terms_.clear();
  table_.clear();
  use_.store(use() + 1, std::memory_order_relaxed);
}

std::optional<double> SymbolGraph::number_of(const Symbol& x) {
  if (!x.graph_) return x.number_;
  const FuseTerm& term = x.graph_->terms_[static_cast<std::size_t>(x.term_)];
  if (term.action == &FuseActions::all().number) return term.scalars.values[0];
  return {};
}

int32_t SymbolGraph::place(const Symbol& x) {
  if (!x.graph_) return number(x.number_).term_;
  x.graph_->require_current(x);
  if (x.graph_ != this) kFuse.fail("expected symbols of one formula, got one of another formula");
  return x.term_;
}

Symbol SymbolGraph::add(const FuseAction& action, std::initializer_list<Symbol> operands, const Scalars& scalars) {
  FuseTerm term{.action = &action, .scalars = scalars};
  for (const Symbol& x : operands) term.operands[static_cast<std::size_t>(term.count++)] = place(x);
  return add(term);
}

Symbol SymbolGraph::add(FuseTerm term) {
  if (terms_.size() < kFew) {
    const std::size_t known = static_cast<std::size_t>(std::ranges::find(terms_, term) - terms_.begin());
    if (known == terms_.size()) terms_.push_back(term);
    return at(static_cast<int32_t>(known));
  }
  if (2 * (terms_.size() + 1) > table_.size()) {
    table_.assign(table_.empty() ? 4 * kFew : 2 * table_.size(), -1);
    for (std::size_t i = 0; i < terms_.size(); ++i) table_[slot_of(terms_[i])] = static_cast<int32_t>(i);
  }
  int32_t& known = table_[slot_of(term)];
  if (known < 0) {
    known = static_cast<int32_t>(terms_.size());
    terms_.push_back(term);
  }
  return at(known);
}

// Where the table has a term, or its empty place.
std::size_t SymbolGraph::slot_of(const FuseTerm& term) const {
  std::size_t slot = term_hash(term);
  while (true) {
    const int32_t known = table_[slot &= table_.size() - 1];
    if (known < 0 || terms_[static_cast<std::size_t>(known)] == term) return slot;
    ++slot;
  }
}

// --- what formulas call ---

Symbol Symbol::combine(SymbolArithmetic with, const Symbol& a, const Symbol& b) {
  SymbolGraph* const graph = SymbolGraph::of({a, b});
  if (!graph) return number_of_two(with, a.number_, b.number_);
  const FuseActions& all = FuseActions::all();
  const FuseAction* const actions[] = {&all.add, &all.sub, &all.mul, &all.div, &all.maximum, &all.minimum, &all.atan2};
  return graph->add(*actions[static_cast<std::size_t>(with)], {a, b});
}

Symbol Symbol::negative(const Symbol& x) { return x.graph_ ? x.graph_->add(FuseActions::all().neg, {x}) : -x.number_; }

Symbol Symbol::limit(const Symbol& x, std::optional<double> low, std::optional<double> high) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (!low && !high) kFuse.fail("expected a lower bound of clamp, an upper bound or both");
  return graph_of({x}).add(FuseActions::all().clamp, {x}, {{low.value_or(-kInfinity), high.value_or(kInfinity)}});
}

// As pow of a tensor and a number.
Symbol Symbol::power(const Symbol& a, const Symbol& b) {
  SymbolGraph& graph = graph_of({a, b});
  const FuseActions& all = FuseActions::all();
  const std::optional<double> exponent = SymbolGraph::number_of(b);
  if (!exponent) return graph.add(all.pow, {a, b});
  if (*exponent == 2) return graph.add(all.square, {a});
  if (*exponent == 3) return graph.add(all.cube, {a});
  if (*exponent == 0.5) return graph.add(all.sqrt, {a});
  if (*exponent == -0.5) return graph.add(all.rsqrt, {a});
  if (*exponent == -1) return graph.add(all.reciprocal, {a});
  if (*exponent == 1) return a;
  if (*exponent == 0) return 1;
  return graph.add(all.power, {a}, {{*exponent}});
}

Symbol Symbol::call(SymbolFunction f, const Symbol& x, double s0, double s1) {
  return graph_of({x}).add(FuseActions::all().functions[f.place].value, {x}, {{s0, s1}});
}

Symbol SymbolCondition::select(const Symbol& a, const Symbol& b) const {
  const FuseActions& all = FuseActions::all();
  const FuseAction& action = order_ == SymbolOrder::less         ? all.where_less
                             : order_ == SymbolOrder::less_equal ? all.where_less_equal
                                                                 : all.where_equal;
  SymbolGraph& graph = graph_of({a_, b_, a, b});
  return negated_ ? graph.add(action, {a_, b_, b, a}) : graph.add(action, {a_, b_, a, b});
}

}  // namespace tapegrad
