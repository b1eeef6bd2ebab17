// Trains the graph attention network of gat.h to find the groups of a random graph's nodes, given those of half of
// them.
//
//   ported_gat OUT [--resume]   writes the run into the folder OUT; fails above its target
#include "gat.h"

#include "training.h"

namespace tg = tapegrad;

int main(int argc, char** argv) {
  constexpr int64_t kNodes = 200, kGroups = 4, kFeatures = 16, kPairs = 3000;
  tg::manual_seed(0);
  const tg::Tensor group = tg::arange(kNodes) - kGroups * tg::floor_divide(tg::arange(kNodes), kGroups);
  // Edges in both directions within groups, a few between any nodes, and one from each node to itself.
  const tg::Tensor pairs = tg::randint(0, kNodes, {2, kPairs});
  const tg::Tensor kept = group(pairs[0]) == group(pairs[1]) || tg::rand({kPairs}) < 0.1;
  const tg::Tensor some = pairs(tg::all, kept);
  const tg::Tensor edges = tg::cat({some, tg::flip(some, {0}), tg::arange(kNodes).expand({2, -1})}, 1);
  const tg::Tensor x = tg::randn({kNodes, kFeatures}) + tg::randn({kGroups, kFeatures})(group);
  ported::Gat model({.num_heads_per_layer = {4, 1}, .num_features_per_layer = {kFeatures, 8, kGroups}, .dropout = 0.3});
  return ported::train_to_target(
      argc, argv, model, {.steps = 150, .lr = 1e-2, .target = 0.2, .unit = "nodes", .units = kNodes / 2},
      [&](bool unseen) {
        const tg::Tensor rows = tg::arange(unseen ? kNodes / 2 : 0, double(unseen ? kNodes : kNodes / 2));
        return tg::cross_entropy(model(x, edges)(rows), group(rows));
      });
}
