// Collects the parts of a model, and gives each parameter to the part that has it.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <tapegrad/autograd/error.h>
#include <tapegrad/nn/position_kind.h>
#include <tapegrad/tasks/architecture/builder.h>
#include <tapegrad/tasks/language/messages.h>
#include <tapegrad/train/drawing/tables.h>

#include <algorithm>

namespace tapegrad::tasks::architecture {
namespace {

constexpr const char* kWhere = "architecture";

// "trf_blocks.{}.att" in layer 3: "trf_blocks.3.att".
std::string path_in(std::string_view path, std::optional<std::size_t> layer) {
  std::string out(path);
  if (const std::size_t at = out.find("{}"); at != out.npos) out.replace(at, 2, std::to_string(layer.value_or(0)));
  return out;
}

// A constant of nn::Positions, as C++ spells it.
std::string constant_of(nn::Positions positions) {
  std::string name(positions.name());
  std::replace(name.begin(), name.end(), '-', '_');
  return "nn::Positions::" + name;
}

}  // namespace

Builder::Builder(std::string_view title, std::vector<nn::NamedParameter> parameters)
    : parameters_(std::move(parameters)), claimed_(parameters_.size(), false) {
  model_.title = title;
  for (const nn::NamedParameter& p : parameters_) model_.parameters += p.parameter->numel();
}

void Builder::stack(Stack about, const Tensor& ids, char letter) {
  batch_ = ids.size(0);
  length_ = ids.size(1);
  letter_ = letter;
  model_.stacks.push_back(std::move(about));
  stack().input_shape = shape_text(ids);
}

// Shapes begin with the batch and the length, whose sizes are those of this run; the others are the model's.
std::string Builder::shape_text(const Tensor& x) const {
  if (x.dim() < 2 || x.size(0) != batch_ || x.size(1) != length_) {
    fail(kWhere, fmt::format("expected a shape that begins with [{}, {}], got {}", batch_, length_, str(x.shape())));
  }
  std::string out = fmt::format("[B, {}", letter_);
  for (int64_t axis = 2; axis < x.dim(); ++axis) out += fmt::format(", {}", x.size(axis));
  return out + "]";
}

Builder::Claimed Builder::claim(const Box& about) {
  Claimed out;
  if (!about.detail.empty()) out.rows.push_back({about.detail, ""});
  std::vector<std::pair<std::string, int64_t>> modules;  // "W_query [768, 768]" and its parameters
  std::string open;
  for (const std::string& each : about.paths) {
    const std::string path = path_in(each, layer_);
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      const std::string& name = parameters_[i].name;
      if (claimed_[i] || !name.starts_with(path) || (name.size() > path.size() && name[path.size()] != '.')) continue;
      claimed_[i] = true;
      const Tensor& x = parameters_[i].parameter.tensor();
      out.count += x.numel();
      const std::size_t dot = name.rfind('.');
      const std::string module =
          dot > path.size() && dot != name.npos ? name.substr(path.size() + 1, dot - path.size() - 1) : "";
      if (modules.empty() || module != open) modules.emplace_back(fmt::format("{} {}", module, str(x.shape())), 0);
      open = module;
      modules.back().second += x.numel();
    }
  }
  if (modules.size() > 1)
    for (auto& [module, count] : modules) out.rows.push_back({std::move(module), drawing::grouped(count)});
  return out;
}

// The part of the first layer, or in later ones the same part again.
Part& Builder::add(const Tensor& input, const Tensor& output, drawing::FlowStep step) {
  step.output = shape_text(output);
  std::vector<Part>& parts = stack().parts;
  if (layer_.value_or(0) == 0) {
    parts.push_back({std::move(step), shape_text(input)});
    return parts.back();
  }
  if (cursor_ >= parts.size() || parts[cursor_].step.title != step.title || parts[cursor_].step.output != step.output) {
    fail(kWhere, fmt::format("expected layer {} to have the parts of layer 0, got {}", *layer_, step.title));
  }
  return parts[cursor_++];
}

Tensor Builder::box(const Box& about, const Tensor& input, const Tensor& output) {
  Claimed has = claim(about);
  Part& part = add(input, output,
                   {.title = about.name,
                    .code = about.code,
                    .rows = std::move(has.rows),
                    .colour = about.colour,
                    .reads = about.reads});
  if (layer_.value_or(0) == 0) part.count = has.count;
  part.all += has.count;
  return output;
}

void Builder::beside(const Box& about, const std::string& output) {
  Claimed has = claim(about);
  Part part{{.title = about.name,
             .code = about.code,
             .rows = std::move(has.rows),
             .output = output,
             .colour = about.colour,
             .feeds = about.feeds.value()},
            "",
            has.count,
            has.count};
  stack().parts.push_back(std::move(part));
}

Tensor Builder::sum(std::size_t adds, std::string_view code, const Tensor& y, const Tensor& output) {
  add(y, output, {.title = "sum", .code = {std::string(code)}, .adds = first_ + adds});
  return output;
}

