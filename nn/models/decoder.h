// Causal language models, from token ids to the logits of the next token: what GPT and Llama share, and their decoding.
#pragma once

#include <tapegrad/nn/attention_pass.h>
#include <tapegrad/nn/embedding.h>
#include <tapegrad/nn/next_token.h>

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

namespace tapegrad::nn {

/// A stack of blocks between a token table and a head: GPTModel, LlamaModel. A model defines the parts; the passes
/// through all of them are the same for every model.
struct Decoder {
  virtual ~Decoder() = default;

  /// ids [B, T] int64 -> logits [B, T, V]. With a cache, the ids continue those in it, and only they are computed.
  /// `maps`, if given, receives the attention weights of every block, [B, heads, T, S]. Error beyond longest_input().
  Tensor operator()(const Tensor& ids, KVCache* cache = nullptr, AttentionMaps* maps = nullptr) const;
  /// The two halves: [B, T] -> [B, T, C] after the last norm, and [..., C] -> logits [..., V].
  Tensor hidden(const Tensor& ids, KVCache* cache = nullptr, AttentionMaps* maps = nullptr) const;
  virtual Tensor head(const Tensor& hidden) const = 0;
  /// One more token of each of several sequences of any lengths, ids [B, 1]; row b continues caches[b] -> [B, 1, C].
  /// The weights are read once for all rows. Error beyond longest_input().
  Tensor hidden_each(const Tensor& ids, std::span<KVCache* const> caches) const;
  virtual int64_t vocab_size() const = 0;
  virtual int64_t context_length() const = 0;  ///< tokens per input in training
  virtual int64_t longest_input() const = 0;

  /// Training keeps only the input of each block and runs the block again in backward, with the same random
  /// numbers: bit-identical, in less memory.
  bool recompute_blocks = false;

  // --- the parts of a model ---
  /// Names in its errors and maps: "gpt", "context_length", "trf_blocks.{}.att" with the block's index.
  struct Names {
    std::string_view model;  ///< in errors
    std::string_view limit;  ///< of the sequence, in errors
    std::string_view map;    ///< of a block's attention maps
  };
  virtual Names names() const = 0;         ///< of the model's type
  virtual std::size_t blocks() const = 0;  ///< number of blocks
  /// ids [B, T] -> vectors [B, T, C], and what is added to these at the positions from `start` on, with dropout.
  virtual Tensor embed(const Tensor& ids) const = 0;
  virtual Tensor placed(const Tensor& vectors, int64_t start, KVCache* cache) const = 0;
  /// With recompute_blocks, both must read parameters only through recorded operations (Reads::inputs).
  virtual PositionBias positions(int64_t queries, int64_t start, DType dtype) const = 0;
  virtual Tensor block(std::size_t layer, const Tensor& x, const AttentionPass& pass) const = 0;
  virtual Tensor last_norm(const Tensor& x) const = 0;
  /// visitor.go(*this), for code that does not know the model's type.
  virtual void walk_in(Visitor& visitor) = 0;
};

/// A decoder of any type, as a module with the parameters of its decoder: for state_dict, train and the rest.
class AnyDecoder {
 public:
  template <class Model>
  requires std::is_base_of_v<Decoder, Model> AnyDecoder(Model model)  // NOLINT: any decoder converts
      : held_(std::make_unique<Model>(std::move(model))),
        copy_([](Decoder& d) -> std::unique_ptr<Decoder> { return std::make_unique<Model>(static_cast<Model&>(d)); }) {}
  AnyDecoder(AnyDecoder&&) noexcept = default;
  AnyDecoder& operator=(AnyDecoder&&) noexcept = default;
  AnyDecoder(AnyDecoder& other) : held_(other.copy_(*other.held_)), copy_(other.copy_) {}  // for clone()
  Decoder& operator*() { return *held_; }
  const Decoder& operator*() const { return *held_; }
  Decoder* operator->() { return held_.get(); }
  const Decoder* operator->() const { return held_.get(); }
  /// The decoder that it owns; nullptr if that has another type.
  template <class Model>
  const Model* as() const {
    return dynamic_cast<const Model*>(held_.get());
  }
  template <class Model>
  Model* as() {
    return dynamic_cast<Model*>(held_.get());
  }
  void walk(Visitor& visitor) { held_->walk_in(visitor); }

 private:
  std::unique_ptr<Decoder> held_;
  std::unique_ptr<Decoder> (*copy_)(Decoder&);
};

/// The projection to the vocabulary, without bias: [..., C] -> logits [..., V]. Starts as nn::Linear does.
struct LanguageHead {
  LanguageHead(int64_t vocab_size, int64_t width, bool tied);
  Tensor operator()(const Tensor& x) const { return weight.product(x); }  ///< of a head that is not tied
  Tensor operator()(const Tensor& x, const Embedding& tied) const {
    const Tensor y = weight.exists() ? weight.product(x) : tied.weight.product(x);
    detail::report_call(this, detail::type_name<LanguageHead>(), y);
    return y;
  }
  std::string describe() const;  ///< the C++ that makes it, for nn::watch
  void visit(auto&& field) { field("weight", weight); }

  int64_t vocab_size, width;  ///< V and C
  Weight weight;              // [V, C], or none if the head is tied
};

/// A decoder in decoding. If there are more tokens than its longest input, it reads the last ones, all of them at every
/// step. Otherwise, if `cached`, it reads every token once. The model should be in eval mode.
class DecoderNext final : public NextTokenLogits {
 public:
  explicit DecoderNext(const Decoder& model, bool cached = true) : model_(model), cached_(cached) {}
  void restart() override { cache_ = {}; }
  Tensor logits(const Tensor& ids) override;
  void reorder(const Tensor& rows) override;

 private:
  const Decoder& model_;
  bool cached_;
  KVCache cache_;
};
/// DecoderNext under the name that fits a GPT.
using GPTNext = DecoderNext;

}  // namespace tapegrad::nn
