// The order in which terms are multiplied, and the product of two of them as one batch of matrix products.
// build: -Os
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/kernels/kernel.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/ops/detail/shapes.h>
#include <tapegrad/autograd/ops/product/detail/contract.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <limits>

namespace tapegrad {
namespace {

constexpr int kLabels = 64;
constexpr std::size_t kExactTerms = 8;  // up to this number of terms, all orders are considered

// A set of labels as bits.
using Set = uint64_t;

Set bit(int64_t label) { return Set{1} << label; }
Set set_of(const Labels& labels) {
  Set set = 0;
  for (int64_t label : labels) set |= bit(label);
  return set;
}
int axis_of(const Labels& labels, int64_t label) {
  return static_cast<int>(std::find(labels.begin(), labels.end(), label) - labels.begin());
}

// x with its axes in this order; x itself if they already are.
Tensor permuted(const Tensor& x, const Dims& order) {
  for (int i = 0; i < order.rank(); ++i) {
    if (order[i] != i) return x.permute(order);
  }
  return x;
}

class Contraction {
 public:
  Contraction(std::string_view where, const PoolVector<Term>& terms, const Labels& output)
      : where_(where), output_(output), wanted_(set_of(output)) {
    sizes_.fill(1);
    for (const Term& term : terms) {
      for (int i = 0; i < term.x.dim(); ++i) {
        if (term.x.shape()[i] != 1) sizes_[static_cast<std::size_t>(term.labels[i])] = term.x.shape()[i];
      }
    }
  }

  Tensor run(PoolVector<Term> terms) const {
    for (Term& term : terms) {
      take_diagonals(term);
      drop_broadcast_axes(term);
    }
    for (std::size_t i = 0; i < terms.size(); ++i) sum_over_own_labels(terms[i], wanted_ | others(terms, i, i));
    const Term y = terms.size() <= kExactTerms ? in_best_order(terms) : cheapest_pair_first(std::move(terms));
    Dims order;
    for (int64_t label : output_) order.push_back(axis_of(y.labels, label));
    return permuted(y.x, order);
  }

 private:
  double size(int64_t label) const { return static_cast<double>(sizes_[static_cast<std::size_t>(label)]); }
  double size(Set labels) const {
    double product = 1;
    for (; labels != 0; labels &= labels - 1) product *= size(int64_t{std::countr_zero(labels)});
    return product;
  }

  // The labels of all terms but i and j.
  static Set others(const PoolVector<Term>& terms, std::size_t i, std::size_t j) {
    Set set = 0;
    for (std::size_t k = 0; k < terms.size(); ++k) {
      if (k != i && k != j) set |= set_of(terms[k].labels);
    }
    return set;
  }

  // Merges two axes with the same label: every (n + 1)th of their n^2 elements.
  static void take_diagonals(Term& term) {
    for (int j = 1; j < term.labels.rank(); ++j) {
      const int i = axis_of(term.labels, term.labels[j]);
      if (i == j) continue;
      const int64_t label = term.labels[j], n = term.x.shape()[i];
      Dims order;
      for (int k = 0; k < term.x.dim(); ++k) {
        if (k != i && k != j) order.push_back(k);
      }
      order.push_back(i);
      order.push_back(j);
      const Tensor last = term.x.permute(order);
      term.x = last.reshape(with_size(without_axis(last.shape(), -1), -1, n * n)).slice(-1, 0, kAll, n + 1);
      term.labels.erase(j);
      term.labels.erase(i);
      term.labels.push_back(label);
      j = 0;  // from the start: the axes have moved
    }
  }

  // Removes axes of size 1 that broadcast, or whose label is not in the output.
  void drop_broadcast_axes(Term& term) const {
    for (int i = term.x.dim() - 1; i >= 0; --i) {
      const bool wanted = (wanted_ & bit(term.labels[i])) != 0;
      if (term.x.shape()[i] != 1 || (wanted && size(term.labels[i]) == 1)) continue;
      term.x = term.x.squeeze(i);
      term.labels.erase(i);
    }
  }

