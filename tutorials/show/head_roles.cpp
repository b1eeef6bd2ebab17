// The topic head-roles (8.2.4): a small GPT learns to write symbols down again; during training, each head is
// classified by the tokens that get most of its attention weights.
#include <fmt/format.h>
#include <tapegrad/tapegrad.h>
#include <tapegrad/tasks/language/messages.h>
#include <tapegrad/train.h>
#include <tapegrad/tutorials/show/show.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

namespace tapegrad::tasks {
namespace head_roles {
namespace {

constexpr int64_t kSymbols = 32, kFirst = kSymbols, kSeparator = kSymbols + 1, kVocabulary = kSymbols + 2;
constexpr int64_t kLayers = 2, kHeads = 4, kWidth = 64, kBatch = 32, kTested = 64;
constexpr int64_t kParts = 16;                       // of the training; the charts have a point after each
constexpr int64_t kShownParts[] = {0, 2, 4, 8, 16};  // in the tables
constexpr double kMost = 0.5;                        // a head has a role if it gets more than this share

constexpr std::size_t kPrevious = 0, kSame = 1, kNext = 2, kRoles = 5;
constexpr std::array<std::string_view, kRoles> kNames = {translatable("previous"), translatable("same"),
                                                         translatable("next"), translatable("first"),
                                                         translatable("separator")};
using Shares = std::array<double, kRoles>;  // means over queries, from 0 to 1

// Texts [count, 2 + 2 length]: the first token, `length` different symbols, the separator, and the same symbols.
Tensor draw_texts(int64_t count, int64_t length, Generator& generator) {
  const Tensor begin = full({1}, kFirst, kInt64), separator = full({1}, kSeparator, kInt64);
  std::vector<Tensor> texts;
  for (int64_t i = 0; i < count; ++i) {
    const Tensor symbols = narrow(randperm(kSymbols, &generator), 0, 0, length);
    texts.push_back(cat({begin, symbols, separator, symbols}, 0));
  }
  return stack(texts, 0);
}

// The share of each role in a head's weights [T, T], a mean over the queries at positions from `begin` to before `end`.
// `written` is the query's position minus that of the symbol to write; 0 while the symbols are read.
Shares shares_of(const std::vector<double>& weights, int64_t tokens, int64_t begin, int64_t end, int64_t written) {
  Shares shares{};
  for (int64_t query = begin; query < end; ++query) {
    const auto at = [&](int64_t key) { return weights[static_cast<std::size_t>(query * tokens + key)]; };
    shares[kPrevious] += at(query - 1);
    shares[kSame] += at(query);
    shares[3] += at(0);
    if (written == 0) continue;
    shares[kSame] += at(query - written - 1);
    shares[kNext] += at(query - written);
    shares[4] += at(written + 1);
  }
  for (double& share : shares) share /= static_cast<double>(end - begin);
  return shares;
}

// A head while the model reads the symbols, and while it writes them.
struct Head {
  std::string name;
  Shares reading, writing;
};

struct Point {
  int64_t step;
  double loss, accuracy;
  std::vector<Head> heads;
};

// The logits and targets of the symbols after the separator.
std::pair<Tensor, Tensor> written_part(const nn::GPTModel& model, const Tensor& text,
                                       nn::AttentionMaps* maps = nullptr) {
  const int64_t length = text.size(1) / 2 - 1;
  const Tensor logits = model(narrow(text, 1, 0, 2 * length + 1), nullptr, maps);
  return {narrow(logits, 1, length + 1, length), narrow(text, 1, length + 2, length)};
}

Point measure(nn::GPTModel& model, const Tensor& text, int64_t step) {
  const PauseRecording pause;
  const nn::EvalMode eval(model);
  nn::AttentionMaps maps;
  const auto part = written_part(model, text, &maps);
  Point point{.step = step,
              .loss = cross_entropy(part.first, part.second).item(),
              .accuracy = mean(eq(argmax(part.first, -1), part.second).to(kFloat64)).item(),
              .heads = {}};
  const int64_t length = text.size(1) / 2 - 1, tokens = 2 * length + 1;
  for (std::size_t layer = 0; layer < maps.size(); ++layer) {
    const Tensor weights = mean(maps[layer].tensor.to(kFloat64), {0});  // [H, T, T]
    for (int64_t head = 0; head < kHeads; ++head) {
      const std::vector<double> values = weights[head].to_vector<double>();
      point.heads.push_back({.name = fmt::format("{}.{}", layer, head),
                             .reading = shares_of(values, tokens, 2, length + 1, 0),
                             .writing = shares_of(values, tokens, length + 3, tokens, length)});
    }
  }
  return point;
}

std::vector<Point> train(int64_t length, int64_t steps, uint64_t seed) {
  manual_seed(seed);
  nn::GPTModel model({.vocab_size = kVocabulary,
                      .context_length = 2 * length + 2,
                      .emb_dim = kWidth,
                      .n_heads = kHeads,
                      .n_layers = kLayers,
                      .drop_rate = 0});
  optim::Adam adam(nn::parameters(model), {.lr = 2e-3});
  Generator texts(seed + 1), tests(seed + 2);
  train::StepCount source(steps);
  const auto loss = [&](int64_t) {
    const auto part = written_part(model, draw_texts(kBatch, length, texts));
    return train::BatchLoss{.loss = cross_entropy(part.first, part.second)};
  };
  train::Loop loop(model, adam, source, loss, {.clip_grad_norm = 1});
  const Tensor tested = draw_texts(kTested, length, tests);
  std::vector<Point> points{measure(model, tested, 0)};
  for (int64_t part = 1, step = 0; part <= kParts; ++part) {
    const int64_t due = steps * part / kParts;
    if (due == step) continue;
    for (; step < due; ++step) loop.step();
    points.push_back(measure(model, tested, step));
  }
  return points;
}

std::size_t role_of(const Shares& shares) {
  return static_cast<std::size_t>(std::max_element(shares.begin(), shares.end()) - shares.begin());
}
bool has_role(const Shares& shares) { return shares[role_of(shares)] > kMost; }

// The largest share, in percent, and its role.
std::string cell_of(const Shares& shares) {
  const std::size_t role = role_of(shares);
  return fmt::format("{} {:.0f}", said(has_role(shares) ? kNames[role] : translatable("mixed")), 100 * shares[role]);
}

std::vector<const Point*> points_of_tables(const std::vector<Point>& points) {
  std::vector<const Point*> out;
  const int64_t steps = points.back().step;
  for (const Point& point : points)
    if (std::any_of(std::begin(kShownParts), std::end(kShownParts),
                    [&](int64_t part) { return steps * part / kParts == point.step; }))
      out.push_back(&point);
  return out;
}

Table table_of(const std::vector<const Point*>& points) {
  Table out({-8, 14});
  out.row(said("step"));
  for (const Point* const point : points) out.add(point->step);
  return out;
}
Table table_of(const std::vector<const Point*>& points, Shares Head::*shares) {
  Table out = table_of(points);
  for (std::size_t i = 0; i < points.front()->heads.size(); ++i) {
    out.row(points.front()->heads[i].name);
    for (const Point* const point : points) out.add(cell_of(point->heads[i].*shares));
  }
  return out;
}

drawing::LineChart chart_of(std::string title, const std::vector<Point>& points, Shares Head::*shares,
                            std::size_t role) {
  drawing::LineChart chart{.title = std::move(title),
                           .x_label = said("step"),
                           .y_label = said("share of the weights"),
                           .y_low = 0,
                           .y_high = 1};
  std::vector<double> steps, accuracies;
  for (const Point& point : points) {
    steps.push_back(static_cast<double>(point.step));
    accuracies.push_back(point.accuracy);
  }
  for (std::size_t i = 0; i < points.front().heads.size(); ++i) {
    drawing::Series series{.name = points.front().heads[i].name, .x = steps};
    for (const Point& point : points) series.y.push_back((point.heads[i].*shares)[role]);
    chart.series.push_back(std::move(series));
  }
  chart.series.push_back(
      {.name = said("accuracy"), .x = steps, .y = accuracies, .mark = drawing::Series::Mark::dashes});
  return chart;
}

// What the numbers say.
std::string verdict(const std::vector<Point>& points) {
  std::string out;
  for (const bool reading : {true, false}) {
    const auto count = [shares = reading ? &Head::reading : &Head::writing](const Point& point) {
      return std::count_if(point.heads.begin(), point.heads.end(),
                           [&](const Head& head) { return has_role(head.*shares); });
    };
    const auto first = count(points.front()), last = count(points.back());
    const std::size_t heads = points.front().heads.size();
    out += reading
               ? said("While reading, {} of {} heads have a role at first, {} after training.\n", first, heads, last)
               : said("While writing, {} of {} heads have a role at first, {} after training.\n", first, heads, last);
  }
  const auto writes = [](const Point& point) {
    return std::find_if(point.heads.begin(), point.heads.end(),
                        [](const Head& head) { return head.writing[kNext] > kMost; });
  };
  const auto found = std::find_if(points.begin(), points.end(),
                                  [&](const Point& point) { return writes(point) != point.heads.end(); });
  if (found == points.end()) return out + said("No head looks mostly at the symbol that is to be written next.\n");
  const double before = found == points.begin() ? found->accuracy : (found - 1)->accuracy;
  out += said(
      "Head {} is the first that looks mostly at the symbol to be written next, at step {}: there the accuracy is "
      "{:.2f}, at the measurement before it {:.2f}, and at last {:.2f}.\n",
      writes(*found)->name, found->step, found->accuracy, before, points.back().accuracy);
  return drawing::wrapped(out);
}

}  // namespace
}  // namespace head_roles

Exhibit show_head_roles(const ShowRequest& request) {
  using namespace head_roles;
  const int64_t length = request.length.value_or(8), steps = request.steps.value_or(400);
  const std::vector<Point> points = train(length, steps, request.seed.value_or(0));
  const std::vector<const Point*> in_tables = points_of_tables(points);
  Exhibit exhibit{.title = said("What the heads of a small GPT do during training (8.2.4)"),
                  .text = told("head-roles-1", kLayers, kHeads, kWidth, length, kSymbols, steps, kBatch, kTested,
                               100 * head_roles::kMost),
                  .columns = 1};
  exhibit.text += said("Queries that read (head 1.0: head 0 of layer 1):\n");
  exhibit.text += table_of(in_tables, &Head::reading);
  exhibit.text += said("\nQueries that write:\n");
  exhibit.text += table_of(in_tables, &Head::writing);
  Table all = table_of(in_tables);
  for (const auto& [name, member] :
       {std::pair(said("loss"), &Point::loss), std::pair(said("accuracy"), &Point::accuracy)}) {
    all.row(name);
    for (const Point* const point : in_tables) all.add(drawing::fixed(point->*member, 3));
  }
  exhibit.text += "\n";
  exhibit.text += all;
  exhibit.text += "\n" + verdict(points);
  exhibit.drawings = {
      draw(chart_of(said("Writing: share of the symbol to write next, by head"), points, &Head::writing, kNext)),
      draw(chart_of(said("Reading: share of the token before, by head"), points, &Head::reading, kPrevious))};
  return exhibit;
}

}  // namespace tapegrad::tasks
