// With which processes a process exchanges data, round by round, until each has the sums of its share.
#pragma once

#include <tapegrad/distributed/detail/tree.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tapegrad::distributed::detail {

/// Recursive halving (Thakur et al. 2005), for any number of processes: in the first round, neighbours sum their
/// elements, half of them each; then processes at a distance of 2 sum half of that, and so on. A process sends as many
/// bytes as if it sent each other process its share, in log2(size) messages, of which the long ones stay on a machine
/// with a power of two of processes. For each odd prime factor of the number of processes, one of the first rounds has
/// so many partners: their sum is then a node of the tree (tree.h). Parameters return by the same rounds in reverse.
class Rounds {
 public:
  /// Of `size` processes. With `one` round, all are partners.
  Rounds(int64_t size, bool one) : size_(size) {
    const int64_t halvings = one ? 0 : std::countr_zero(static_cast<uint64_t>(size));
    int64_t rest = size >> halvings;
    for (int64_t factor = one ? rest : 3; rest > 1; factor += 2)
      for (; rest % factor == 0; rest /= factor) add(factor);
    for (int64_t i = 0; i < halvings; ++i) add(2);
    if (rounds_.empty()) add(1);
  }
  std::size_t count() const { return rounds_.size(); }
  int64_t partners(std::size_t round) const { return rounds_[round].partners; }
  /// Messages that a process sends in all rounds, at least.
  int64_t messages() const {
    int64_t sum = 0;
    for (const Round& one : rounds_) sum += one.partners - 1;
    return sum;
  }
  /// The number of a process among its partners, and the rank of one of them.
  int64_t number(std::size_t round, int64_t rank) const {
    return place(rank) / rounds_[round].stride % partners(round);
  }
  int64_t partner(std::size_t round, int64_t rank, int64_t number) const {
    return rank - (number - this->number(round, rank)) * rounds_[round].stride;
  }
  /// The terms that a process's sums contain before a round; after all rounds, all terms.
  Terms terms(std::size_t round, int64_t rank, int64_t terms) const {
    const int64_t stride = this->stride(round), group = place(rank) / stride;
    return {terms * group * stride / size_, terms * (group + 1) * stride / size_};
  }
  /// The positions whose elements a process sums before a round; after all rounds, its own. Elements are in that order.
  Terms positions(std::size_t round, int64_t rank) const {
    int64_t begin = 0;
    for (std::size_t i = 0; i < round; ++i) begin += number(i, rank) * (size_ / stride(i + 1));
    return {begin, begin + size_ / stride(round)};
  }
  /// The rank of the process with a position.
  int64_t rank_at(int64_t position) const {
    int64_t place = 0;
    for (std::size_t i = 0; i < count(); ++i) {
      const int64_t width = size_ / stride(i + 1);
      place += position / width * rounds_[i].stride;
      position %= width;
    }
    return size_ - 1 - place;
  }

 private:
  struct Round {
    int64_t stride, partners;  // partners' places differ by multiples of the stride
  };
  void add(int64_t partners) { rounds_.push_back({stride(count()), partners}); }
  int64_t stride(std::size_t round) const {
    return round == 0 ? 1 : rounds_[round - 1].stride * rounds_[round - 1].partners;
  }
  int64_t place(int64_t rank) const { return size_ - 1 - rank; }  // by terms (tree.h)
  int64_t size_;
  std::vector<Round> rounds_;
};

}  // namespace tapegrad::distributed::detail
