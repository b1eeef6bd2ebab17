// Draws expressions, and makes batches and test sets of them.
#include <fmt/format.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/nn/loss.h>
#include <tapegrad/tasks/seq2seq/parser/parser.h>
#include <tapegrad/train/data/collate.h>

#include <algorithm>

namespace tapegrad::tasks {
namespace {

using T = ExpressionTokens;

TreeForm form_of(const RunOptions& o) { return o.config.vocab_size < T::kCount ? TreeForm::flat : TreeForm::brackets; }

// Tokens of the longest expression or tree.
int64_t most_tokens(const RunOptions& o) {
  const auto depth = static_cast<int>(o.of<ParserTask>().depth);
  return std::max(longest_expression(depth), longest_tree(depth, form_of(o)));
}

struct FlatDraw {
  int64_t variable, left, op, right;  // from 0
};
FlatDraw draw_flat(NumpyRandom& stream) {
  FlatDraw out{};
  out.variable = stream.choice_index(3);
  out.left = stream.randint(0, 10);
  out.op = stream.choice_index(4);
  out.right = stream.randint(0, 10);
  return out;
}

Tree flat_tree(const FlatDraw& d) {
  Tree op{T::kAdd + d.op, {{T::kDigit + d.left, {}}, {T::kDigit + d.right, {}}}};
  return {T::kAssign, {{T::kVariable + d.variable, {}}, std::move(op)}};
}

Tree draw_operator(NumpyRandom& stream, int depth) {
  Tree op{T::kAdd + stream.choice_index(4), {}};
  for (int side = 0; side < 2; ++side) {
    if (depth > 1 && stream.randint(0, 2) == 1)
      op.children.push_back(draw_operator(stream, depth - 1));
    else
      op.children.push_back({T::kDigit + stream.randint(0, 10), {}});
  }
  return op;
}

// Rows of different lengths as a matrix, padded with zeros.
Tensor padded(const std::vector<Tokens>& rows, int64_t least) {
  const Tensor values = data::pad(std::span<const Tokens>(rows)).values;
  return pad(values, {0, std::max<int64_t>(0, least - values.size(1))});
}

std::vector<Tree> draw_trees(int64_t count, NumpyRandom& stream, int depth) {
  std::vector<Tree> trees;
  for (int64_t i = 0; i < count; ++i) trees.push_back(draw_expression(stream, depth));
  return trees;
}

// Trees of similar size, to reduce padding: draws the trees of kPool batches, sorts them by size, and returns a random
// batch.
std::vector<Tree> draw_like_trees(int64_t count, NumpyRandom& stream, int depth) {
  constexpr int64_t kPool = 8;
  std::vector<std::pair<int64_t, Tree>> pool;  // with their sizes
  for (Tree& tree : draw_trees(kPool * count, stream, depth)) {
    const int64_t size = count_nodes(tree);
    pool.emplace_back(size, std::move(tree));
  }
  std::ranges::stable_sort(pool, {}, &std::pair<int64_t, Tree>::first);
  const auto first = static_cast<std::size_t>(stream.randint(0, kPool) * count);
  std::vector<Tree> out;
  for (auto& [size, tree] : std::span(pool).subspan(first, static_cast<std::size_t>(count)))
    out.push_back(std::move(tree));
  return out;
}

}  // namespace

const TaskInfo ParserTask::kInfo = info_of<ParserTask>();

void ParserTask::Settings::list(Fields& f) {
  Options in_data(f, Group::data);
  in_data("depth", "nesting depth of operators; above 1: nested expressions, and trees with brackets", depth,
          {.least = 1, .most = kDeepest});
  constexpr Limits kSeeds{.least = -1, .most = 0xffffffff};  // above 0: what NumPy accepts
  in_data("data-seed", "seed of NumPy's random numbers, which make the expressions", data_seed, kSeeds)
      .special("-1: the value of --seed");
  in_data("max-tokens", "pad expressions and trees to N tokens; expressions of depth 1 have 5, as in the tutorial",
          max_tokens, kCountOrNone)
      .special("0: the longest of a batch");
}

RunOptions ParserTask::defaults() {
  RunOptions o(kInfo, Settings{});
  o.config.vocab_size = T::kFlatCount;
  o.config.hidden_size = 128;
  o.config.num_hidden_layers = 3;
  o.config.num_attention_heads = 4;
  o.config.intermediate_size = 512;
  o.num_epochs = 6;
  o.steps_per_epoch = 100;
  o.batch_size = 64;
  return o;
}

int64_t ParserTask::longest(const RunOptions& options) {
  return std::max(most_tokens(options), options.of<ParserTask>().max_tokens);
}

void ParserTask::check(const RunOptions& o) {
  const auto& [depth, data_seed, padded_to] = o.of<ParserTask>();
  const int64_t tokens = o.config.vocab_size, positions = o.config.max_position_embeddings, least = most_tokens(o);
  const bool flat = form_of(o) == TreeForm::flat;
  require(tokens >= T::kFlatCount, "--vocab-size", "expected at least {}, the tokens of expressions, got {}",
          T::kFlatCount, tokens);
  require(depth == 1 || !flat, "--depth",
          "expected a --vocab-size of at least {1} for depth {0}, which has brackets, got {2}", depth, T::kCount,
          tokens);
  require(padded_to == 0 || padded_to >= least, "--max-tokens", "--depth {} makes sequences of {} tokens, got {}",
          depth, least, padded_to);
  require(padded_to <= least || !flat, "--max-tokens", "trees without brackets are not padded: expected {}, got {}",
          least, padded_to);
  require(positions == 0 || o.model().longest_input() >= longest(o), "--depth",
          "{} makes sequences of {} tokens, longer than --max-position-embeddings {}", depth, longest(o), positions);
}

void ParserTask::adapt(RunOptions& o, const Given& given) {
  if (o.of<ParserTask>().depth <= 1) return;
  const auto otherwise = [&](std::string_view name, auto& setting, auto value) {
    if (!contains(given, name)) setting = value;
  };
  otherwise("vocab-size", o.config.vocab_size, T::kCount);
  otherwise("dropout", o.config.dropout_prob, 0.0);
  otherwise("num-epochs", o.num_epochs, int64_t{40});
  otherwise("lr", o.lr, 1e-3);
  otherwise("schedule", o.schedule, "warmup-cosine");
  otherwise("warmup", o.warmup, int64_t{200});
}

ParserTask::ParserTask(const RunOptions& o)
    : depth_(static_cast<int>(o.of<ParserTask>().depth)),
      form_(form_of(o)),
      deepest_(form_ == TreeForm::brackets && o.endless() ? static_cast<int>(kDeepest) : depth_),
      max_tokens_(o.of<ParserTask>().max_tokens),
      data_seed_(static_cast<uint32_t>(o.of<ParserTask>().data_seed < 0 ? static_cast<int64_t>(o.seed)
                                                                        : o.of<ParserTask>().data_seed)),
      batches_(o.total_steps() * o.accumulate),
      batch_size_(o.batch_size),
      stream_(data_seed_) {}

Batch ParserTask::draw(int64_t count, Generator& generator) const {
  NumpyRandom stream(generator.random32());
  return batch_of(draw_trees(count, stream, depth_));
}

std::vector<Tree> ParserTask::training_trees(NumpyRandom& stream, int64_t count) const {
  return form_ == TreeForm::flat ? draw_trees(count, stream, 1) : draw_like_trees(count, stream, depth_);
}

Batch ParserTask::draw_training(int64_t count, Generator&) { return batch_of(training_trees(stream_, count)); }

std::vector<std::string> ParserTask::training_expressions() const {
  NumpyRandom stream(data_seed_);
  std::vector<std::string> texts;
  for (int64_t batch = 1; batch <= batches_; ++batch) {
    for (const Tree& tree : training_trees(stream, batch_size_)) texts.push_back(expression_text(tree));
    if (batch % 1024 != 0 && batch < batches_) continue;
    std::ranges::sort(texts);
    texts.erase(std::unique(texts.begin(), texts.end()), texts.end());
  }
  return texts;
}

TestSet ParserTask::test_set(int64_t count, Generator& generator) const {
  std::vector<Tree> trees;
  std::string what;
  if (form_ == TreeForm::flat) {
    trees = every_flat_expression();
    what = "All 1200 expressions";
    if (count < static_cast<int64_t>(trees.size())) {
      std::vector<int64_t> order(trees.size());
      generator.randperm(order.data(), static_cast<int64_t>(order.size()));
      std::vector<Tree> some;
      for (int64_t i = 0; i < count; ++i) some.push_back(trees[static_cast<std::size_t>(order[i])]);
      trees = std::move(some);
      what = fmt::format("{} of the 1200 expressions", count);
    }
    return {batch_of(trees), what};
  }
  const std::vector<std::string> seen = training_expressions();
  NumpyRandom stream(generator.random32());
  for (int64_t tried = 0; static_cast<int64_t>(trees.size()) < count; ++tried) {
    if (tried > 100 * count + 10'000)
      bad_request("--count", "there are fewer than {} expressions that training has not sampled", count);
    Tree tree = draw_expression(stream, depth_);
    if (!std::ranges::binary_search(seen, expression_text(tree))) trees.push_back(std::move(tree));
  }
  // Expressions that are decoded together have the same length.
  std::ranges::stable_sort(trees, {}, count_nodes);
  return {batch_of(trees, 0, longest_tree(depth_, form_)),
          fmt::format("{} expressions up to depth {} that training has not sampled", count, depth_)};
}

Batch ParserTask::read_expression(std::string_view text) const {
  const Tree tree = parse_expression(text);
  const int depth = operator_depth(tree);
  if (depth > deepest_)
    bad_request("--expression", "{}: its operators have the nesting depth {}, the model was trained with --depth {}",
                expression_text(tree), depth, depth_);
  return batch_of({&tree, 1}, 0, longest_tree(std::max(depth, depth_), form_));
}

Batch ParserTask::batch_of(std::span<const Tree> trees, int64_t source, int64_t target) const {
  std::vector<Tokens> sources, targets;
  for (const Tree& tree : trees) {
    sources.push_back(expression_tokens(tree));
    targets.push_back(linearise(tree, form_));
  }
  return {padded(sources, std::max(source, max_tokens_)), padded(targets, std::max(target, max_tokens_))};
}

Tensor ParserTask::loss(const Tensor& outputs, const Tensor& target) const {
  if (form_ == TreeForm::flat) return nn::sequence_loss(outputs, target);
  return nll_loss(outputs, target, {.reduction = Reduction::sum, .ignore_index = T::kPadding}) /
         static_cast<double>(outputs.size(0));
}

std::optional<int64_t> ParserTask::padding() const {
  if (form_ == TreeForm::flat) return {};
  return T::kPadding;
}

// A tree with brackets ends at the bracket that closes its first one; without an opening bracket it ends at once.
bool ParserTask::ends_answer(std::span<const int64_t> tokens) const {
  if (form_ == TreeForm::flat) return false;
  return std::ranges::count(tokens, T::kOpenTree) <= std::ranges::count(tokens, T::kCloseTree);
}

Tree draw_expression(NumpyRandom& stream, int depth) {
  if (depth == 1) return flat_tree(draw_flat(stream));
  Tree variable{T::kVariable + stream.choice_index(3), {}};
  return {T::kAssign, {std::move(variable), draw_operator(stream, depth)}};
}

std::vector<Tree> every_flat_expression() {
  std::vector<Tree> all;
  for (int64_t i = 0; i < 1200; ++i) all.push_back(flat_tree({i / 400, i / 40 % 10, i / 10 % 4, i % 10}));
  return all;
}

}  // namespace tapegrad::tasks
