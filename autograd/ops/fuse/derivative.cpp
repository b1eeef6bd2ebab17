// The derivatives of programs: backward from the result, by the rule of each term.
// build: -Os
#include <tapegrad/autograd/ops/fuse/detail/program.h>

#include <algorithm>

namespace tapegrad {
namespace {

// The terms of a formula, in a graph whose operand 0 is dy, without gradients of functions: written out in simpler
// terms, they can be differentiated like everything else.
std::vector<Symbol> written_out(SymbolGraph& graph, const std::vector<FuseTerm>& terms) {
  std::vector<Symbol> images;
  for (const FuseTerm& term : terms) {
    Symbol x[FuseTerm::kMostOperands] = {0, 0, 0, 0};
    FuseTerm copy = term;
    for (int32_t i = 0; i < term.count; ++i) {
      const std::size_t at = static_cast<std::size_t>(i);
      x[at] = images[static_cast<std::size_t>(term.operands[at])];
      copy.operands[at] = graph.place(x[at]);
    }
    if (term.action == &FuseActions::all().operand) {
      images.push_back(graph.operand(term.index() + 1));
    } else if (term.action->written_out) {
      images.push_back(term.action->written_out(x, term.scalars.values));
    } else {
      images.push_back(graph.add(copy));
    }
  }
  return images;
}

}  // namespace

std::shared_ptr<const FusedProgram> FusedProgram::derive(uint32_t wanted) const {
  SymbolGraph graph;
  const Symbol dy = graph.operand(0);
  const std::vector<Symbol> images = written_out(graph, terms_);
  const int32_t result = graph.place(images[static_cast<std::size_t>(results_[0])]);
  const std::size_t count = graph.terms().size();  // later terms are gradients

  // Terms that depend on an operand whose gradient is wanted, and their gradients.
  std::vector<bool> active(count);
  std::vector<std::optional<Symbol>> gradients(count);
  for (std::size_t t = 0; t < count; ++t) {
    const FuseTerm& term = graph.terms()[t];
    if (term.action == &FuseActions::all().operand) {
      active[t] = term.index() > 0 && (wanted >> (term.index() - 1) & 1U) != 0;
    }
    for (std::size_t i = 0; i < static_cast<std::size_t>(term.count); ++i) {
      if (active[static_cast<std::size_t>(term.operands[i])]) active[t] = true;
    }
  }
  gradients[static_cast<std::size_t>(result)] = dy;
  for (std::size_t t = static_cast<std::size_t>(result) + 1; t-- > 0;) {
    if (!gradients[t] || !active[t]) continue;
    const FuseTerm term = graph.terms()[t];  // a copy: terms are added below
    FuseGradients g{graph, {0, 0, 0, 0}, graph.at(static_cast<int32_t>(t)), *gradients[t], {}};
    for (std::size_t i = 0; i < static_cast<std::size_t>(term.count); ++i) {
      g.x[i] = graph.at(term.operands[i]);
      g.wanted[i] = active[static_cast<std::size_t>(term.operands[i])];
    }
    if (term.action->gradient) {
      g.dx[0] = graph.add(*term.action->gradient, {g.dy, term.action->keeps_y ? g.y : g.x[0]}, term.scalars);
    } else if (term.action->rule) {
      term.action->rule(g);
    }
    for (std::size_t i = 0; i < static_cast<std::size_t>(term.count); ++i) {
      std::optional<Symbol>& sum = gradients[static_cast<std::size_t>(term.operands[i])];
      if (g.wanted[i] && g.dx[i]) sum = sum ? *sum + *g.dx[i] : *g.dx[i];
    }
  }

  std::vector<int32_t> results;
  for (int32_t i = 0; wanted >> i != 0; ++i) {
    if ((wanted >> i & 1U) == 0) continue;
    const std::size_t operand = static_cast<std::size_t>(graph.place(graph.operand(i + 1)));
    const bool found = operand < count && gradients[operand];
    results.push_back(found ? graph.place(*gradients[operand]) : -1);
  }
  return std::make_shared<FusedProgram>(graph.terms(), std::move(results), static_cast<int>(used_.size()) + 1);
}

std::shared_ptr<const FusedProgram> FusedProgram::gradient(uint32_t wanted) const {
  const std::lock_guard lock(mutex_);
  const auto known = std::ranges::find(gradients_, wanted, &decltype(gradients_)::value_type::first);
  if (known != gradients_.end()) return known->second;
  gradients_.emplace_back(wanted, derive(wanted));
  return gradients_.back().second;
}

}  // namespace tapegrad
