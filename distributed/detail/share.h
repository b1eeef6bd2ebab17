// What a DataParallel holds during a step: the sums of this process, and its share among several.
#pragma once

#include <tapegrad/autograd/gradients.h>
#include <tapegrad/autograd/internal/forward_updates.h>
#include <tapegrad/autograd/parallel.h>
#include <tapegrad/distributed/data_parallel_options.h>
#include <tapegrad/distributed/detail/buckets.h>
#include <tapegrad/distributed/detail/group.h>
#include <tapegrad/distributed/detail/rounds.h>
#include <tapegrad/distributed/detail/tree.h>
#include <tapegrad/distributed/world.h>
#include <tapegrad/optim/internal/clipping.h>
#include <tapegrad/optim/optimizer.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace tapegrad::distributed::detail {

/// Tags of messages. Those of bucket b are 2 b and 2 b + 1, below all others.
inline constexpr int kStateTag = 31'000, kMostTag = 31'001;
inline constexpr std::size_t kMostBuckets = kStateTag / 2;

inline char* bytes_at(const Tensor& x, int64_t element) {
  return static_cast<char*>(x.mutable_raw_data()) + element * item_size(x.dtype());
}

// sum += x, and x *= factor.
template <class T>
void add(T* sum, const T* x, int64_t n) {
  parallel_for(n, kBlock, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) sum[i] += x[i];
  });
}

template <class T>
void multiply(T* x, double factor, int64_t n) {
  if (factor == 1) return;
  parallel_for(n, kBlock, [&](int64_t begin, int64_t end) { optim::scale(dtype_of<T>(), x, factor, begin, end); });
}

/// Sums over the batches of this process.
///
/// The sum of a node adds up the gradients of its batches, each divided by the number of batches and multiplied by the
/// batch's terms / the most terms of a batch of the node. It depends on the node alone; nothing is multiplied where the
/// terms are equal, and no factor is above 1. The sum of all batches times factor() is the mean over all terms.
struct Accumulated {
  Terms all, own;             // the step's batches, and those of this process
  std::vector<double> terms;  // of each batch (MeanLoss::terms); of others' batches 0 until update()
  int64_t next = 0;           // the next one
  bool open = false;          // between begin_step() and update()
  bool updated = false;       // by backward()
  struct Node {
    Terms terms;
    Gradients grads;
  };
  std::vector<Node> nodes;  // complete, adjacent and in order; siblings become one at once

  void push(int64_t batch, Gradients grads) {
    nodes.push_back({{batch, batch + 1}, std::move(grads)});
    for (int64_t left = merges(nodes.back().terms, nodes.size() - 1); left > 0; --left) {
      Node last = std::move(nodes.back());
      nodes.pop_back();
      Node& first = nodes.back();
      const auto [a, b] = factors(first.terms, last.terms);
      if (a != 1) first.grads *= a;
      if (b != 1) last.grads *= b;
      first.grads += std::move(last.grads);
      first.terms.end = last.terms.end;
    }
  }
  double most(const Terms& node) const {
    return *std::max_element(terms.begin() + node.begin, terms.begin() + node.end);
  }
  // The factors of the sums of two siblings before they are added, for the most terms a and b of a batch of each. At
  // least one factor is 1.
  static std::pair<double, double> factors(double a, double b) { return {a < b ? a / b : 1, b < a ? b / a : 1}; }
  std::pair<double, double> factors(const Terms& left, const Terms& right) const {
    return factors(most(left), most(right));
  }
  // The factor that makes the sum of all batches their mean. Error if they have no terms.
  double factor() const { return static_cast<double>(all.size()) / BatchWeights(terms).sum(); }
  // How many of the first `count` nodes, from the last one back, `node` merges with when it follows them.
  int64_t merges(Terms node, std::size_t count) const {
    int64_t merged = 0;
    while (count-- > 0) {
      const Terms left = nodes[count].terms, both{left.begin, node.end};
      if (!is_node(all, both) || halves(both) != std::pair(left, node)) break;
      node = both;
      ++merged;
    }
    return merged;
  }
};

/// Adds the seconds from its construction to its destruction to a sum.
class Stopwatch : NonCopyable {
 public:
  explicit Stopwatch(double& sum) : sum_(sum), start_(std::chrono::steady_clock::now()) {}
  ~Stopwatch() { sum_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }

