// Titles and colours of the modules that have their own; others have the names that a program gave them.
#include <fmt/format.h>
#include <tapegrad/nn/gpt.h>
#include <tapegrad/nn/llama.h>
#include <tapegrad/nn/transformer.h>
#include <tapegrad/tasks/architecture/looks.h>
#include <tapegrad/tasks/language/messages.h>

#include <algorithm>

namespace tapegrad::tasks::architecture {
namespace {

enum Colour : int {
  kFeedForward = 0,
  kAttention = 1,
  kHead = 2,
  kPositions = 3,
  kEmbedding = 4,
  kNorm = 5,
  kOther = 7
};

const nn::MultiHeadAttention* attention_in(const nn::WatchedMember& module) {
  if (const auto* const a = module.as<nn::MultiHeadAttention>()) return a;
  if (const auto* const a = module.as<nn::MultiHeadSelfAttention>()) return a;
  return module.as<nn::LlamaAttention>();
}

// "12 heads of 64", "12 heads of 64, 4 for keys and values"
std::string heads_of(const nn::SelfAttentionConfig& c) {
  const std::string heads =
      c.num_heads == 1 ? said("1 head of {}", c.d_out) : said("{} heads of {}", c.num_heads, c.d_out / c.num_heads);
  return c.kv_heads() == c.num_heads ? heads : said("{}, {} for keys and values", heads, c.kv_heads());
}

std::string attention_title(const nn::SelfAttentionConfig& c, const Context& context) {
  if (context.reads_other) return said("Cross-attention");
  return c.causal || context.masked ? said("Causal self-attention") : said("Self-attention");
}

// A program's own names: that of the member, or of the type where the member is one of a Sequential.
std::string own_title(const nn::WatchedMember& module) {
  const bool numbered = std::ranges::all_of(module.name, [](char c) { return c >= '0' && c <= '9'; });
  return numbered ? std::string(module.type) : module.name;
}

struct Look {
  std::string title;
  Colour colour = kOther;
};

Look known_look(const nn::WatchedMember& m, const Context& context) {
  if (const auto* const a = attention_in(m)) return {attention_title(a->config, context), kAttention};
  if (const auto* const f = m.as<nn::FeedForward>())
    return {said("Feed-forward ({})", nn::name(f->activation)), kFeedForward};
  if (m.type == "GPTFeedForward") return {said("Feed-forward (gelu)"), kFeedForward};
  if (m.type == "LlamaMLP") return {said("Feed-forward (SwiGLU)"), kFeedForward};
  if (m.type == "LayerNorm" || m.type == "LayerNormStd")
    return {context.dropouts.empty() ? said("Layer norm") : said("Layer norm, dropout"), kNorm};
  if (m.type == "RMSNorm") return {said("RMS norm"), kNorm};
  if (m.type == "Embedding")
    return {m.name.find("tok") == m.name.npos ? own_title(m) : said("Token embedding"), kEmbedding};
  if (const auto* const p = m.as<nn::AddedPositions>()) {
    return {context.dropouts.empty() ? said("Positions ({})", p->kind.name())
                                     : said("Positions ({}), dropout", p->kind.name()),
            kPositions};
  }
  if (const auto* const head = m.as<nn::LanguageHead>())
    return {head->weight.exists() ? said("Head") : said("Head (the weight of the token embedding)"), kHead};
  if (m.path == "generator") return {said("Generator"), kHead};
  return {own_title(m)};
}

}  // namespace

bool is_attention(const nn::WatchedMember& module) { return attention_in(module) != nullptr; }

drawing::FlowStep look_of(const nn::WatchedMember& module, const Context& context) {
  const Look look = known_look(module, context);
  drawing::FlowStep step{.title = look.title,
                         .code = {module.code.empty() ? std::string(module.type) : module.code},
                         .colour = look.colour};
  step.code.insert(step.code.end(), context.dropouts.begin(), context.dropouts.end());
  if (const nn::MultiHeadAttention* const attention = attention_in(module)) {
    step.rows.push_back({heads_of(attention->config), ""});
    if (context.masked && !attention->config.causal) step.code.emplace_back("mask: nn::causal_mask(T)");
  }
  return step;
}

drawing::FlowStep look_of(const nn::WatchedOperation& operation) {
  if (operation.name == "log_softmax") return {.title = said("Log-softmax"), .code = {"log_softmax(x, -1)"}};
  return {.title = std::string(operation.name), .code = {}};
}

drawing::FlowStep look_beside(const nn::WatchedMember& module, int64_t length, char letter) {
  const auto& positions = *module.as<nn::RelativePositions>();
  const PauseRecording pause;
  const nn::PositionBias bias = positions(length, length, 0, kFloat32);
  drawing::FlowStep step = look_of_rope(bias, letter);
  step.title = said("Relative positions ({})", positions.kind.name());
  step.code = {module.code};
  return step;
}

drawing::FlowStep look_of_rope(const nn::PositionBias& angles, char letter) {
  drawing::FlowStep step{.title = said("Rotary positions (RoPE)"),
                         .code = {"nn::rope_angles(T, nn::rope_speeds(config), 0, kFloat32)"},
                         .colour = kPositions};
  if (angles.bias.defined()) {
    step.output = fmt::format("[1, {}, {}, {}]", angles.bias.size(1), letter, letter);
  } else if (angles.cosines.defined()) {
    step.output = said("cosines, sines [{}, {}]", letter, angles.cosines.size(1));
  }
  return step;
}

}  // namespace tapegrad::tasks::architecture
