// Runs examples through a model and shows the attention weights of its heads.
#include <fmt/format.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/nn/generate.h>
#include <tapegrad/nn/mask.h>
#include <tapegrad/tasks/drawing/heatmap.h>
#include <tapegrad/tasks/drawing/tables.h>
#include <tapegrad/tasks/seq2seq/sample.h>

#include <algorithm>
#include <string_view>

namespace tapegrad::tasks {
namespace {

std::vector<std::string> texts(const Task& task, const Tensor& tokens) {  // tokens [1, n]
  std::vector<std::string> out;
  for (const int64_t token : tokens.to_vector<int64_t>()) out.push_back(task.axis_text(token));
  return out;
}

// "decoder.layers.1.cross_attn" as its group, "decoder cross-attention", and its layer.
struct MapName {
  std::string group;
  std::string layer;
  bool decoder, cross;
  explicit MapName(std::string_view path)
      : decoder(path.starts_with("decoder")), cross(path.find("cross") != std::string_view::npos) {
    group = decoder ? (cross ? "cross-attention (decoder to encoder)" : "decoder self-attention")
                    : "encoder self-attention";
    const std::size_t at = path.find("layers.");
    if (at != std::string_view::npos) layer = path.substr(at + 7, path.find('.', at + 7) - at - 7);
  }
};

// Of a row of weights the share that lies on its largest entry.
struct Focus {
  double peak = 0;      // mean over the rows of the largest weight
  double diagonal = 0;  // share of rows whose largest weight is on the diagonal
};

Focus focus_of(const HeadMap& head) {
  Focus focus;
  const std::size_t rows = head.row_tokens.size(), columns = head.column_tokens.size();
  for (std::size_t r = 0; r < rows; ++r) {
    const auto first = head.weights.begin() + static_cast<std::ptrdiff_t>(r * columns);
    const auto largest = std::max_element(first, first + static_cast<std::ptrdiff_t>(columns));
    focus.peak += *largest;
    focus.diagonal += static_cast<std::size_t>(largest - first) == r ? 1 : 0;
  }
  focus.peak /= static_cast<double>(rows);
  focus.diagonal /= static_cast<double>(rows);
  return focus;
}

}  // namespace

Tensor decode(const Task& task, const nn::Transformer& model, const Tensor& source, int64_t length, int64_t beams) {
  constexpr int64_t kTogether = 250;
  std::vector<Tensor> parts;
  for (const Tensor& part : split(source, kTogether)) {
    nn::TransformerNext next(model, part, task.source_mask(part));
    const Tensor start = full({part.size(0), 1}, static_cast<double>(task.start_token()), kInt64);
    nn::GenerateOptions options{.max_new_tokens = length, .beams = beams};
    if (task.padding()) {
      options.pad_token = *task.padding();
      options.stop = [&task](std::span<const int64_t> tokens) { return task.ends_answer(tokens); };
    }
    const Tensor tokens = nn::generate(next, start, options).tokens;
    const auto missing = full({part.size(0), length - tokens.size(1)}, static_cast<double>(options.pad_token), kInt64);
    parts.push_back(cat({tokens, missing}, 1));
  }
  return cat(parts, 0);
}

std::vector<Answer> answers(const Task& task, const nn::Transformer& model, int64_t count, Generator& generator) {
  const Batch batch = task.draw(count, generator);
  return answers_of(task, batch, decode(task, model, batch.source, batch.target.size(1)), count);
}

AttentionSample attend(const Task& task, const nn::Transformer& model, const Batch& example) {
  const Tensor mask = task.source_mask(example.source);
  Tensor output = decode(task, model, example.source, example.target.size(1));
  const Answer answer = answers_of(task, example, output, 1).front();
  const auto length = std::max<int64_t>(1, static_cast<int64_t>(answer.output.size()));
  output = narrow(output, 1, 0, length);
  const Tensor read = shifted(task, output);
  nn::AttentionMaps maps;
  model(example.source, read, mask, nn::causal_mask(length), &maps);

  AttentionSample out;
  out.answer = answer;
  const std::vector<std::string> source_texts = texts(task, example.source), read_texts = texts(task, read);
  for (const NamedTensor& map : maps) {
    const MapName name(map.name);
    for (int64_t head = 0; head < map.tensor.size(1); ++head) {
      out.heads.push_back({fmt::format("{} layer {}, head {}",
                                       name.decoder ? (name.cross ? "cross" : "decoder") : "encoder", name.layer, head),
                           name.group, name.decoder ? read_texts : source_texts,
                           name.decoder && !name.cross ? read_texts : source_texts,
                           map.tensor[0][head].contiguous().to_vector<float>()});
    }
  }
  const auto order = [](const HeadMap& h) { return h.group[0] == 'e' ? 0 : h.group[0] == 'd' ? 1 : 2; };
  std::stable_sort(out.heads.begin(), out.heads.end(),
                   [&](const HeadMap& a, const HeadMap& b) { return order(a) < order(b); });
  return out;
}

drawing::Drawing draw(const HeadMap& head) {
  const bool decoder = head.group[0] != 'e', cross = head.group[0] == 'c';
  return draw(drawing::Heatmap{.title = head.name,
                               .row_axis = decoder ? "read by the decoder" : "source (query)",
                               .column_axis = decoder && !cross ? "read by the decoder (key)" : "source (key)",
                               .row_labels = head.row_tokens,
                               .column_labels = head.column_tokens,
                               .values = head.weights,
                               .texts = {}});
}

drawing::Drawing draw(const AttentionSample& sample) {
  std::vector<drawing::Drawing> parts;
  for (const HeadMap& head : sample.heads) parts.push_back(draw(head));
  return drawing::grid(parts, 4);
}

std::string attention_text(const AttentionSample& sample) {
  std::string out;
  std::vector<drawing::ShadedMap> cross;
  std::string group;
  for (const HeadMap& head : sample.heads) {
    if (head.group != group) {
      group = head.group;
      out += fmt::format("{}\n", group);
    }
    const Focus focus = focus_of(head);
    out += fmt::format("  {:<24} largest weight {:.2f} (mean), on the diagonal {:3.0f} %\n", head.name, focus.peak,
                       100 * focus.diagonal);
    if (group[0] == 'c') cross.push_back({head.name, head.row_tokens, head.weights});
  }
  out += fmt::format(
      "\nCross-attention: a row is a token that the decoder has read, a column a token of\nthe source ({})\n\n{}",
      drawing::shades_legend(), drawing::shaded_maps(cross));
  return out;
}

}  // namespace tapegrad::tasks
