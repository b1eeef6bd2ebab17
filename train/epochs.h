// Consecutive epochs of a DataLoader, as a source of batches whose position a checkpoint can save.
#pragma once

#include <tapegrad/train/checkpoint.h>

#include <cstdint>
#include <optional>
#include <utility>

namespace tapegrad::train {

/// The loader must outlive it. The loader samples from the default generator.
template <class Loader, class Batch = typename Loader::Batch>
class Epochs {
 public:
  explicit Epochs(const Loader& loader) : loader_(&loader) {}

  /// The next batch; after the last one of an epoch, the first one of the next.
  Batch next() {
    if (!iteration_) iteration_.emplace(loader_->begin());
    Batch batch;
    iteration_->next(batch);
    if (iteration_->position().batch == loader_->size()) iteration_.reset();
    return batch;
  }
  /// Batches per epoch.
  int64_t size() const { return loader_->size(); }

  /// Saves the position in the current epoch, and loads it.
  void save(Checkpoint& out) const {
    out.set("epoch.batch", iteration_ ? iteration_->position().batch : int64_t{0});
    if (iteration_ && iteration_->position().order_seed)
      out.set("epoch.order_seed", *iteration_->position().order_seed);
    if (iteration_ && iteration_->position().draw_seed) out.set("epoch.draw_seed", *iteration_->position().draw_seed);
  }
  void load(const Checkpoint& in) {
    typename Loader::Position at;
    at.batch = in.get<int64_t>("epoch.batch");
    if (in.has("epoch.order_seed")) at.order_seed = in.get<uint64_t>("epoch.order_seed");
    if (in.has("epoch.draw_seed")) at.draw_seed = in.get<uint64_t>("epoch.draw_seed");
    auto iteration = loader_->resume(at);
    iteration_.reset();
    if (at.batch > 0) iteration_.emplace(std::move(iteration));
  }

 private:
  const Loader* loader_;
  std::optional<typename Loader::Iteration> iteration_;
};

/// A source without data, for steps that make their own: `size` steps are an epoch, and a batch is its number.
class StepCount {
 public:
  using Batch = int64_t;  ///< the step's number in its epoch, from 0
  explicit StepCount(int64_t size) : size_(size) {}
  /// As Epochs has them, for a source without data.
  int64_t next() { return next_++; }
  int64_t size() const { return size_; }
  void save(Checkpoint& out) const { out.set("epoch.next", next_); }
  void load(const Checkpoint& in) { next_ = in.get<int64_t>("epoch.next"); }

 private:
  int64_t size_, next_ = 0;
};

}  // namespace tapegrad::train
