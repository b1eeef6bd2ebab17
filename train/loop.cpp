// Trains step by step, and saves and restores what decides the rest of the training.
#include <fmt/format.h>
#include <tapegrad/autograd/autocast.h>
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/limits.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/random.h>
#include <tapegrad/train/files/internal/shards.h>
#include <tapegrad/train/interrupts.h>
#include <tapegrad/train/loop.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <set>
#include <string_view>
#include <utility>

namespace tapegrad::train {
namespace {

// The weight of the epoch's steps, and what it is relative to (MeanOfGroups).
constexpr std::string_view kWeightName = "epoch.weight", kUnitName = "epoch.unit";
// The lowest validation loss after the last step of a run that was continued, which keep_best must not forget.
constexpr std::string_view kBestEndName = "epoch.best_end", kBestEndTrainingName = "epoch.best_end_training";

// What an optimiser trains must be in a model of the run: otherwise checkpoints would not have it.
void require_models(const std::vector<nn::NamedParameter>& models, const std::vector<optim::Optimizer*>& optimizers) {
  for (const optim::Optimizer* optimizer : optimizers) {
    for (const auto& [name, leaf] : optimizer->parameters()) {
      const auto is_leaf = [&given = leaf](const nn::NamedParameter& p) { return p.parameter.tensor().same(given); };
      if (std::ranges::any_of(models, is_leaf)) continue;
      fail("loop",
           "expected the models of all optimisers among the parts, got none that has \"{}\" of shape {} (checkpoints "
           "would not have it: parts.add(\"name\", model))",
           name, leaf.shape());
    }
  }
}

// After so many updates of the parameters.
[[noreturn]] void fail_not_finite(std::string_view what, int64_t updates) {
  const std::string_view hint = updates > 0
                                    ? "a smaller learning rate may help"
                                    : "no parameter has been updated yet: look at the data and the first values";
  fail("train", "{} not finite ({}; trap_nan names the operation)", what, hint);
}

bool same_names_and_shapes(const NamedTensors& a, const NamedTensors& b) {
  std::map<std::string_view, Shape> shapes;
  for (const NamedTensor& entry : a) shapes.emplace(entry.name, entry.tensor.shape());
  return a.size() == b.size() && std::ranges::all_of(b, [&](const NamedTensor& entry) {
           const auto found = shapes.find(entry.name);
           return found != shapes.end() && found->second == entry.tensor.shape();
         });
}

// Adds what the program saves. Error for a name of the loop's.
void add_own(Checkpoint& to, Checkpoint own) {
  const auto check = [](std::string_view name, bool taken) {
    for (const std::string_view prefix : {kModelPrefix, kAdamPrefix, std::string_view("epoch.")})
      taken = taken || name.starts_with(prefix);
    if (taken || name == "best_training" || name == kGeneratorName)
      fail("checkpoint", "expected a name other than the training loop's, got \"{}\"", name);
  };
  for (NamedTensor& entry : own.tensors) {
    check(entry.name, false);
    to.tensors.push_back(std::move(entry));
  }
  for (auto& [name, bytes] : own.bytes) {
    check(name, to.bytes.contains(name));
    to.bytes.emplace(name, std::move(bytes));
  }
  for (auto& [name, text] : own.fields) {
    check(name, to.fields.contains(name));
    to.fields.emplace(name, std::move(text));
  }
}

}  // namespace

void Loop::check_options() const {
  const LoopOptions& o = options_;
  constexpr std::string_view kWhere = "loop";
  require_in(kWhere, "epochs", o.epochs, kNotNegative);
  require_in(kWhere, "max_steps", o.max_steps, kNotNegative);
  require_in(kWhere, "accumulate", o.accumulate, {.least = 1});
  require_in(kWhere, "evaluate_every", o.evaluate_every, kNotNegative);
  require_in(kWhere, "patience", o.patience, kNotNegative);
  if (!(o.clip_grad_norm >= 0)) fail(kWhere, "expected clip_grad_norm >= 0 (0: no clipping), got {}", o.clip_grad_norm);
  if (o.evaluate_every > 0 && !o.evaluate) fail("loop", "evaluate_every is set, but evaluate is not");
  if (o.patience > 0 && o.evaluate_every == 0) fail("loop", "patience counts evaluations, but evaluate_every is 0");
  if (o.schedule) o.schedule->check();
  if (source_.size() < 1) fail("loop", "the source has no batches (is batch_size larger than the data?)");
  if (source_.step) check_own_step();
}

// What only a loop can do that has the loss.
void Loop::check_own_step() const {
  const LoopOptions& o = options_;
  if (optimizers_.empty()) fail("loop", "expected at least one optimiser among the parts, got none");
  if (!o.save) require_models(nn::named_parameters(std::as_const(*parts_)), optimizers_);
  for (const auto& [is_set, name] : {std::pair(o.accumulate != 1, "accumulate"),
                                     {o.clip_grad_norm != 0, "clip_grad_norm"},
                                     {!o.transforms.empty(), "transforms"},
                                     {o.dtype != kFloat32, "dtype"},
                                     {o.schedule.has_value(), "schedule"},
                                     {o.world && o.world->size() > 1, "a world of several processes"}}) {
    if (is_set)
      fail("loop", "{} is for a loop with a function from a batch to a loss, not for one with your own step", name);
  }
}

int64_t Loop::steps_per_epoch() const {
  const int64_t batches = source_.size();
  return batches / options_.accumulate + (batches % options_.accumulate != 0 ? 1 : 0);
}

int64_t Loop::total_steps() const {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  const int64_t each = steps_per_epoch();
  const int64_t all = options_.epochs > kMost / each ? kMost : options_.epochs * each;
  return options_.max_steps > 0 ? std::min(all, options_.max_steps) : all;
}

int64_t gradients_at_once(int64_t accumulate, bool transforms, int64_t processes) {
  return distributed::gradients_at_once(
      {.accumulate = accumulate, .clip_grad_norm = transforms ? 1.0 : 0, .update_in_backward = true}, processes);
}

void Loop::begin() {
  nn::require_whole_visit(model_);
  nn::train(model_);
  check_options();
  if (!options_.world) distributed::World::note_separate_runs();
  const distributed::World& world = options_.world ? *options_.world : distributed::World::alone();
  parallel_ = std::make_unique<distributed::DataParallel>(
      world, *optimizers_.front(),
      distributed::DataParallelOptions{.accumulate = options_.accumulate,
                                       .clip_grad_norm = options_.clip_grad_norm,
                                       .transforms = options_.transforms,
                                       .wire = options_.wire,
                                       .update_in_backward = true});
  world.require_equal("loop", "options",
                      fmt::format("epochs {}\nmax_steps {}\nevaluate_every {}\npatience {}\ndtype {}\nbatches {}\n",
                                  options_.epochs, options_.max_steps, options_.evaluate_every, options_.patience,
                                  name(options_.dtype), source_.size()));
}

// The means over the terms of all batches. Error if they have none.
void Loop::add_up(const std::vector<Figures>& figures, StepMetrics& metrics) {
  std::vector<double> terms;
  for (const Figures& one : figures) terms.push_back(one.terms);
  const distributed::BatchWeights weights(terms);
  metrics.accuracy = 0;
  for (std::size_t i = 0; i < figures.size(); ++i) {
    const Figures& one = figures[i];
    metrics.tokens += static_cast<int64_t>(one.tokens);
    metrics.terms += one.terms;
    if (one.terms == 0) continue;
    const double share = weights[static_cast<int64_t>(i)] / weights.sum();
    metrics.loss += share * one.loss;
    metrics.accuracy += share * one.accuracy;
  }
}

void Loop::next_batch(bool first) {
  source_.next();
  ++batch_;
  if (first && options_.begin_step) options_.begin_step();
}

// The loss of the batch that was read last.
BatchLoss Loop::forward(Tape& tape, int64_t step) const {
  if (trap_nan_) tape.trap_nan();
  const Autocast autocast(options_.dtype);
  const int64_t updates = optimizers_.front()->steps();
  BatchLoss found = source_.loss();
  if (optimizers_.front()->steps() != updates)
    fail("loop",
         "the function from a batch to a loss has called step() of the optimiser, which the loop does (return the loss "
         "alone, or give the loop Parts and your own step)");
  if (found.loss.numel() != 1)
    fail("train", "expected a loss of one element, got shape {} (mean(loss) or sum(loss))", found.loss.shape());
  if (!std::isfinite(found.loss.item()) && found.terms != 0)
    fail_not_finite(fmt::format("the loss of step {} is", step), step - 1);
  return found;
}

void Loop::own_step(StepMetrics& metrics) {
  if (trap_nan_) fail("loop", "your own step has its own tapes: call trap_nan() of each instead of setting it here");
  next_batch(true);
  StepResult found = source_.step();
  std::set<std::string_view> names;
  for (const Figure& one : found.figures)
    if (!names.insert(one.name).second)
      fail("loop", "expected metrics with different names, got \"{}\" twice", one.name);
  if (!std::isfinite(found.loss))
    fail_not_finite(fmt::format("the loss of step {} is", metrics.step), metrics.step - 1);
  metrics.loss = found.loss;
  metrics.accuracy = found.accuracy;
  metrics.tokens = found.tokens;
  metrics.terms = found.terms;
  metrics.figures = std::move(found.figures);
}

// A step: forward, backward, update. Every process reads all batches, so that all draw the same random numbers, and
// computes its own.
void Loop::loss_step(StepMetrics& metrics) {
  const int64_t batches = std::min(options_.accumulate, source_.size() - batch_);
  parallel_->begin_step(batches);
  std::vector<Figures> figures(static_cast<std::size_t>(batches));
  for (int64_t i = 0; i < batches; ++i) {
    next_batch(i == 0);
    if (!parallel_->is_mine(i)) continue;
    std::optional<distributed::BatchDraws> draws;
    if (options_.accumulate > 1) draws.emplace(steps_, i);
    Tape tape;
    const BatchLoss found = forward(tape, metrics.step);
    figures[static_cast<std::size_t>(i)] = {found.loss.item(), found.accuracy, static_cast<double>(found.tokens),
                                            found.terms};
    parallel_->backward(tape, found.loss, found.terms);
  }
  if (parallel_->world().size() > 1) exchange(figures, metrics.step);
  add_up(figures, metrics);
  parallel_->update();
}

// Every process receives the figures of all batches, and hears whether one was interrupted. Error if their generators
// differ: then they would not train on the same data.
void Loop::exchange(std::vector<Figures>& figures, int64_t step) {
  const distributed::World& world = parallel_->world();
  uint64_t hash = 0;
  for (const std::byte byte : default_generator().state()) hash = (hash ^ static_cast<uint64_t>(byte)) * 0x100000001b3;
  const auto state = static_cast<int64_t>(hash >> 1);
  const std::vector<int64_t> said{state, -state, CatchInterrupts::interrupted(), is_writing_};
  const auto most = world.all_reduce(tensor(said, {4}), distributed::Reduce::max).to_vector<int64_t>();
  if (most[0] != -most[1]) {
    const auto all = world.all_gather(tensor(said, {4}).slice(0, 0, 1)).to_vector<int64_t>();
    const auto other = std::ranges::find_if(all, [&](int64_t one) { return one != all[0]; });
    fail("train",
         "expected the same random numbers in every process, but the default generators of ranks 0 and {} differ in "
         "step {} (seed all processes alike, or sample from your own generator)",
         other - all.begin(), step);
  }
  interrupted_ = most[2] != 0;
  is_writing_ = most[3] != 0;
  std::vector<double> own;
  for (std::size_t i = 0; i < figures.size(); ++i)
    if (const Figures& one = figures[i]; parallel_->is_mine(static_cast<int64_t>(i)))
      own.insert(own.end(), {one.loss, one.accuracy, one.tokens, one.terms});
  const std::vector<double> all = parallel_->gather(own, 4);
  for (std::size_t i = 0; i < figures.size(); ++i)
    figures[i] = {all[4 * i], all[4 * i + 1], all[4 * i + 2], all[4 * i + 3]};
}

BatchLoss Loop::next_loss(Tape& tape) {
  if (source_.step) fail("loop", "your own step has its own tapes: look at them instead of next_loss()");
  failed_ = true;
  next_batch(true);
  return forward(tape, steps_ + 1);
}

std::function<Tensor()> Loop::loss_of_next_batch() {
  if (source_.step) fail("loop", "your own step has its own losses: compute them instead of loss_of_next_batch()");
  if (!source_.again) fail("loop", "expected batches that can be copied for loss_of_next_batch()");
  failed_ = true;
  next_batch(true);
  return [again = source_.again] { return again().loss; };
}

StepMetrics Loop::step() {
  const auto start = std::chrono::steady_clock::now();
  if (failed_) fail("train", "an earlier step of this loop failed (restore a checkpoint, or construct a new loop)");
  failed_ = true;
  if (batch_ == 0) loss_ = accuracy_ = {};
  StepMetrics metrics;
  metrics.step = steps_ + 1;
  if (parts_) parts_->set_rates(metrics.step);
  if (options_.schedule) optimizers_.front()->set_lr((*options_.schedule)(metrics.step));
  metrics.lr = optimizers_.front()->lr();
  if (source_.step) {
    own_step(metrics);
  } else {
    loss_step(metrics);
  }
  ++steps_;
  if (options_.after_step) options_.after_step(steps_);
  loss_.add(metrics.loss, metrics.terms);
  accuracy_.add(metrics.accuracy, metrics.terms);
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
  metrics.tokens_per_s = static_cast<double>(metrics.tokens) / std::max(spent.count(), 1e-9);
  if (options_.evaluate_every > 0) evaluate_into(metrics);
  if (batch_ == source_.size()) batch_ = 0;
  failed_ = false;
  return metrics;
}

Evaluation Loop::evaluate() const {
  if (!options_.evaluate) fail("loop", "expected the option evaluate, got none");
  nn::AnyModel model = model_;
  const nn::EvalMode eval(model);
  const ProfileScope scope(ProfilePhase::evaluation);
  return options_.evaluate();
}

// The first process's losses: other processors may round otherwise, and one of them decides when all stop.
Evaluation Loop::shared_evaluation() const {
  Evaluation found = evaluate();
  const distributed::World& world = parallel_->world();
  if (world.size() > 1) {
    const std::vector<double> own{found.validation, found.training.value_or(0)};
    const std::vector<double> first = world.broadcast(tensor(own, {2})).to_vector<double>();
    found.validation = first[0];
    if (found.training) found.training = first[1];
  }
  if (!std::isfinite(found.validation) || !std::isfinite(found.training.value_or(0)))
    fail_not_finite(fmt::format("the losses after step {} are", steps_), steps_);
  return found;
}

// After the first step, every n-th and the last. A run that is continued with more steps must not differ from one that
// did not end here, so the evaluation of a last step that is not an n-th one leaves random numbers and patience as they
// are. Only best.safetensors remembers it.
void Loop::evaluate_into(StepMetrics& metrics) {
  const bool due = (steps_ - 1) % options_.evaluate_every == 0;
  if (!due && steps_ != total_steps()) return;
  const Generator before = default_generator();
  const Evaluation found = shared_evaluation();
  metrics.validation_loss = found.validation;
  metrics.train_loss = found.training;
  is_best_ = found.validation < best().validation;
  if (!due) {
    if (is_best_) best_end_ = found;
    default_generator() = before;
  } else if (found.validation < best_.validation) {
    best_ = found;
    stale_ = 0;
  } else {
    ++stale_;
  }
}

std::optional<EpochMetrics> Loop::ended_epoch() const {
  if (steps_ == 0 || batch_ != 0) return {};
  return EpochMetrics{epoch(), loss_.mean(), accuracy_.mean()};
}

// --- checkpoints ---

Checkpoint Loop::checkpoint() const {
  Checkpoint out;
  out.add(kModelPrefix, nn::state_dict(model_));
  if (parts_) {
    parts_->save(out);
  } else {
    out.add(kAdamPrefix, parallel_->state());
  }
  add_rest(out);
  return out;
}

// All but the state of model and optimiser.
void Loop::add_rest(Checkpoint& out) const {
  out.add(kGeneratorName, default_generator());
  out.set("steps", steps_);
  out.set("steps_per_epoch", steps_per_epoch());
  out.set("batch", batch_);
  out.set("loss_sum", loss_.sum);
  out.set("accuracy_sum", accuracy_.sum);
  out.set(kWeightName, loss_.weight);
  out.set(kUnitName, loss_.unit);
  out.set("best", best_.validation);
  if (best_.training) out.set("best_training", *best_.training);
  if (best_end_) out.set(kBestEndName, best_end_->validation);
  if (best_end_ && best_end_->training) out.set(kBestEndTrainingName, *best_end_->training);
  out.set("stale", stale_);
  source_.save(out);
  if (options_.save) {
    Checkpoint own;
    options_.save(own);
    add_own(out, std::move(own));
  }
}

// First all that may throw and changes nothing, the model's values last.
void Loop::restore(const Checkpoint& in) {
  const NamedTensors values = in.with_prefix(kModelPrefix);
  if (!same_names_and_shapes(values, nn::state_dict(model_)))
    nn::load_state_dict(model_, values);  // throws what does not fit
  const auto steps = in.get<int64_t>("steps"), each = in.get<int64_t>("steps_per_epoch");
  if (each != steps_per_epoch())
    fail("train",
         "expected a checkpoint with {} steps per epoch, got {} (use the data, the batch size and accumulate of the "
         "run that wrote it)",
         steps_per_epoch(), each);
  const auto batch = in.get<int64_t>("batch"), stale = in.get<int64_t>("stale");
  MeanOfGroups loss{in.get<double>("loss_sum")}, accuracy{in.get<double>("accuracy_sum")};
  // A checkpoint of an earlier version has steps of equal weight.
  loss.weight = in.has(kWeightName) ? in.get<double>(kWeightName) : static_cast<double>((steps - 1) % each + 1);
  loss.unit = in.has(kUnitName) ? in.get<double>(kUnitName) : 0;
  accuracy.weight = loss.weight, accuracy.unit = loss.unit;
  Evaluation best{.validation = in.get<double>("best")};
  if (in.has("best_training")) best.training = in.get<double>("best_training");
  std::optional<Evaluation> best_end;
  if (in.has(kBestEndName)) best_end = Evaluation{.validation = in.get<double>(kBestEndName)};
  if (best_end && in.has(kBestEndTrainingName)) best_end->training = in.get<double>(kBestEndTrainingName);
  Generator generator;
  in.restore(kGeneratorName, generator);
  if (options_.load) options_.load(in);
  source_.load(in);
  if (parts_) {
    parts_->load(in);
  } else if (in.shards) {
    NamedTensors shapes = in.shards->shapes(kAdamPrefix);
    for (const NamedTensor& entry : in.tensors)
      if (entry.name.starts_with(kAdamPrefix)) shapes.push_back({entry.name.substr(kAdamPrefix.size()), entry.tensor});
    parallel_->load_state(shapes, [&](const std::string& name, int64_t begin, int64_t end) {
      return in.shards->read(std::string(kAdamPrefix) + name, begin, end);
    });
  } else {
    parallel_->load_state(in.with_prefix(kAdamPrefix));
  }
  nn::load_state_dict(model_, values);
  default_generator().set_state(generator.state());
  steps_ = steps, batch_ = batch, stale_ = stale;
  loss_ = loss, accuracy_ = accuracy;
  best_ = best;
  best_end_ = best_end;
  failed_ = false;
}

}  // namespace tapegrad::train
