// The forms of attention that a model can choose.
// build: alone
#include <fmt/ranges.h>
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/nn/attention_choice.h>
#include <tapegrad/nn/position_kind.h>

namespace tapegrad::nn {

template <class... Options>
struct FormList {
  static std::vector<AttentionChoice> all() { return {default_form<Options>()...}; }
};

// One line per form; the first one is the default. The options of each are in the file of its name.
using AllForms = FormList<struct FullAttention,       //
                          struct WindowAttention,     //
                          struct LinformerAttention,  //
                          struct PerformerAttention,  //
                          struct ReformerAttention>;

namespace {

constexpr std::string_view kAttentionChoice = "attention_choice";

}  // namespace

const std::vector<AttentionChoice>& attention_forms() {
  static const std::vector<AttentionChoice> forms = AllForms::all();
  return forms;
}

std::span<const std::string_view> attention_names() {
  static const std::vector<std::string_view> names = [] {
    std::vector<std::string_view> all;
    for (const AttentionChoice& form : attention_forms()) all.push_back(form.name());
    return all;
  }();
  return names;
}

AttentionChoice attention_named(std::string_view name) {
  for (const AttentionChoice& form : attention_forms()) {
    if (form.name() == name) return form;
  }
  fail(kAttentionChoice, "expected one of {}, got \"{}\"", fmt::join(attention_names(), ", "), name);
}

AttentionChoice::AttentionChoice() : AttentionChoice(default_form<FullAttention>()) {}

void AttentionChoice::check() const {
  check_fields(kAttentionChoice, *this);
  held_->check();
}

void AttentionChoice::check(Positions positions, bool causal, bool grouped) const {
  check();
  const AttentionTraits t = traits();
  if (causal && !t.not_causal.empty())
    fail(kAttentionChoice, "{} attention cannot be causal: {}", t.name, t.not_causal);
  require(!grouped || t.grouped, kAttentionChoice, "expected as many key heads as query heads for {} attention",
          t.name);
  require(t.scores || !kind_of(positions).adds_to_scores(), kAttentionChoice,
          "{} positions add to the score of every pair, which only full attention has, got {}", nn::name(positions),
          t.name);
}

}  // namespace tapegrad::nn
