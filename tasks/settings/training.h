// The settings that every training run has, and the update rules that it can choose.
#pragma once

#include <tapegrad/autograd/random.h>
#include <tapegrad/optim/adam.h>
#include <tapegrad/optim/gradient_transform.h>
#include <tapegrad/optim/schedule.h>
#include <tapegrad/tasks/settings/settings.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tapegrad::tasks {

/// The common settings, embedded in the settings of each kind of model, which may change the defaults.
struct TrainingSettings {
  int64_t num_epochs = 1;
  int64_t max_steps = 0;   // 0: no limit
  int64_t batch_size = 1;  // each kind of run sets its own, as num_epochs and lr: GPTOptions() in tasks/gpt/options.cpp
  int64_t accumulate = 1;  // batches per step
  DType dtype = kFloat32;  // of matrix products
  DType wire = kFloat32;   // of gradients between processes
  uint64_t seed = 0;
  MaskStream mask_stream = MaskStream::kMt19937;  // of dropout
  double lr = 1e-4;
  std::string schedule = "constant";
  int64_t warmup = 4000;
  double factor = 1;
  double min_lr = 0;
  std::string optimizer = "adamw";  // a name of kRules (training.cpp)
  double weight_decay = 0;
  double clip_grad = 0;   // largest norm of all gradients; 0: no clipping
  double clip_value = 0;  // largest element of a gradient; 0: no clipping

  void list(Fields& fields);
  /// BadRequest for combinations that are not possible.
  void check() const;
  /// The learning rate of a run of `total` steps; `width` is the width of the model, for noam. A run that is shorter
  /// than the warm-up ends while the rate rises.
  optim::Schedule schedule_of(int64_t width, int64_t total) const;
  /// What changes the gradients before the update.
  std::vector<optim::GradientTransform> transforms() const;
  /// How often each of so many processes has the parameters: as they are, as two moments, and as the gradients of the
  /// batches of a step that wait for their sum.
  double copies_of_parameters(int64_t processes) const;
  /// The smaller of `steps`, the steps of all epochs, and --max-steps.
  int64_t limited(int64_t steps) const;

 private:
  void list_rate(Fields& fields);
};

/// Their names for --optimizer, "adamw" first. LBFGS, which evaluates the loss several times per step, and Muon, which
/// is for matrices only, are not among them.
std::span<const std::string_view> optimizer_names();

/// The rule of this name. It has the learning rate and the weight decay of `options`, and their betas and eps if it is
/// a kind of Adam; for everything else its own defaults, but a momentum of 0.9 for sgd and rmsprop.
std::unique_ptr<optim::Optimizer> make_optimizer(std::string_view name, NamedTensors parameters,
                                                 const optim::AdamWOptions& options);

}  // namespace tapegrad::tasks