 private:
  double& sum_;
  const std::chrono::steady_clock::time_point start_;
};

/// The share of a process among several (share.cpp, rounds.cpp).
struct Share {
  // What is on its way for a bucket in a step.
  struct Moving {
    std::size_t missing = 0;       // parameters whose gradients backward has not reached
    Tensor mine, sent;             // this process's sums before the next round, by node; the same in the wire's type
    std::vector<Tensor> received;  // by round: the sums of the partners, by node
    std::vector<std::unique_ptr<Exchange>> exchanges;  // by round
    std::size_t round = 0;                             // the first that is not complete
    bool started = false;
  };
  // The nodes whose sums the partners of a round have, by partner, and the most terms of a batch of each node.
  struct Nodes {
    std::vector<Terms> nodes;
    std::vector<double> most;
    std::vector<std::size_t> first;  // by partner, and the end
    std::unique_ptr<Exchange> exchange;
  };

  const World& world;
  optim::Optimizer& optimizer;
  const DataParallelOptions& options;
  Accumulated& sums;
  NamedTensors parameters;
  Rounds rounds;
  std::vector<Bucket> buckets;
  std::vector<std::size_t> bucket_of;                     // by parameter
  std::vector<std::vector<Piece>> pieces_of;              // by parameter
  std::unordered_map<int64_t, std::size_t> parameter_of;  // by the leaf's number
  std::vector<std::size_t> by_leaf;                       // parameters in the order of their leaves
  std::vector<Nodes> nodes;                               // by round
  std::size_t known = 0;                                  // rounds in which `most` has arrived
  std::vector<Moving> moving;                             // by bucket
  std::vector<uint8_t> arrived;                           // by parameter
  std::string unknown;                                    // a leaf that is not one of the parameters
  bool posted = false;
  std::optional<tapegrad::detail::ForwardUpdates> forward_updates;  // during a step
  using Updates = std::vector<tapegrad::detail::ForwardUpdate>;
  std::vector<Updates> updates;          // by batch of this process
  std::vector<char> waiting_statistics;  // of batches whose changes this process has not made
  CommunicationTimes times;

  Share(const World& world, optim::Optimizer& optimizer, const DataParallelOptions& options, Accumulated& sums);
  ~Share();
  Group& group() const { return *world.group(); }
  int rank() const { return world.rank(); }
  int size() const { return world.size(); }
  // What this process has before a round, and after all: elements of a bucket, and nodes, [begin, end) of nodes[round].
  Terms elements(std::size_t b, std::size_t round) const { return elements_of(b, round, rank()); }
  Terms elements_of(std::size_t b, std::size_t round, int64_t rank) const {
    return buckets[b].elements(rounds.positions(round, rank));
  }
  std::span<const Piece> own_pieces(std::size_t b) const {
    return buckets[b].of(rounds.positions(rounds.count(), rank()));
  }
  Terms own_nodes(std::size_t round) const { return nodes_of(round, rounds.number(round, rank())); }
  Terms nodes_of(std::size_t round, int64_t partner) const {
    const auto first = nodes[round].first.begin() + partner;
    return {static_cast<int64_t>(first[0]), static_cast<int64_t>(first[1])};
  }
  DType wire_of(const Bucket& bucket) const { return bucket.dtype == kFloat32 ? options.wire : bucket.dtype; }

  void copy_parameters();
  void begin();
  void post_receives();
  void note_unknown(const TapeIndex& leaf, const Tensor& grad);
  void take(std::size_t parameter, const Tensor& grad);
  template <class T>
  void write(const Bucket& bucket, const Moving& to, std::size_t parameter, const Tensor& grad);
  void send_most(std::size_t round);
  void start(std::size_t b);
  void send(std::size_t b);
  bool advance(std::size_t b);
  void add_up(std::size_t b);
  void learn_most();
  void progress();
  void complete();
  Tensor reduced(std::size_t b, double whole);
  int64_t meet();
  std::vector<uint8_t> exchange_flags_and_terms();
  void gather(const void* own, int64_t each, void* all, std::string_view what) const;
  void take_forward_updates();
  int64_t statistics_bytes() const;
  bool has_equal_updates();
  void make_forward_updates(int64_t each);
  double change(std::vector<Tensor>& reduced, const std::vector<uint8_t>& present) const;
  double update();
  void send_parameters(const std::vector<uint8_t>& present);
};

}  // namespace tapegrad::distributed::detail