void Builder::layers(std::size_t times, const std::function<void(std::size_t)>& run) {
  first_ = next();
  for (std::size_t i = 0; i < times; ++i) {
    layer_ = i;
    cursor_ = first_;
    run(i);
  }
  layer_.reset();
  stack().layers.push_back({first_, next() - 1, static_cast<int64_t>(times)});
}

Architecture Builder::done(std::vector<Tensor> inputs, const Tensor& result) {
  const auto left = std::find(claimed_.begin(), claimed_.end(), false);
  if (left != claimed_.end()) {
    fail(kWhere, fmt::format("expected every parameter in a part, got {} in none",
                             parameters_[static_cast<std::size_t>(left - claimed_.begin())].name));
  }
  model_.inputs = std::move(inputs);
  model_.result = result;
  return std::move(model_);
}

// --- the C++ that makes a part ---

std::string number(double value) { return fmt::format("{:g}", value); }

std::string embedding_code(const nn::Embedding& table) {
  return fmt::format("nn::Embedding({}, {}{})", table.weight.outputs(), table.weight.inputs(),
                     table.padding ? fmt::format(", {}", *table.padding) : "");
}

std::string dropout_code(double p) { return fmt::format("nn::Dropout({})", number(p)); }

std::string linear_code(const nn::Linear& layer) {
  return fmt::format("nn::Linear({}, {}{})", layer.weight.inputs(), layer.weight.outputs(),
                     layer.bias.defined() ? "" : ", false");
}

Box head_box(std::string path, int64_t vocab_size, int64_t width, const nn::LanguageHead& head, bool tied) {
  return {.name = tied ? said("Head (the weight of the token embedding)") : said("Head"),
          .code = {fmt::format("nn::LanguageHead({}, {}, {})", vocab_size, width, !head.weight.exists())},
          .paths = {std::move(path)},
          .colour = kHead};
}

std::string added_code(nn::Positions positions, int64_t most, int64_t width, bool causal) {
  const bool tells_causal = causal && !nn::kind_of(positions).ignores_tokens();
  return fmt::format("nn::AddedPositions({}, {}, {}{})", constant_of(positions), most, width,
                     tells_causal ? ", {}, true" : "");
}

std::string relative_code(nn::Positions positions, int64_t heads, int64_t head_dim, bool causal) {
  return fmt::format("nn::RelativePositions({}, {}, {}, {})", constant_of(positions), heads, head_dim, causal);
}

std::string attention_code(std::string_view type, const nn::MultiHeadAttention& attention, std::string_view names) {
  const nn::SelfAttentionConfig& c = attention.config;
  const nn::SelfAttentionConfig usual;
  std::vector<std::string> members{fmt::format(".d_in = {}", c.d_in), fmt::format(".d_out = {}", c.d_out),
                                   fmt::format(".num_heads = {}", c.num_heads)};
  const auto add = [&](std::string_view name, const auto& value, const auto& otherwise) {
    if (value != otherwise) members.push_back(fmt::format(".{} = {}", name, value));
  };
  if (c.dropout != usual.dropout) members.push_back(fmt::format(".dropout = {}", number(c.dropout)));
  add("qkv_bias", c.qkv_bias, usual.qkv_bias);
  add("causal", c.causal, usual.causal);
  if (attention.positions.defined()) members.push_back(fmt::format(".positions = {}", constant_of(c.positions)));
  if (c.kv_heads() != c.num_heads) add("num_kv_heads", c.num_kv_heads, 0);
  if (c.attention.name() != usual.attention.name()) {
    members.push_back(fmt::format(".attention = nn::attention_named(\"{}\")", c.attention.name()));
    add("form_length", c.form_length, usual.form_length);
  }
  add("output_size", c.output_size == c.d_out ? 0 : c.output_size, usual.output_size);
  add("output_bias", c.output_bias, usual.output_bias);
  return fmt::format("{}({{{}}}{}{})", type, fmt::join(members, ", "), names.empty() ? "" : ", ", names);
}

std::string heads_of(const nn::MultiHeadAttention& attention) {
  const nn::SelfAttentionConfig& c = attention.config;
  const std::string heads =
      c.num_heads == 1 ? said("1 head of {}", c.d_out) : said("{} heads of {}", c.num_heads, c.d_out / c.num_heads);
  return c.kv_heads() == c.num_heads ? heads : said("{}, {} for keys and values", heads, c.kv_heads());
}

std::string bias_text(const nn::PositionBias& bias, char letter) {
  if (bias.bias.defined()) return fmt::format("[1, {}, {}, {}]", bias.bias.size(1), letter, letter);
  return bias.cosines.defined() ? said("cosines, sines [{}, {}]", letter, bias.cosines.size(1)) : "";
}

}  // namespace tapegrad::tasks::architecture
