// The interface of a form of attention: which keys queries attend to, and how.
//
// A form is a file in nn/attention and a line in attention_choice.cpp. Its options are a plain struct, which a
// configuration names (`.attention = nn::WindowAttention{.window = 64}`); every attention module makes an AttentionForm
// from it, which holds the parameters of the form, if there are any.
#pragma once

#include <tapegrad/nn/attention_pass.h>
#include <tapegrad/nn/dropout.h>
#include <tapegrad/nn/fields.h>

#include <concepts>
#include <limits>
#include <memory>
#include <string_view>
#include <utility>

namespace tapegrad {
class Generator;
}

namespace tapegrad::nn {

/// The name of a form, what it supports, and what follows from its options.
struct AttentionTraits {
  static constexpr int64_t kAll = std::numeric_limits<int64_t>::max();  ///< no limit

  std::string_view name;       ///< "window"
  std::string_view help = {};  ///< "only keys near the query"
  bool scores = false;         ///< there is a score for every pair, to which positions and masks of pairs can be added
  bool grouped = false;        ///< there may be fewer key heads than query heads
  /// The form is for self-attention only, and the module's parameters have names that begin with the form's:
  /// "performer.W_query.weight".
  bool nested = false;
  bool shared_keys = false;          ///< queries and keys have one projection
  std::string_view not_causal = {};  ///< why it cannot be causal; empty: it can
  int64_t keys_per_query = kAll;     ///< at most
  int64_t longest_input = kAll;      ///< 0: the model's
  int64_t redraw_steps = 0;          ///< steps of training between two calls of redraw(); 0: never
};

/// The module that a form is made for.
struct AttentionSizes {
  int64_t heads, head_dim;  ///< of the queries
  int64_t length;           ///< of the longest input; 0: not known
  bool causal;              ///< later keys are masked
};

/// What a module passes to its form in one pass.
struct AttentionInputs {
  const Tensor& queries;                ///< [B, H, T, D], rotated for RoPE; the last T of the S positions
  const KeysAndValues& from;            ///< [B, KV, S, D]; with shared_keys, the keys are the queries of all positions
  const AttentionPass& pass;            ///< mask, positions and cache of this pass
  const Dropout& dropout;               ///< on the weights
  const AttentionPositions& positions;  ///< what is added to scores and values; may be none
  bool causal;                          ///< later keys are masked in addition to the pass's mask
};

/// The form of attention of one module.
class AttentionForm {
 public:
  virtual ~AttentionForm() = default;
  /// -> [B, H, T, D]. Writes the pass's weights, if they are requested. A form that masks more than the pass's mask and
  /// later keys also adds its own mask to *pass.seen.
  virtual Tensor attend(const AttentionInputs& in) const = 0;
  /// Why the form supports no cache; empty if it does.
  virtual std::string_view no_cache() const { return {}; }
  /// Samples new random features, if the form has them; without a generator, from the default one.
  virtual void redraw(Generator*) {}
  /// Visits the form's own parameters and buffers.
  virtual void walk(Visitor&) {}
  virtual std::unique_ptr<AttentionForm> copy() = 0;  ///< for clone()
};

/// A form that the copy constructor of `Form` copies.
template <class Form>
class CopiedForm : public AttentionForm {
 public:
  std::unique_ptr<AttentionForm> copy() final { return std::make_unique<Form>(static_cast<Form&>(*this)); }
};

/// The form of a module, as a member that clone() copies.
class HeldForm {
 public:
  explicit HeldForm(std::unique_ptr<AttentionForm> form) : form_(std::move(form)) {}
  HeldForm(HeldForm&&) noexcept = default;
  HeldForm& operator=(HeldForm&&) noexcept = default;
  HeldForm(HeldForm& other) : form_(other.form_->copy()) {}  // for clone()

  const AttentionForm* operator->() const { return form_.get(); }
  AttentionForm* operator->() { return form_.get(); }
  void walk(Visitor& visitor) { form_->walk(visitor); }

 private:
  std::unique_ptr<AttentionForm> form_;
};

/// The options of a form: a struct that lists them (nn/module/fields.h) and makes the form. Where limits of single
/// members are not enough, it also has a check() that raises an Error about "attention_choice".
template <class T>
concept FormOptions = std::copyable<T> && requires(T& t, const T& c, Fields& fields, const AttentionSizes& sizes) {
  { c.traits() } -> std::same_as<AttentionTraits>;
  t.list(fields);
  { c.make(sizes) } -> std::same_as<std::unique_ptr<AttentionForm>>;
};

}  // namespace tapegrad::nn
