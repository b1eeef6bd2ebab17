// What a DataParallel holds during a step: the sums of this process, and its share among several.
#pragma once

#include <tapegrad/distributed/data_parallel.h>
#include <tapegrad/distributed/detail/buckets.h>
#include <tapegrad/distributed/detail/transport.h>
#include <tapegrad/distributed/detail/tree.h>

#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace tapegrad::distributed {
namespace detail {

inline char* bytes_at(const Tensor& x, int64_t element) {
  return static_cast<char*>(x.mutable_raw_data()) + element * item_size(x.dtype());
}

}  // namespace detail

/// Sums over the batches of this process.
struct DataParallel::Accumulated {
  detail::Terms all, own;  // the step's batches, and those of this process
  int64_t next = 0;        // the next one
  bool open = false;       // between begin_step() and update()
  bool updated = false;    // by backward()
  struct Node {
    detail::Terms terms;
    Gradients grads;
  };
  std::vector<Node> nodes;  // complete, adjacent and in order; siblings become one at once

  void push(int64_t batch, Gradients grads) {
    nodes.push_back({{batch, batch + 1}, std::move(grads)});
    for (int64_t left = merges(nodes.back().terms, nodes.size() - 1); left > 0; --left) {
      Node last = std::move(nodes.back());
      nodes.pop_back();
      nodes.back().grads += std::move(last.grads);
      nodes.back().terms.end = last.terms.end;
    }
  }
  // With how many of the first `count` nodes, from the last on, a node that follows them becomes one.
  int64_t merges(detail::Terms node, std::size_t count) const {
    int64_t merged = 0;
    while (count-- > 0) {
      const detail::Terms left = nodes[count].terms, both{left.begin, node.end};
      if (!detail::is_node(all, both) || detail::halves(both) != std::pair(left, node)) break;
      node = both;
      ++merged;
    }
    return merged;
  }
};

/// The share of a process among several (share.cpp).
struct DataParallel::Share {
  // What is on its way for a bucket in a step.
  struct Moving {
    std::size_t missing = 0;  // parameters whose gradients backward has not reached
    Tensor mine, sent;        // sums of this process, by rank, node and piece; in the type of the wire
    Tensor received;          // those of the others for this process, by rank and node
    std::unique_ptr<detail::Exchange> exchange;
    bool started = false, done = false;
  };

  const World& world;
  optim::Optimizer& optimizer;
  const DataParallelOptions& options;
  const Accumulated& sums;
  NamedTensors parameters;
  std::vector<detail::Bucket> buckets;
  std::vector<std::size_t> bucket_of;                                 // by parameter
  std::vector<std::vector<std::pair<int, detail::Piece>>> pieces_of;  // by parameter: rank and piece
  std::unordered_map<int64_t, std::size_t> parameter_of;              // by the leaf's number
  std::vector<std::size_t> by_leaf;                                   // parameters in the order of their leaves
  std::vector<std::vector<detail::Terms>> nodes;                      // by rank: what it sums by itself
  std::vector<Moving> moving;                                         // by bucket
  std::vector<uint8_t> arrived;                                       // by parameter
  std::string unknown;                                                // a leaf that is no parameter
  bool posted = false;
  CommunicationTimes times;

  Share(const World& world, optim::Optimizer& optimizer, const DataParallelOptions& options, const Accumulated& sums);
  int rank() const { return world.rank(); }
  int size() const { return world.size(); }
  std::size_t me() const { return static_cast<std::size_t>(rank()); }
  int64_t own_nodes() const { return static_cast<int64_t>(nodes[me()].size()); }
  DType wire_of(const detail::Bucket& bucket) const { return bucket.dtype == kFloat32 ? options.wire : bucket.dtype; }

  void copy_parameters();
  void begin();
  void post_receives();
  void note_unknown(const TapeIndex& leaf, const Tensor& grad);
  void take(std::size_t parameter, const Tensor& grad);
  template <class T>
  void write(const detail::Bucket& bucket, const Moving& to, std::size_t parameter, const Tensor& grad);
  void start(std::size_t b);
  void progress();
  void complete();
  Tensor reduced(std::size_t b);
  std::vector<uint8_t> present_anywhere() const;
  double clip(const std::vector<Tensor>& reduced, const std::vector<uint8_t>& present, double max_norm) const;
  double update();
  void send_parameters(const std::vector<uint8_t>& present);
};

}  // namespace tapegrad::distributed