  static void sum_over_own_labels(Term& term, Set needed) {
    Axes axes;
    Labels left;
    for (int i = 0; i < term.labels.rank(); ++i) {
      if (needed & bit(term.labels[i])) {
        left.push_back(term.labels[i]);
      } else {
        axes.push_back(i);
      }
    }
    if (axes.empty()) return;
    term.x = sum(term.x, axes);
    term.labels = left;
  }

  // Considers every tree of pairs: the minimal cost of each set of terms follows from that of its parts.
  Term in_best_order(const PoolVector<Term>& terms) const {
    if (terms.size() == 1) return terms[0];
    if (terms.size() == 2) return pair(terms[0], terms[1], wanted_);
    const unsigned all = (1u << terms.size()) - 1;
    std::array<double, 1u << kExactTerms> cost{};
    std::array<unsigned, 1u << kExactTerms> half{};
    std::array<Set, 1u << kExactTerms> kept{};
    for (unsigned set = 1; set <= all; ++set) {
      Set inside = 0, outside = wanted_;
      for (std::size_t i = 0; i < terms.size(); ++i) (set >> i & 1 ? inside : outside) |= set_of(terms[i].labels);
      kept[set] = inside & outside;
      if (std::has_single_bit(set)) continue;
      cost[set] = std::numeric_limits<double>::infinity();
      for (unsigned left = (set - 1) & set; left != 0; left = (left - 1) & set) {
        const unsigned right = set ^ left;
        if (left < right) continue;  // each pair of parts once
        const double here = cost[left] + cost[right] + size(kept[left] | kept[right]);
        if (here < cost[set] || half[set] == 0) {
          cost[set] = here;
          half[set] = right;
        }
      }
    }
    const auto build = [&](const auto& self, unsigned set) -> Term {
      if (std::has_single_bit(set)) return terms[static_cast<std::size_t>(std::countr_zero(set))];
      return pair(self(self, half[set]), self(self, set ^ half[set]), kept[set]);
    };
    return build(build, all);
  }

  Term cheapest_pair_first(PoolVector<Term> terms) const {
    while (terms.size() > 1) {
      std::size_t first = 0, second = 1;
      double least = std::numeric_limits<double>::infinity();
      for (std::size_t i = 0; i < terms.size(); ++i) {
        for (std::size_t j = i + 1; j < terms.size(); ++j) {
          const double cost = size(set_of(terms[i].labels) | set_of(terms[j].labels));
          if (cost < least) {
            least = cost;
            first = i;
            second = j;
          }
        }
      }
      terms[first] = pair(terms[first], terms[second], wanted_ | others(terms, first, second));
      terms.erase(terms.begin() + static_cast<std::ptrdiff_t>(second));
    }
    return terms[0];
  }

  // a b, summed over the labels of both that are not `kept`. Labels of only one of them are kept.
  Term pair(const Term& a, const Term& b, Set kept) const {
    const Set of_a = set_of(a.labels), of_b = set_of(b.labels);
    const Set inner = of_a & of_b & ~kept;
    if (std::popcount((of_a | of_b) & ~inner) > kMaxRank || (inner == 0 && std::popcount(of_a | of_b) > kMaxRank)) {
      fail(where_, "expected matrix multiplications with at most {} axes, got one with {}", kMaxRank,
           std::popcount((of_a | of_b) & ~inner));
    }
    if (inner == 0 || !is_floating(a.x.dtype())) return elementwise(a, b, inner);
    for (int i = output_.rank() - 1; i >= 0; --i) {  // the last axis of the output should be that of the product
      if ((of_a & of_b & bit(output_[i])) != 0) continue;
      if ((of_b & bit(output_[i])) != 0) break;
      if ((of_a & bit(output_[i])) != 0) return matrices(b, a, inner);
    }
    return matrices(a, b, inner);
  }

