// The form of attention that a model uses.
#pragma once

#include <tapegrad/nn/attention_form.h>
#include <tapegrad/nn/positions.h>

#include <concepts>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace tapegrad::nn {

/// Which keys queries attend to (tutorial 003, section 8.2.3), with the options of that form:
/// - AttentionChoice(): every query attends to every key
/// - WindowAttention: keys near the query, and global tokens. Beltagy, Peters, Cohan 2020, Longformer
/// - LinformerAttention: a fixed number of learned projections of all keys; never causal. Wang et al. 2020
/// - PerformerAttention: all keys, estimated with random features. Choromanski et al. 2020
/// - ReformerAttention: keys with similar hashes. Kitaev, Kaiser, Levskaya 2020
///
/// The header of a form declares its options: window.h, linformer.h, performer.h, reformer.h. AttentionChoice is a
/// value and can be copied.
class AttentionChoice {
 public:
  AttentionChoice();  ///< full attention
  template <class Options>
  requires(!std::same_as<Options, AttentionChoice>) &&
      FormOptions<Options> AttentionChoice(Options options)  // NOLINT: the options of a form choose it
      : held_(std::make_unique<Held<Options>>(std::move(options))) {}
  AttentionChoice(const AttentionChoice& other) : held_(other.held_->copy()) {}
  AttentionChoice(AttentionChoice&& other) noexcept = default;
  AttentionChoice& operator=(const AttentionChoice& other) { return *this = AttentionChoice(other); }
  AttentionChoice& operator=(AttentionChoice&& other) noexcept = default;

  /// The name of the chosen form.
  std::string_view name() const { return traits().name; }
  AttentionTraits traits() const { return held_->traits(); }
  /// The options, if they are of this form; nullptr otherwise.
  template <FormOptions Options>
  const Options* as() const {
    const auto* const held = dynamic_cast<const Held<Options>*>(held_.get());
    return held ? &held->options : nullptr;
  }
  /// The members of the options, to be read and written.
  void list(Fields& fields) { held_->list(fields); }
  /// Error that names the first invalid member.
  void check() const;
  /// The same, and Error for what this form does not support: positions that need the scores of all pairs, causal
  /// attention, fewer key heads than query heads.
  void check(Positions positions, bool causal, bool grouped = false) const;
  std::unique_ptr<AttentionForm> make(const AttentionSizes& sizes) const { return held_->make(sizes); }

 private:
  struct Base {
    virtual ~Base() = default;
    virtual AttentionTraits traits() const = 0;
    virtual void list(Fields& fields) = 0;
    virtual void check() const = 0;
    virtual std::unique_ptr<AttentionForm> make(const AttentionSizes& sizes) const = 0;
    virtual std::unique_ptr<Base> copy() const = 0;
  };
  template <class Options>
  struct Held final : Base {
    explicit Held(Options o) : options(std::move(o)) {}
    AttentionTraits traits() const override { return options.traits(); }
    void list(Fields& fields) override { options.list(fields); }
    void check() const override {
      if constexpr (requires { options.check(); }) options.check();
    }
    std::unique_ptr<AttentionForm> make(const AttentionSizes& sizes) const override { return options.make(sizes); }
    std::unique_ptr<Base> copy() const override { return std::make_unique<Held>(options); }
    Options options;
  };
  std::unique_ptr<Base> held_;
};

/// The form of these options with their defaults. Its file instantiates it: template AttentionChoice
/// default_form<WindowAttention>();
template <class Options>
AttentionChoice default_form();

/// All forms, each with default options; full attention is the first.
const std::vector<AttentionChoice>& attention_forms();
std::span<const std::string_view> attention_names();
/// The form of this name with default options. Error for an unknown name; it lists the known ones.
AttentionChoice attention_named(std::string_view name);

}  // namespace tapegrad::nn
