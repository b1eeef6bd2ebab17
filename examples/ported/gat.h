// The graph attention network of gordicaleksa/pytorch-GAT (MIT licence, github.com/gordicaleksa/pytorch-GAT), its third
// implementation, with the names of its parameters, so that its weights load.
//
// Each node attends to the nodes that have an edge to it. Velickovic et al. 2018.
#pragma once

#include <tapegrad/tapegrad.h>

#include <vector>

namespace ported {

namespace nn = tapegrad::nn;
using tapegrad::Tensor;

inline nn::Parameter xavier(const tapegrad::Shape& shape) {
  nn::Parameter values(nn::init::blank(shape));
  nn::init::xavier_uniform(values);
  return values;
}

struct GatLayer {
  int64_t in, out, heads;
  bool concat;  // the heads side by side, with ELU; otherwise their mean
  bool add_skip_connection = true, add_bias = true;
  double p = 0.6;
  nn::Parameter scoring_fn_target = xavier({1, heads, out}), scoring_fn_source = xavier({1, heads, out});
  nn::Parameter bias = add_bias ? nn::Parameter(tapegrad::zeros({concat ? heads * out : out})) : nn::Parameter();
  nn::Linear linear_proj{in, heads* out, false};
  nn::Linear skip_proj = add_skip_connection ? nn::Linear(in, heads* out, false) : nn::Linear();
  nn::Dropout dropout{p};

  // x [N, in], edges [2, E]: where each begins and ends -> [N, heads * out], or [N, out] without concat
  Tensor operator()(const Tensor& features, const Tensor& edges) const {
    const Tensor source = edges[0], target = edges[1], x = dropout(features);
    const int64_t n = x.size(0);
    const Tensor h = dropout(linear_proj(x).reshape({n, heads, out}));
    const Tensor score = sum(h * scoring_fn_source, -1)(source) + sum(h * scoring_fn_target, -1)(target);  // [E, heads]
    const Tensor attention = dropout(segment_softmax(leaky_relu(score, 0.2), target, n));
    Tensor y = segment_sum(h(source) * attention.unsqueeze(-1), target, n);
    if (add_skip_connection) y += in == out ? x.unsqueeze(1) : skip_proj(x).reshape({n, heads, out});
    y = concat ? y.flatten(1) : mean(y, 1);
    if (add_bias) y += bias;
    return concat ? elu(y) : y;
  }
};

struct GatOptions {
  std::vector<int64_t> num_heads_per_layer, num_features_per_layer;  // features: those of the input first
  bool add_skip_connection = true, bias = true;
  double dropout = 0.6;
};

/// x [N, features], edges int64 [2, E] -> scores [N, features of the last layer].
struct Gat {
  nn::List<GatLayer> gat_net;

  explicit Gat(const GatOptions& options) {
    for (std::size_t i = 0; i < options.num_heads_per_layer.size(); ++i) {
      const int64_t in = options.num_features_per_layer[i] * (i == 0 ? 1 : options.num_heads_per_layer[i - 1]);
      const int64_t out = options.num_features_per_layer[i + 1], heads = options.num_heads_per_layer[i];
      const bool concat = i + 1 < options.num_heads_per_layer.size();
      gat_net.push_back({in, out, heads, concat, options.add_skip_connection, options.bias, options.dropout});
      if (in == out) nn::freeze(gat_net.back().skip_proj);  // in the file, but not used
    }
  }
  Tensor operator()(Tensor x, const Tensor& edges) const {
    for (const GatLayer& layer : gat_net) x = layer(x, edges);
    return x;
  }
  void visit(auto&& field) { field("gat_net", gat_net); }
};

}  // namespace ported
