// The list of topics, and their files.
#include <fmt/format.h>
#include <tapegrad/tasks/language/messages.h>
#include <tapegrad/tasks/settings/bad_request.h>
#include <tapegrad/tasks/settings/output.h>
#include <tapegrad/train.h>
#include <tapegrad/tutorials/show/show.h>
#include <tapegrad/tutorials/widgets/widget.h>

#include <cmath>
#include <limits>

namespace tapegrad::tasks {

namespace fs = std::filesystem;
namespace {

constexpr std::string_view kSentences[] = {"time-flies", "journey"};

// A number from `least` to `most`, which the help names.
constexpr Setting between(std::string_view help, double least, double most, std::string_view otherwise = {}) {
  return {.help = help, .limits = {.least = least, .most = most}, .otherwise = otherwise};
}

constexpr Topic kTopics[] = {
    {.name = "causal-mask",
     .help = "a token never attends to later tokens (tutorial 003, 8.2.5)",
     .make = tutorial::show_causal_mask,
     .length = between("number of tokens, from 1 to 64, of a random example", 1, 64),
     .seed = {.help = "random seed of a random example"}},
    {.name = "padding-mask",
     .help = "padding tokens are masked out (8.2.5)",
     .make = tutorial::show_padding_mask,
     .length = between("number of tokens, from 1 to 64, of random sentences", 1, 64),
     .seed = {.help = "random seed of random sentences"}},
    {.name = "padded-attention",
     .help = "a mask that hides queries by mistake, next to one that hides keys (tutorial 002)",
     .make = tutorial::show_padded_attention,
     .length = between("number of tokens, from 2 to 10, a third of them padding", 2, 10, "6"),
     .seed = {.help = "random seed of queries and keys", .otherwise = "0"}},
    {.name = "positional-encoding",
     .help = "position indices, and sines and cosines of many wavelengths (8.3.1, 8.3.2)",
     .make = tutorial::show_positional_encoding,
     .length = between("number of positions to plot, from 2 to 1000", 2, 1000, "100"),
     .dim = between("width of the model, a multiple of 4 from 16 to 4096", 16, 4096, "512")},
    {.name = "layer-norm",
     .help = "normalise each token, then scale and shift it (8.4.1)",
     .make = tutorial::show_layer_norm,
     .length = between("tokens per sequence, from 1 to 32", 1, 32, "5"),
     .dim = between("features per token, from 2 to 16", 2, 16, "6"),
     .seed = {.help = "NumPy's random seed of data, scale and shift", .otherwise = "42"}},
    {.name = "attention-steps",
     .help = "from word vectors to contextual vectors, step by step (8.2.1, 8.2.2; tutorial 004)",
     .make = tutorial::show_attention_steps,
     .example = {.help = "time-flies: five words without weights (8.2.1, 8.2.2); journey: six words with random "
                         "weights, causal mask and dropout (tutorial 004)",
                 .choices = kSentences}},
    {.name = "attention-cost",
     .help = "measured time and memory of a layer for 512 to 65,536 tokens, with every form of attention (8.2.3)",
     .make = show_attention_cost,
     .length = between("longest input, at least 1024", 1024, 1048576, "65536"),
     .dim = between("width of the layer, a multiple of 64 up to 4096", 64, 4096, "512"),
     .threads = true},
    {.name = "attention-accuracy",
     .help =
         "measured accuracy of every form of attention on a copy and a search task, after equal training time (8.2.3)",
     .make = show_attention_accuracy,
     .length = between("number of tokens, a multiple of 32 from 32 to 16384", 32, 16384, "1024"),
     .seed = {.help = "random seed of models and data", .otherwise = "0"},
     .seconds = {.help = "seconds of processor time for each form and task, at most 86400",
                 .limits = {.least = 0, .most = 86400, .open_below = true},
                 .otherwise = "60"},
     .threads = true},
    {.name = "performer-error",
     .help = "measured error of Performer's attention against its number of random features (8.2.3)",
     .make = show_performer_error,
     .dim = between("size of a head, from 2 to 256", 2, 256, "64"),
     .seed = {.help = "random seed", .otherwise = "0"},
     .threads = true},
    {.name = "gpt-cost",
     .help = "time and memory of a GPT's training step for 64 to 16,384 tokens and 1 to 64 sequences, measured",
     .make = show_gpt_cost,
     .length = between("maximum number of tokens of a step, from 128 to 262144", 128, 262144, "16384"),
     .dim = between("width of the model, a multiple of 64 up to 4096", 64, 4096, "256"),
     .threads = true},
    {.name = "mask-leak",
     .help = "training with and without the causal mask: the loss, and the text that each model writes (8.2.5)",
     .make = show_mask_leak,
     .length = between("number of tokens, from 4 to 512", 4, 512, "32"),
     .seed = {.help = "random seed of models and data", .otherwise = "0"},
     .steps = between("steps of training, from 1 to 100000", 1, 100000, "400"),
     .threads = true},
    {.name = "order-blindness",
     .help = "two sentences of the same words in another order, without positions and with each kind (tutorial 001)",
     .make = show_order_blindness,
     .dim = between("width of the model, a multiple of 8 from 8 to 512", 8, 512, "32"),
     .seed = {.help = "random seed of the models", .otherwise = "0"}},
    {.name = "relative-positions",
     .help = "T5's bias as in the tutorial and as in the paper, and multiplication by Toeplitz matrices (8.3.2)",
     .make = show_relative_positions,
     .length = between("largest Toeplitz matrix, from 32 to 8192 rows", 32, 8192, "2048"),
     .dim = between("size of a head, from 1 to 64", 1, 64, "16"),
     .seed = {.help = "random seed", .otherwise = "0"}},
    {.name = "recurrent-lengths",
     .help = "accuracy by length of a recurrent network, the same with attention, and a Transformer (8.1, 8.2.1)",
     .make = show_recurrent_lengths,
     .length = between("longest sequence, from 2 to 1000", 2, 1000, "200"),
     .seed = {.help = "random seed of models and data", .otherwise = "0"},
     .steps = between("steps of training for each model, from 1 to 100000", 1, 100000, "600"),
     .threads = true},
    {.name = "hopfield",
     .help = "attention as a Hopfield network: the differential equation, solved, and the energy (8.2.3)",
     .make = show_hopfield,
     .length = between("number of states, from 2 to 64", 2, 64, "8"),
     .dim = between("width of a state, from 2 to 256", 2, 256, "16"),
     .seed = {.help = "random seed", .otherwise = "0"}},
    {.name = "depth",
     .help = "tokens and gradients after 2 to 24 random layers: Pre-LN, Post-LN, attention alone (8.2.3, 8.4)",
     .make = show_depth,
     .length = between("number of tokens, from 2 to 256", 2, 256, "32"),
     .dim = between("width of the model, a multiple of 8 from 8 to 512", 8, 512, "64"),
     .seed = {.help = "random seed", .otherwise = "0"}},
    {.name = "head-roles",
     .help = "a small GPT learns to copy: the tokens that each head attends to during training (8.2.4)",
     .make = show_head_roles,
     .length = between("number of symbols, from 4 to 32", 4, 32, "8"),
     .seed = {.help = "random seed of the model and the data", .otherwise = "0"},
     .steps = between("steps of training, from 1 to 100000", 1, 100000, "400"),
     .threads = true},
    {.name = "architecture",
     .help = "a model part by part: shapes, parameters, and the C++ of each part (8.4; tutorial 000)",
     .make = show_architecture,
     .model = {.help = "model.safetensors of a run, its folder, or a Hugging Face folder with GPT-2 or Llama",
               .type = "FILE_OR_DIR",
               .otherwise = "an untrained Transformer of the copy task"}},
};

const Topic& topic_named(std::string_view name) {
  for (const Topic& topic : kTopics)
    if (topic.name == name) return topic;
  fail("show", fmt::format("unknown topic \"{}\"", name));
}

std::string html_of(const Exhibit& exhibit) {
  std::string body = fmt::format("<h1>{}</h1>\n<div class=\"maps\">\n", drawing::escape_markup(exhibit.title));
  if (exhibit.whole.body.empty()) {
    for (const drawing::Drawing& drawing : exhibit.drawings) drawing::card(body, drawing);
  } else {
    drawing::card(body, exhibit.whole, exhibit.drawings);
  }
  body += fmt::format("</div>\n<h2>{}</h2>\n{}", said("Step by step"), exhibit.text.html());
  return drawing::page(fmt::format("tapegrad: {}", exhibit.title), body,
                       {.language = code_of(language_of_locale()), .style = tutorial::widget_style()});
}

}  // namespace

std::span<const Topic> topics() { return kTopics; }

void ShowRequest::list(Fields& f) {
  const Topic& of = topic_named(topic);
  const auto add = [&f](std::string_view name, Setting setting, auto& value) {
    setting.name = name;
    if (!setting.help.empty()) f.add(setting, value);
  };
  add("length", of.length, length);
  add("dim", of.dim, dim);
  add("seed", of.seed, seed);
  add("seconds", of.seconds, seconds);
  add("steps", of.steps, steps);
  add("example", of.example, example);
  add("model", of.model, model);
  f.add({.name = "out", .help = "folder for the plots", .type = "DIR"}, out);
  f.add("quiet", "write the plots, and print no tables", quiet);
}

double log_slope(std::span<const double> x, std::span<const double> y, double first) {
  double n = 0, sx = 0, sy = 0, sxx = 0, sxy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double a = std::log(x[i]), b = std::log(y[i]);
    if (x[i] < first || !std::isfinite(a) || !std::isfinite(b)) continue;
    ++n, sx += a, sy += b, sxx += a * a, sxy += a * b;
  }
  return n < 2 ? std::numeric_limits<double>::quiet_NaN() : (n * sxy - sx * sy) / (n * sxx - sx * sx);
}

std::string fixed_or_dash(double value, int digits) {
  return std::isfinite(value) ? drawing::fixed(value, digits) : "-";
}

int show(const ShowRequest& request) {
  const Topic& topic = topic_named(request.topic);
  const Exhibit exhibit = topic.make(request);
  const std::string name = request.topic + (topic.example.help.empty() ? "" : "-" + request.example);

  const fs::path folder(request.out);
  as_bad_request("--out", [&] { train::create_folder(folder); });
  const fs::path svg = folder / (name + ".svg"), html = folder / (name + ".html");
  train::replace_file(
      train::in_its_folder(svg),
      drawing::svg_file(exhibit.whole.body.empty() ? drawing::grid(exhibit.drawings, exhibit.columns) : exhibit.whole));
  train::replace_file(train::in_its_folder(html), html_of(exhibit));
  if (!request.quiet) print_text(fmt::format("=== {} ===\n\n{}\n", exhibit.title, exhibit.text.terminal()));
  print_text(said("Plots: {}, {}\n", svg.string(), html.string()));
  return 0;
}

}  // namespace tapegrad::tasks