  // As a product that broadcasts, and a sum.
  static Term elementwise(const Term& a, const Term& b, Set inner) {
    Term y = a;
    const Set of_a = set_of(a.labels), of_b = set_of(b.labels);
    Shape ones_after = a.x.shape(), shape_b;
    Dims order;
    for (int64_t label : a.labels) {
      const bool shared = (of_b & bit(label)) != 0;
      if (shared) order.push_back(axis_of(b.labels, label));
      shape_b.push_back(shared ? b.x.shape()[axis_of(b.labels, label)] : 1);
    }
    for (int i = 0; i < b.labels.rank(); ++i) {
      if (of_a & bit(b.labels[i])) continue;
      order.push_back(i);
      shape_b.push_back(b.x.shape()[i]);
      ones_after.push_back(1);
      y.labels.push_back(b.labels[i]);
    }
    y.x = a.x.reshape(ones_after) * permuted(b.x, order).reshape(shape_b);
    sum_over_own_labels(y, ~inner);
    return y;
  }

  // As matrix products [batch..., rows, inner] @ [batch..., inner, columns].
  Term matrices(const Term& a, const Term& b, Set inner) const {
    const Set of_a = set_of(a.labels), of_b = set_of(b.labels);
    const Labels batch = in_output_order(of_a & of_b & ~inner, a.labels);
    const Labels rows = in_memory_order(a, of_a & ~of_b), columns = in_memory_order(b, of_b & ~of_a);
    const Labels depth =
        in_memory_order(a.x.numel() <= b.x.numel() ? b : a, inner);  // only the smaller one may be copied
    Tensor y = matmul(as_matrices(a, batch, rows, depth), as_matrices(b, batch, depth, columns));
    Shape shape;
    Labels labels;
    for (const Labels& group : {batch, rows, columns}) {
      for (int64_t label : group) {
        shape.push_back(sizes_[static_cast<std::size_t>(label)]);
        labels.push_back(label);
      }
    }
    return {y.reshape(shape), labels};
  }

  // The labels of a set: those of the output first, in the order of the output.
  Labels in_output_order(Set set, const Labels& labels) const {
    Labels sorted;
    for (int64_t label : output_) {
      if (set & bit(label)) sorted.push_back(label);
    }
    for (int64_t label : labels) {
      if (set & bit(label) & ~wanted_) sorted.push_back(label);
    }
    return sorted;
  }

  // The labels of a set, by decreasing stride: if any order can be viewed as one axis, this one can.
  static Labels in_memory_order(const Term& term, Set set) {
    Labels sorted;
    for (int64_t label : term.labels) {
      if ((set & bit(label)) == 0) continue;
      const auto stride = [&](int64_t of) { return std::abs(term.x.strides()[axis_of(term.labels, of)]); };
      int at = sorted.rank();
      while (at > 0 && stride(sorted[at - 1]) < stride(label)) --at;
      sorted.insert(at, label);
    }
    return sorted;
  }

  // A term as [batch..., first, second], a view if the strides allow one; matmul takes matrices of any strides.
  static Tensor as_matrices(const Term& term, const Labels& batch, const Labels& first, const Labels& second) {
    Dims order;
    Shape shape;
    const bool flat = batch.rank() > kMaxRank - 2;
    int64_t of_batch = 1;
    for (int64_t label : batch) {
      order.push_back(axis_of(term.labels, label));
      const int64_t n = term.x.shape()[order.back()];
      of_batch *= n;
      if (!flat) shape.push_back(n);
    }
    if (flat) shape.push_back(of_batch);
    for (const Labels& group : {first, second}) {
      int64_t product = 1;
      for (int64_t label : group) {
        order.push_back(axis_of(term.labels, label));
        product *= term.x.shape()[order.back()];
      }
      shape.push_back(product);
    }
    return permuted(term.x, order).reshape(shape);
  }

  std::string_view where_;
  Labels output_;
  Set wanted_;
  std::array<int64_t, kLabels> sizes_;
};

}  // namespace

Tensor contract(std::string_view where, PoolVector<Term> terms, const Labels& output) {
  const Contraction contraction(where, terms, output);
  return contraction.run(std::move(terms));
}

}  // namespace tapegrad
