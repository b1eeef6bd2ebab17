// One training step as a list of operations with names, values and settings: what the page of `explain step` replays.
// The operations are plain ones, in float64 and without a batch axis; a model is one function that applies them to its
// parameters (forward.h).
#pragma once

#include <tapegrad/autograd/tape.h>
#include <tapegrad/nn/activation.h>
#include <tapegrad/nn/module.h>

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tapegrad::tasks::step {

/// A trained model's parameters as leaves of float64, by their names.
class Parameters {
 public:
  explicit Parameters(const NamedTensors& state);
  bool has(std::string_view name) const { return leaves_.find(name) != leaves_.end(); }
  /// Error for a name that the model does not have.
  const nn::Parameter& operator[](std::string_view name) const;
  /// The leaves, for an optimiser.
  NamedTensors leaves() const;

 private:
  std::map<std::string, nn::Parameter, std::less<>> leaves_;
};

/// One entry of a trace: an operation, a parameter, a constant or a list of tokens.
struct Node {
  std::string op;                        ///< "parameter", "constant", "tokens", or what step.js calls the operation
  std::string name;                      ///< "encoder.layers.0.attention.scores"
  std::vector<int64_t> inputs = {};      ///< indices of earlier nodes
  nlohmann::ordered_json settings = {};  ///< what else the operation needs
  Tensor value = {};                     ///< float64; of tokens int64 [T]
};

/// Which keys a query may see: bool [T, S], and the rule for the page.
struct Mask {
  Tensor visible;
  nlohmann::ordered_json rule;
};

/// Applies operations and keeps them. Each returns the index of its node.
class Trace {
 public:
  explicit Trace(const Parameters& parameters) : parameters_(parameters) {}

  const Parameters& parameters() const { return parameters_; }
  const std::vector<Node>& nodes() const { return nodes_; }
  const Tensor& value(int64_t node) const { return nodes_[static_cast<std::size_t>(node)].value; }

  /// ids [T]. `settings` may have "start", of a list whose first token is given, and "link": which list follows an
  /// edit.
  int64_t tokens(std::string name, const Tensor& ids, nlohmann::ordered_json settings = {});
  int64_t constant(std::string name, const Tensor& value);
  int64_t parameter(const std::string& name);  ///< the same node for every use
  /// The rows of a table [V, C] with these tokens; the row `padding` gets no gradient.
  int64_t rows(std::string name, int64_t table, int64_t tokens, std::optional<int64_t> padding = {});
  int64_t first_rows(std::string name, int64_t table, int64_t count);
  int64_t add(std::string name, int64_t a, int64_t b);
  /// x W^T, plus the bias of the layer if it has one; `layer` is the name that its parameters begin with.
  int64_t linear(std::string name, int64_t x, const std::string& layer);
  int64_t product(std::string name, int64_t x, int64_t weight);  ///< x W^T
  /// (x - mean) / sqrt(var + eps), or with `of_std` / (std + eps), times one parameter, plus another.
  int64_t norm(std::string name, int64_t x, const std::string& factor, const std::string& shift, double eps,
               bool of_std);
  int64_t heads(std::string name, int64_t x, int64_t count);  ///< [T, C] -> [heads, T, C / heads]
  int64_t join(std::string name, int64_t x);                  ///< the reverse
  int64_t scores(std::string name, int64_t q, int64_t k);     ///< q k^T, [heads, T, S]
  int64_t scale(std::string name, int64_t x, double factor);
  int64_t mask(std::string name, int64_t x, const Mask& mask);
  int64_t softmax(std::string name, int64_t x);
  int64_t mix(std::string name, int64_t weights, int64_t values);  ///< weights v
  int64_t activation(std::string name, int64_t x, nn::Activation kind);
  int64_t log_softmax(std::string name, int64_t x);
  /// The loss, one number that was computed from log-probabilities [T, V] and the target's tokens. `form` is "mean" or
  /// "sum" of -log p, or "sum_eps": the sum of -log(p + 1e-10). Targets `ignored` do not count.
  int64_t loss(std::string name, int64_t logs, int64_t target, std::string_view form, std::optional<int64_t> ignored,
               const Tensor& value);

 private:
  int64_t enter(Node node);

  const Parameters& parameters_;
  std::vector<Node> nodes_;
  std::map<std::string, int64_t> entered_;  // parameters
};

}  // namespace tapegrad::tasks::step
