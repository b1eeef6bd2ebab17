// What the files of the models write an architecture with, and the C++ of the parts that they share.
#pragma once

#include <tapegrad/nn/attention.h>
#include <tapegrad/nn/embedding.h>
#include <tapegrad/tasks/architecture/architecture.h>

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tapegrad::tasks::architecture {

enum Colour : int {
  kEmbedding = 4,
  kNorm = 5,
  kAttention = 1,
  kFeedForward = 0,
  kHead = 2,
  kPositions = 3,
  kOther = 7
};

/// A box: its name, the C++ that makes it, the paths of its parameters in the model ("{}": the layer's number), and
/// what it does in the flow.
struct Box {
  std::string name;
  std::vector<std::string> code;
  std::vector<std::string> paths = {};
  Colour colour = kOther;
  std::optional<std::size_t> feeds = {}, reads = {};
  std::string detail = {};  ///< a line below the code
};

/// Writes down the parts of a model in the order in which they run.
class Builder {
 public:
  Builder(std::string_view title, std::vector<nn::NamedParameter> parameters);

  /// Begins a stack, whose input is ids [B, length]; `letter` is that of the length.
  void stack(Stack about, const Tensor& ids, char letter);
  /// A box, and its output, which is returned.
  Tensor box(const Box& about, const Tensor& input, const Tensor& output);
  /// A box next to the flow. Error unless it feeds another.
  void beside(const Box& about, const std::string& output);
  /// x + y, where x was the input of part `adds` of this layer, counted from 0 at the layer's first part.
  Tensor sum(std::size_t adds, std::string_view code, const Tensor& y, const Tensor& output);
  /// Layers 0 to `times` - 1, which are drawn once.
  void layers(std::size_t times, const std::function<void(std::size_t layer)>& run);
  /// The index that the next part gets.
  std::size_t next() const { return model_.stacks.back().parts.size(); }
  /// Error if a parameter of the model is in no part.
  Architecture done(std::vector<Tensor> inputs, const Tensor& result);

 private:
  struct Claimed {
    int64_t count = 0;
    std::vector<drawing::FlowRow> rows;  // of modules inside
  };
  Claimed claim(const Box& about);
  std::string shape_text(const Tensor& x) const;
  Part& add(const Tensor& input, const Tensor& output, drawing::FlowStep step);
  Stack& stack() { return model_.stacks.back(); }

  Architecture model_;
  std::vector<nn::NamedParameter> parameters_;
  std::vector<bool> claimed_;
  int64_t batch_ = 0, length_ = 0;
  char letter_ = 'T';
  std::optional<std::size_t> layer_;    // the number of the layer that runs
  std::size_t first_ = 0, cursor_ = 0;  // the first part of a layer, and the part that runs
};

// --- the C++ that makes a part ---
std::string embedding_code(const nn::Embedding& table);
std::string dropout_code(double p);
std::string linear_code(const nn::Linear& layer);
/// The head of a language model, which may be tied to the embedding.
Box head_box(std::string path, int64_t vocab_size, int64_t width, const nn::LanguageHead& head, bool tied);
/// nn::AddedPositions and nn::RelativePositions of these sizes.
std::string added_code(nn::Positions positions, int64_t most, int64_t width, bool causal);
std::string relative_code(nn::Positions positions, int64_t heads, int64_t head_dim, bool causal);
/// With the members of the configuration that differ from its defaults.
std::string attention_code(std::string_view type, const nn::MultiHeadAttention& attention, std::string_view names = "");
/// "12 heads of 64", "12 heads of 64, 4 for keys and values"
std::string heads_of(const nn::MultiHeadAttention& attention);
/// The shapes of what every attention of a stack receives; `letter` is that of the length.
std::string bias_text(const nn::PositionBias& bias, char letter);
/// A number as C++ has it: 0.1, 1e-06.
std::string number(double value);

}  // namespace tapegrad::tasks::architecture
