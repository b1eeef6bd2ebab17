// `tapegrad show architecture`: the parts of a model compute what it computes, and their drawing is readable.
#include <tapegrad/tasks/architecture/architecture.h>
#include <tapegrad/tests/nn/models/small_models.h>
#include <tapegrad/tests/support/patterns.h>
#include <tapegrad/tests/support/pictures/shown.h>
#include <tapegrad/tests/support/runs/gpt_run.h>
#include <tapegrad/tests/support/testing.h>
#include <tapegrad/tests/tasks/show/own_models.h>
#include <tapegrad/train/drawing/flow.h>
#include <tapegrad/tutorials/show/architecture_models.h>

namespace tapegrad::tasks::architecture {
namespace {

using namespace tests;
using Faults = std::vector<std::string>;

struct Rectangle {
  double x, y, width, height;
};

// The boxes of a drawing at the origin, in the order of their tops.
std::vector<Rectangle> boxes_of(const std::string& svg) {
  const Pattern form(
      "<rect class=\"f\\d c\\d\"[^>]* x=\"([0-9.]+)\" y=\"([0-9.]+)\" width=\"([0-9.]+)\" height=\"([0-9.]+)\"");
  std::vector<Rectangle> found;
  for (const Match& it : form.in(svg))
    found.push_back({std::stod(it[1]), std::stod(it[2]), std::stod(it[3]), std::stod(it[4])});
  return found;
}

// Boxes do not overlap, and a text that begins in a box ends in it.
void expect_texts_in_boxes(const std::string& svg) {
  const std::vector<Rectangle> boxes = boxes_of(svg);
  EXPECT_FALSE(boxes.empty());
  for (std::size_t i = 1; i < boxes.size(); ++i) {
    if (boxes[i].x != boxes[i - 1].x) continue;  // the next column
    EXPECT_GE(boxes[i].y, boxes[i - 1].y + boxes[i - 1].height + 10) << i;
  }
  const Pattern form("<text([^>]*) x=\"([0-9.]+)\" y=\"([0-9.]+)\" text-anchor=\"([a-z]+)\"([^>]*)>([^<]*)<");
  int inside = 0;
  for (const Match& it : form.in(svg)) {
    const std::string attributes = it[1] + it[5], anchor = it[4], text = it[6];
    const drawing::Type type = attributes.find("code") != attributes.npos    ? drawing::Type::code
                               : attributes.find("small") != attributes.npos ? drawing::Type::small
                                                                             : drawing::Type::normal;
    const double bold = attributes.find("600") == attributes.npos ? 1 : 1.14;
    const double width = drawing::text_width(text, type) * bold, x = std::stod(it[2]), y = std::stod(it[3]);
    const double left = anchor == "start" ? x : anchor == "end" ? x - width : x - width / 2;
    for (const Rectangle& box : boxes) {
      if (y < box.y || y > box.y + box.height || x < box.x || x > box.x + box.width) continue;
      EXPECT_GE(left, box.x) << text;
      EXPECT_LE(left + width, box.x + box.width) << text;
      EXPECT_LE(y + 3, box.y + box.height) << text;
      ++inside;
    }
  }
  EXPECT_GE(inside, 2 * static_cast<int>(boxes.size()));
}

// What must be true of every architecture: all parameters are in a part, and drawings and tables are readable.
void expect_drawn(const Architecture& found, int64_t parameters) {
  int64_t sum = 0;
  for (const Stack& stack : found.stacks) sum += parameters_of(stack);
  EXPECT_EQ(sum, parameters);
  EXPECT_EQ(found.parameters, parameters);
  EXPECT_EQ(faults_of(draw(chart_of(found))), Faults());
  expect_narrow(table_of(found).terminal());
}

// The same of one of the library's models; `own` is what the model computes for its inputs.
template <class Model>
void expect_is_of(const Architecture& found, const Model& model, const Tensor& own) {
  expect_drawn(found, nn::count_parameters(model));
  EXPECT_TRUE(equal(found.result, own));
  const drawing::FlowChart chart = chart_of(found);
  expect_texts_in_boxes(draw(chart).body);
  for (const drawing::Drawing& column : draw_columns(chart)) {
    EXPECT_EQ(faults_of(column), Faults());
    EXPECT_LE(column.width, 366) << "a page of 400 pixels has margins";
  }
}

void expect_transformer(const nn::TransformerConfig& config) {
  manual_seed(1);
  nn::Transformer model(config);
  const Architecture found = architecture_of(model);
  EXPECT_TRUE(model.encoder.embeddings.dropout.training) << "the model's mode is restored";
  const nn::EvalMode eval(model);
  ASSERT_EQ(found.inputs.size(), 2U);
  const Tensor mask = nn::causal_mask(found.inputs[1].size(1));
  expect_is_of(found, model, model(found.inputs[0], found.inputs[1], {}, mask));
}

template <class Model>
void expect_decoder(const decltype(Model::config)& config) {
  manual_seed(1);
  Model model(config);
  const Architecture found = architecture_of(model);
  const nn::EvalMode eval(model);
  ASSERT_EQ(found.inputs.size(), 1U);
  expect_is_of(found, model, model(found.inputs[0]));
}

TEST(Architecture, RunsATransformerPartByPart) {
  for (const std::string_view kind : nn::position_names()) {
    for (const bool post_norm : {false, true}) {
      SCOPED_TRACE(fmt::format("{}, {}", kind, post_norm));
      nn::TransformerConfig config = small_transformer(11, 6);
      config.positions = nn::positions_named(kind);
      config.post_norm = post_norm;
      expect_transformer(config);
    }
  }
  nn::TransformerConfig config = small_transformer(11, 6);
  config.activation = nn::Activation::gelu;
  config.max_position_embeddings = 1;
  config.hidden_size = 1024;
  config.num_attention_heads = 16;
  config.layer_norm_eps = 1e-5;
  expect_transformer(config);
}

TEST(Architecture, RunsAGPTPartByPart) {
  for (const std::string_view kind : nn::position_names()) {
    SCOPED_TRACE(kind);
    nn::GPTConfig config = small_decoder(13, 8);
    config.positions = nn::positions_named(kind);
    expect_decoder<nn::GPTModel>(config);
  }
  nn::GPTConfig config = small_decoder(13, 8);
  config.tied_head = config.qkv_bias = true;
  config.n_kv_heads = 1;
  config.n_layers = 1;
  expect_decoder<nn::GPTModel>(config);
}

TEST(Architecture, RunsALlamaPartByPart) {
  expect_decoder<nn::LlamaModel>(small_llama());
  nn::LlamaConfig config = small_llama();
  config.head_dim = 8;
  config.attention_bias = config.mlp_bias = config.tie_word_embeddings = true;
  config.rms_norm_eps = 1e-5;
  expect_decoder<nn::LlamaModel>(config);
}

TEST(Architecture, LayersAreDrawnOnceAndModulesInsideAreListed) {
  nn::GPTConfig config = small_decoder(13, 8);
  config.emb_dim = 16;
  config.n_heads = 4;
  config.n_layers = 3;
  nn::GPTModel model(config);
  const Architecture found = architecture_of(model);
  ASSERT_EQ(found.stacks.size(), 1U);
  const Stack& stack = found.stacks[0];
  ASSERT_EQ(stack.layers.size(), 1U);
  EXPECT_EQ(stack.layers[0].times, 3);
  EXPECT_EQ(stack.parts.size(), 2U + 6U + 2U);
  const Part& attention = stack.parts[3];
  EXPECT_EQ(attention.step.title, "Causal self-attention");
  EXPECT_EQ(attention.input, "[B, T, 16]");
  EXPECT_EQ(attention.all, 3 * attention.count);
  ASSERT_EQ(attention.step.rows.size(), 5U);
  EXPECT_EQ(attention.step.rows[0].left, "4 heads of 4");
  EXPECT_EQ(attention.step.rows[1].left, "W_query [16, 16]");
  EXPECT_EQ(attention.step.rows[4].right, "272");
  EXPECT_EQ(stack.parts.back().step.output, "[B, T, 13]");
  EXPECT_NE(table_of(found).terminal().find("3 layers, each 3,"), std::string::npos) << table_of(found).terminal();
}

struct HalfUsed {
  nn::Linear used{2, 3}, other{3, 3};
};

TEST(Architecture, ParametersWithoutAPartAreAnError) {
  HalfUsed model;
  const nn::Watched seen = nn::watch(model, [&] { return model.used(ones({1, 2})); });
  EXPECT_ERROR(architecture_of(seen, "a model"));
}

TEST(Flow, WrongIndicesAreErrors) {
  const drawing::FlowStep box{.title = "box", .code = {}};
  const auto error = [&](drawing::FlowStep last, std::vector<drawing::FlowFrame> frames = {}) {
    return error_of([&] {
      draw(drawing::FlowChart{{{.steps = {box, box, std::move(last)}, .frames = std::move(frames)}}});
    });
  };
  EXPECT_TEXT(error({.title = "", .code = {}, .adds = 2}));
  EXPECT_TEXT(error({.title = "", .code = {}, .feeds = 1}));
  EXPECT_TEXT(error({.title = "", .code = {}, .reads = 0}));
  EXPECT_TEXT(error(box, {{1, 2, "", ""}, {2, 2, "", ""}}));
}

TEST(Flow, LongLinesAreBroken) {
  const drawing::FlowStep box{
      .title = "A box", .note = "1", .code = {std::string(30, 'a') + ", " + std::string(30, 'b')}};
  const drawing::Drawing drawn = draw(drawing::FlowChart{{{.input = "x", .output = "y", .steps = {box}}}});
  EXPECT_EQ(faults_of(drawn), Faults());
  expect_parts(drawn.body, {">" + std::string(30, 'a') + ",<", ">" + std::string(30, 'b') + "<"});
}

// The table of a trained model, whose drawings must be correct.
std::string shown_of(const TemporaryFolder& folder, const std::string& model) {
  const Ran ran = successful(run_command({"show", "architecture", "--model", model, "--out", folder / "p"}));
  expect_correct_figure(folder / "p/architecture");
  return ran.out;
}

using Show = InAFolder;

TEST_F(Show, ArchitectureOfRuns) {
  for (const std::string& task : names_of_tasks()) {
    SCOPED_TRACE(task);
    train_tiny(folder, task, task);
    expect_parts(shown_of(folder, folder / task), {fmt::format("Transformer of the {} task: ", task), "Decoder: "});
  }
  train_small_gpt(folder, "gpt");
  expect_parts(shown_of(folder, folder / "gpt"), {"nn::GPTFeedForward(16)"});
  EXPECT_EQ(shown_of(folder, folder / "gpt/model.safetensors"), shown_of(folder, folder / "gpt"));
  expect_parts(shown_of(folder, data_path("llama3_tiny")), {"nn::LlamaMLP("});
}

// The report of a run has the drawing that `show architecture` makes of its model, in the language of both.
TEST_F(Show, ArchitectureIsInReports) {
  const auto expect_drawn = [&](const std::string& run, const std::string& language) {
    SCOPED_TRACE(run + " " + language);
    successful(run_command(
        {"show", "architecture", "--model", folder / run, "--out", folder / "p", "--lang", language, "--quiet"}));
    const std::string shown = slurp(folder / "p/architecture.html"), report = slurp(folder / (run + "/report.html"));
    for (const std::string& drawing : pictures_in(shown)) {  // the whole, and its stacks
      const std::size_t found = report.find(drawing);
      ASSERT_NE(found, std::string::npos) << drawing;
      EXPECT_LT(report.find("<details>"), found) << "it is not folded";
      EXPECT_LT(found, report.find("</details>"));
    }
    EXPECT_EQ(faults_of_page(shown), Faults());
    EXPECT_EQ(faults_of_page(report), Faults());
  };
  for (const char* attention : {"full", "window", "linformer", "performer", "reformer"}) {
    trained(folder, "copy", {"--attention", attention, "--lang", "ko"});
    expect_drawn("copy", "ko");
  }
  trained(folder, "parser");
  expect_drawn("parser", "en");
  for (const char* language : {"ko", "en"}) {
    trained(folder, "gpt", {"--n-layers", "2", "--lang", language});
    expect_drawn("gpt", language);
  }
  successful(run_command({"train", "gpt", "--from", data_path("llama3_tiny"), "--text", folder / "text.txt",
                          "--max-steps", "1", "--no-progress", "--out", folder / "llama"}));
  expect_drawn("llama", "en");
  EXPECT_NE(slurp(folder / "llama/report.html").find("nn::LlamaMLP("), std::string::npos);
}

TEST_F(Show, ArchitectureOfNothing) {
  spill(folder / "text.txt", "no model");
  expect_errors("tasks/errors/runs.txt", "show architecture", folder);
}

// "attn_ln", "attn", "+ attn_ln": the parts of a stack in order; a sum with the part whose input it adds.
std::vector<std::string> titles_of(const Stack& stack, std::size_t first = 0, std::size_t last = 1000) {
  std::vector<std::string> titles;
  for (std::size_t i = first; i < std::min(stack.parts.size(), last + 1); ++i) {
    const drawing::FlowStep& step = stack.parts[i].step;
    titles.push_back(step.adds ? "+ " + stack.parts[*step.adds].step.title : step.title);
  }
  return titles;
}
using Titles = std::vector<std::string>;

TEST(OwnModels, WhisperHasAnEncoderAndADecoder) {
  manual_seed(1);
  own_models::Whisper model;
  const Tensor mel = randn({1, 40, 100}), tokens = tensor({{1, 2, 3, 4}});
  const nn::Watched seen = nn::watch(model, [&] { return model(mel, tokens); });
  const Architecture found = architecture_of(seen, "Whisper", {mel, tokens});
  expect_drawn(found, nn::count_parameters(model));
  nn::eval(model);
  EXPECT_TRUE(equal(found.result, model(mel, tokens)));
  ASSERT_EQ(found.stacks.size(), 2U);
  const Stack &encoder = found.stacks[0], &decoder = found.stacks[1];
  EXPECT_EQ(encoder.name, "Encoder");
  EXPECT_EQ(encoder.input_shape, "[1, 40, 100]");
  EXPECT_EQ(titles_of(encoder), (Titles{"conv1", "gelu", "conv2", "gelu", "add", "Layer norm", "attn", "+ Layer norm",
                                        "Layer norm", "mlp", "+ Layer norm", "Layer norm"}));
  ASSERT_EQ(encoder.layers.size(), 1U);
  EXPECT_EQ(encoder.layers[0].times, 2);
  EXPECT_EQ(encoder.parts[2].step.code[0], "nn::Conv1d(64, 64, 3, {.stride = 2, .padding = 1})");
  EXPECT_EQ(encoder.parts[6].step.code[0], "MultiHeadAttention{.n_state = 64, .n_head = 4}");
  EXPECT_EQ(encoder.parts[6].step.output, "[1, 50, 64]");
  EXPECT_EQ(titles_of(decoder),
            (Titles{"Token embedding", "add", "Layer norm", "attn", "+ Layer norm", "Layer norm", "cross_attn",
                    "+ Layer norm", "Layer norm", "mlp", "+ Layer norm", "Layer norm", "matmul"}));
  EXPECT_EQ(decoder.parts[1].count, 24 * 64) << "the positions are a parameter of the decoder";
  EXPECT_EQ(decoder.parts[6].step.reads, 0U);
  EXPECT_EQ(decoder.parts.back().step.output, "[1, 4, 120]");
}

TEST(OwnModels, DetrIsOneStack) {
  manual_seed(1);
  own_models::DETR model{6, 12};
  const Tensor image = randn({2, 3, 32, 32}), mask = zeros({2, 32, 32}, kBool);
  const nn::Watched seen = nn::watch(model, [&] { return model(image, mask); });
  EXPECT_FALSE(seen.result.defined()) << "a pair";
  const Architecture found = architecture_of(seen, "DETR", {image});
  expect_drawn(found, nn::count_parameters(model));
  ASSERT_EQ(found.stacks.size(), 1U);
  const Stack& stack = found.stacks[0];
  EXPECT_EQ(titles_of(stack, 0, 6), (Titles{"Conv2d", "ReLU", "Conv2d", "ReLU", "Conv2d", "ReLU", "input_proj"}));
  const std::vector<std::string> all = titles_of(stack);
  EXPECT_EQ(std::count(all.begin(), all.end(), "self_attn"), 4)
      << "layers that begin with different sums are drawn one by one";
  EXPECT_EQ(std::count(all.begin(), all.end(), "+ linear1"), 4);
}

TEST(OwnModels, AMixtureOfExpertsIsOnePart) {
  manual_seed(1);
  own_models::MoEGPT model{100, 32, 64, 2, 4, 96, 8, 2};
  tie(model.wte.weight, model.lm_head.weight);
  const Tensor ids = tensor({{1, 2, 3, 4, 5}});
  const nn::Watched seen = nn::watch(model, [&] { return model(ids); });
  const Architecture found = architecture_of(seen, "MoE", {ids});
  expect_drawn(found, nn::count_parameters(model));
  const Stack& stack = found.stacks.at(0);
  const auto moe =
      std::find_if(stack.parts.begin(), stack.parts.end(), [](const Part& part) { return part.step.title == "moe"; });
  ASSERT_NE(moe, stack.parts.end());
  EXPECT_EQ(moe->step.code[0], "MoE{.d = 64, .hidden = 96, .n = 8, .k = 2}");
  EXPECT_EQ(moe->all, 2 * nn::count_parameters(model.h[0].moe));
  EXPECT_EQ(moe->step.output, "[1, 5, 64]");
  EXPECT_EQ((moe + 1)->step.code[0], "x + y");
  EXPECT_EQ(stack.parts.back().step.output, "[1, 5, 100]");
}

}  // namespace
}  // namespace tapegrad::tasks::architecture
