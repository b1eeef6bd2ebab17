// Declares the common settings of training runs; schedules and update rules are a row each.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <tapegrad/optim/adadelta.h>
#include <tapegrad/optim/adafactor.h>
#include <tapegrad/optim/adagrad.h>
#include <tapegrad/optim/adamax.h>
#include <tapegrad/optim/asgd.h>
#include <tapegrad/optim/lion.h>
#include <tapegrad/optim/nadam.h>
#include <tapegrad/optim/rmsprop.h>
#include <tapegrad/optim/rprop.h>
#include <tapegrad/optim/sgd.h>
#include <tapegrad/tasks/settings/training.h>
#include <tapegrad/train/loop.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

namespace tapegrad::tasks {
namespace {

// A schedule of the learning rate, as training runs can choose it: one row each.
struct NamedSchedule {
  std::string_view name, help;
  /// Of a run of `total` steps, at least 1, with a model of this width.
  optim::Schedule (*make)(const TrainingSettings& settings, int64_t width, int64_t total);
  bool rises = false;  // over the steps of the warm-up, at least one
};

constexpr NamedSchedule kSchedules[] = {
    {"constant", "always --lr",
     [](const TrainingSettings& s, int64_t, int64_t) -> optim::Schedule { return optim::Constant{s.lr}; }},
    {"noam", "rises, then falls: --factor width^-0.5 min(step^-0.5, step --warmup^-1.5)",
     [](const TrainingSettings& s, int64_t width, int64_t) -> optim::Schedule {
       return optim::Noam{.hidden_size = width, .warmup = s.warmup, .factor = s.factor};
     },
     true},
    {"warmup-cosine", "rises to --lr, then falls along a cosine to --min-lr at the last step",
     [](const TrainingSettings& s, int64_t, int64_t total) -> optim::Schedule {
       const int64_t warmup = std::min(s.warmup, total - 1);
       return optim::WarmupCosine{.lr = s.lr, .warmup = warmup, .total = total, .min_lr = s.min_lr};
     }},
};

// The names of the rows of a table.
template <class Row, std::size_t N>
constexpr std::array<std::string_view, N> names_of(const Row (&rows)[N]) {
  std::array<std::string_view, N> names;
  std::ranges::transform(rows, names.begin(), &Row::name);
  return names;
}

constexpr auto kScheduleNames = names_of(kSchedules);

const NamedSchedule& schedule_named(std::string_view name) {
  return *std::ranges::find(kSchedules, name, &NamedSchedule::name);
}

constexpr std::string_view kMaskStreams[] = {"mt19937", "mkl"};

constexpr auto kTypes = names_of(tapegrad::detail::kTypes);  // of DType
constexpr std::string_view kProductTypes[] = {"float32", "bfloat16"};

enum class Decay { none, in_gradient, decoupled };  // where a rule applies its weight decay

struct Rule {
  std::string_view name;
  std::unique_ptr<optim::Optimizer> (*make)(NamedTensors parameters, const optim::AdamWOptions& options);
  Decay decay = Decay::in_gradient;
};

// A rule with the learning rate and the weight decay, betas and eps if it is a kind of Adam, and a momentum if it may
// have one.
template <class Optimizer, class Options>
std::unique_ptr<optim::Optimizer> rule(NamedTensors parameters, const optim::AdamWOptions& options) {
  Options own{.lr = options.lr};
  if constexpr (requires { own.weight_decay; }) own.weight_decay = options.weight_decay.value_or(0);
  if constexpr (requires { own.beta1 + own.eps; })
    own.beta1 = options.beta1, own.beta2 = options.beta2, own.eps = options.eps;
  if constexpr (requires { own.momentum; }) own.momentum = 0.9;
  return std::make_unique<Optimizer>(std::move(parameters), own);
}

constexpr Rule kRules[] = {
    {"adamw", rule<optim::AdamW, optim::AdamWOptions>, Decay::decoupled},
    {"adam", rule<optim::Adam, optim::AdamOptions>},
    {"adadelta", rule<optim::Adadelta, optim::AdadeltaOptions>},
    {"adafactor", rule<optim::Adafactor, optim::AdafactorOptions>, Decay::decoupled},
    {"adagrad", rule<optim::Adagrad, optim::AdagradOptions>},
    {"adamax", rule<optim::Adamax, optim::AdamaxOptions>},
    {"asgd", rule<optim::ASGD, optim::ASGDOptions>},
    {"lion", rule<optim::Lion, optim::LionOptions>, Decay::decoupled},
    {"nadam", rule<optim::NAdam, optim::NAdamOptions>},
    {"radam", rule<optim::RAdam, optim::RAdamOptions>},
    {"rmsprop", rule<optim::RMSprop, optim::RMSpropOptions>},
    {"rprop", rule<optim::Rprop, optim::RpropOptions>, Decay::none},
    {"sgd", rule<optim::SGD, optim::SGDOptions>},
};

const Rule& rule_named(std::string_view name) { return *std::ranges::find(kRules, name, &Rule::name); }

// The help of --weight-decay, which names the rules that apply it to the parameter itself.
const std::string& help_of_weight_decay() {
  static const std::string kHelp = [] {
    std::vector<std::string_view> decoupled;
    for (const Rule& rule : kRules)
      if (rule.decay == Decay::decoupled) decoupled.push_back(rule.name);
    return fmt::format("weight decay, added to the gradient; {}: decoupled", fmt::join(decoupled, ", "));
  }();
  return kHelp;
}

}  // namespace

void TrainingSettings::list(Fields& f) {
  Options in_training(f, Group::training);
  in_training("num-epochs", "number of epochs", num_epochs, kCountOrNone).special("0: write the untrained model");
  in_training("max-steps", "stop after N steps", max_steps, kCountOrNone).special("0: no limit");
  in_training("batch-size", "sequences per batch", batch_size, kCount);
  in_training("accumulate", "batches per step, a multiple of the number of processes; their gradients are averaged",
              accumulate, {.least = 1, .most = 10'000});
  in_training.named(
      "dtype",
      "type of matrix multiplications; with bfloat16 their operands are rounded, weights and sums stay float32", dtype,
      kTypes, kProductTypes);
  in_training.named(
      "wire", "type of the gradients that processes of mpirun exchange; bfloat16 halves their size, with rounding",
      wire, kTypes, kProductTypes);
  in_training("seed", "seed of all random numbers", seed);
  in_training.named(
      "mask-stream",
      "random stream of the dropout masks: mt19937, or mkl, the one of PyTorch with MKL on Intel processors",
      mask_stream, kMaskStreams);
  list_rate(f);
}

void TrainingSettings::list_rate(Fields& f) {
  static const std::string kSchedulesHelp =
      help_of_rows("learning rate over the steps", kSchedules, [](const auto& s) { return std::pair(s.name, s.help); });
  Options in_rate(f, Group::rate);
  in_rate("lr", "learning rate; with warmup-cosine the peak", lr, kPositive);
  in_rate("schedule", kSchedulesHelp, schedule).choices(kScheduleNames);
  in_rate("warmup", "steps over which the rate rises", warmup, kCountOrNone);
  in_rate("factor", "factor of the noam schedule", factor, kPositive);
  in_rate("min-lr", "rate at the end of the cosine", min_lr, kNotNegative);
  in_rate("optimizer", "update rule; with sgd and rmsprop the momentum is 0.9", optimizer).choices(optimizer_names());
  in_rate("weight-decay", help_of_weight_decay(), weight_decay, kNotNegative);
  in_rate("clip-grad", "clip gradients to this norm", clip_grad, kNotNegative).special("0: no clipping");
  in_rate("clip-value", "clip every element of the gradients to [-X, X]", clip_value, kNotNegative)
      .special("0: no clipping");
}

void TrainingSettings::check() const {
  require(!schedule_named(schedule).rises || warmup > 0, "--warmup", "expected at least 1 with --schedule {}, got 0",
          schedule);
  require(weight_decay == 0 || rule_named(optimizer).decay != Decay::none, "--weight-decay",
          "expected 0 with --optimizer {}, which has none, got {}", optimizer, weight_decay);
}

optim::Schedule TrainingSettings::schedule_of(int64_t width, int64_t total) const {
  return schedule_named(schedule).make(*this, width, std::max<int64_t>(total, 1));
}

std::vector<optim::GradientTransform> TrainingSettings::transforms() const {
  std::vector<optim::GradientTransform> all;
  if (clip_grad > 0) all.push_back(optim::ClipNorm{clip_grad});
  if (clip_value > 0) all.push_back(optim::ClipValue{clip_value});
  return all;
}

double TrainingSettings::copies_of_parameters(int64_t processes) const {
  return 3 + static_cast<double>(train::gradients_at_once(accumulate, !transforms().empty(), processes));
}

int64_t TrainingSettings::limited(int64_t steps) const { return max_steps > 0 ? std::min(steps, max_steps) : steps; }

std::span<const std::string_view> optimizer_names() {
  static constexpr auto kNames = names_of(kRules);
  return kNames;
}

std::unique_ptr<optim::Optimizer> make_optimizer(std::string_view name, NamedTensors parameters,
                                                 const optim::AdamWOptions& options) {
  return rule_named(name).make(std::move(parameters), options);
}

}  // namespace tapegrad::tasks
