// DataLoader: batches of a dataset, in order or shuffled, made by a background thread where that is wanted.
#pragma once

#include <tapegrad/train/data/collate.h>
#include <tapegrad/train/data/dataset.h>
#include <tapegrad/train/data/sampler.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace tapegrad::data {

struct LoaderOptions {
  int64_t batch_size = 1;               ///< examples per batch, at least 1
  bool shuffle = false;                 ///< a new random order in each epoch
  bool drop_last = false;               ///< leave out a last batch that is not full
  std::optional<Sampler> sampler = {};  ///< the order, instead of `shuffle`
  int64_t prefetch = 0;  ///< batches that a background thread makes ahead, at most 1,048,576; 0: no such thread
};

/// How far an epoch is: what a checkpoint keeps of it.
struct LoaderPosition {
  int64_t batch = 0;                        ///< the next batch
  std::optional<uint64_t> order_seed = {};  ///< seed of the epoch's order, once it is sampled
  std::optional<uint64_t> draw_seed = {};   ///< with prefetch: seed of what dataset and collate function sample
};

namespace detail {

// The index at each position of one epoch.
using EpochOrder = std::function<int64_t(int64_t position)>;

// What loaders of all datasets and batches share: which indices are in which batch.
class BatchPlan {
 public:
  BatchPlan(int64_t examples, LoaderOptions options);
  int64_t batches() const;
  // At most the number of batches.
  int64_t prefetch() const { return prefetch_; }
  // Samples the epoch's seed where the order is random and it is not sampled yet. Returns the order.
  EpochOrder draw(LoaderPosition& position, Generator& generator) const;
  // The indices of a batch.
  std::vector<int64_t> indices(int64_t batch, const EpochOrder& order) const;
  // Error for a position that this loader cannot have.
  void check(const LoaderPosition& position) const;

 private:
  Sampler sampler_;
  int64_t examples_, batch_size_, prefetch_;
  bool drop_last_;
};

// Makes batches on a background thread, in order, at most `ahead` of them before they are requested. make(i) stores
// batch i where the caller of wait(i) finds it. Its numbers from the default generator come from a generator that is
// seeded by `draw_seed` and i. Where the system has no thread to give, wait(i) makes batch i.
class Prefetch {
 public:
  Prefetch(int64_t first, int64_t end, int64_t ahead, uint64_t draw_seed, std::function<void(int64_t)> make);
  ~Prefetch();           // waits for the call that is running; later ones do not start
  void wait(int64_t i);  // until make(i) has returned; throws what it threw, after which nothing more is made
  void taken();          // the oldest batch has been taken: there is room for one more

 private:
  struct State;
  std::unique_ptr<State> state_;
};

template <class D, class Collate>
inline constexpr bool kMakesItsBatches = std::is_same_v<Collate, Stack>&& requires(const D& dataset,
                                                                                   std::span<const int64_t> indices) {
  dataset.batch(indices);
};

template <class D, class Collate>
auto make_batch(const D& dataset, const Collate& collate, std::span<const int64_t> indices) {
  if constexpr (kMakesItsBatches<D, Collate>) {
    return dataset.batch(indices);
  } else {
    std::vector<ExampleOf<D>> examples;
    examples.reserve(indices.size());
    for (const int64_t i : indices) examples.push_back(dataset[i]);
    return collate(std::span<const ExampleOf<D>>(examples));
  }
}

}  // namespace detail

/// Batches of the examples of a dataset:
///
///     data::DataLoader loader(dataset, {.batch_size = 32, .shuffle = true, .prefetch = 2});
///     for (int64_t epoch = 0; epoch < 10; ++epoch) {
///       for (const auto& batch : loader.epoch()) step(batch);
///     }
///
/// `collate` makes a batch of examples: a function from std::span<const Example>, by default Stack.
///
/// Random numbers are used as by PyTorch's DataLoader: epoch() samples one 64-bit number, and the first next() of a
/// shuffled epoch samples one more, the seed of its order. Batches, their order and these numbers are the same with and
/// without prefetch. With prefetch, dataset and collate function are called on another thread, where no tape records;
/// what they throw comes back from the next() whose batch it belongs to, and the call after that tries the same batch
/// again.
///
/// Dataset and collate function may use the default generator, for augmentation. Without prefetch, they get its next
/// numbers. With prefetch, each batch has its own generator, which is seeded by the number that epoch() sampled and by
/// the batch. These are other numbers, as in PyTorch with workers; they do not depend on the size of `prefetch`, on
/// timing, or on resume().
template <Dataset D, class Collate = Stack>
class DataLoader {
 public:
  /// what the collate function returns
  using Batch = decltype(detail::make_batch(std::declval<const D&>(), std::declval<const Collate&>(), {}));
  using Position = LoaderPosition;  ///< see position()

  /// Error for a batch size below 1, for a negative prefetch, and for both a shuffle and a sampler.
  DataLoader(D dataset, LoaderOptions options = {}, Collate collate = {})
      : dataset_(std::move(dataset)), collate_(std::move(collate)), plan_(dataset_.size(), std::move(options)) {}

  /// Batches of one epoch.
  int64_t size() const { return plan_.batches(); }
  const D& dataset() const { return dataset_; }

  /// One epoch. The loader and the generator must outlive it, and stay where they are.
  class Iteration {
   public:
    /// Sets `batch` to the next batch; false at the end.
    bool next(Batch& batch);
    /// The next batch, or nothing at the end.
    std::optional<Batch> next() {
      std::optional<Batch> batch(std::in_place);
      if (!next(*batch)) batch.reset();
      return batch;
    }
    /// The position after the last batch that next() returned: resume() continues there. In the body of a loop over the
    /// iteration, that is after the loop's batch.
    const Position& position() const { return position_; }

    /// What a range-for over the iteration holds: its batch, until the next one is made. A std::input_iterator.
    class Iterator {
     public:
      using value_type = Batch;                ///< a batch
      using difference_type = std::ptrdiff_t;  ///< as an iterator must have; iterators have no difference
      const Batch& operator*() const { return *batch_; }
      const Batch* operator->() const { return &*batch_; }
      /// As next(), with its errors.
      Iterator& operator++() {
        batch_.reset();
        batch_ = iteration_->next();
        return *this;
      }
      void operator++(int) { ++*this; }
      bool operator==(std::default_sentinel_t) const { return !batch_; }

     private:
      friend class Iteration;
      explicit Iterator(Iteration& iteration) : iteration_(&iteration), batch_(iteration.next()) {}
      Iteration* iteration_;
      std::optional<Batch> batch_;
    };
    /// Calls next(): a loop over an iteration that another loop or next() has begun has the batches that are left.
    Iterator begin() { return Iterator(*this); }
    std::default_sentinel_t end() const { return {}; }

   private:
    friend class DataLoader;
    Iteration(const DataLoader& loader, Generator& generator, const Position& position)
        : loader_(&loader), generator_(&generator), position_(position) {}
    void start_thread();
    // The order, and what the background thread uses: stays where it is when the iteration moves.
    struct Epoch {
      detail::EpochOrder order;
      std::vector<Batch> made;                 // batch i at i % size
      std::optional<detail::Prefetch> thread;  // the last member, destroyed first: it uses the others
    };
    const DataLoader* loader_;
    Generator* generator_;
    Position position_;
    std::unique_ptr<Epoch> epoch_;
  };

  /// Begins an epoch, which a range-for or next() goes through. Making a batch throws what dataset and collate function
  /// throw.
  Iteration epoch(Generator& generator = default_generator()) const {
    const uint64_t seed = generator.random64();  // PyTorch samples it for its worker processes, even without any
    Position position;
    if (plan_.prefetch() > 0) position.draw_seed = seed;
    return Iteration(*this, generator, position);
  }
  /// The same as epoch(generator). The loader itself is not a range: it has no end().
  Iteration begin(Generator& generator = default_generator()) const { return epoch(generator); }
  /// Continues an epoch at the position of an earlier iteration, without sampling again what that one sampled. Error
  /// for a position beyond the end.
  Iteration resume(const Position& position, Generator& generator = default_generator()) const {
    plan_.check(position);
    return Iteration(*this, generator, position);
  }

 private:
  D dataset_;
  Collate collate_;
  detail::BatchPlan plan_;
};

template <Dataset D, class Collate>
void DataLoader<D, Collate>::Iteration::start_thread() {
  const detail::BatchPlan& plan = loader_->plan_;
  epoch_->made.resize(static_cast<std::size_t>(plan.prefetch()));
  const auto make = [loader = loader_, epoch = epoch_.get()](int64_t i) {
    epoch->made[static_cast<std::size_t>(i) % epoch->made.size()] =
        detail::make_batch(loader->dataset_, loader->collate_, loader->plan_.indices(i, epoch->order));
  };
  epoch_->thread.emplace(position_.batch, plan.batches(), plan.prefetch(), position_.draw_seed.value_or(0), make);
}

template <Dataset D, class Collate>
bool DataLoader<D, Collate>::Iteration::next(Batch& batch) {
  const detail::BatchPlan& plan = loader_->plan_;
  if (!epoch_) epoch_.reset(new Epoch{.order = plan.draw(position_, *generator_), .made = {}, .thread = {}});
  if (position_.batch >= plan.batches()) return false;
  if (plan.prefetch() == 0) {
    batch = detail::make_batch(loader_->dataset_, loader_->collate_, plan.indices(position_.batch, epoch_->order));
  } else {
    if (!epoch_->thread) start_thread();
    try {
      epoch_->thread->wait(position_.batch);
    } catch (...) {
      epoch_->thread.reset();  // the next call tries this batch again, as it does without prefetch
      throw;
    }
    batch = std::move(epoch_->made[static_cast<std::size_t>(position_.batch) % epoch_->made.size()]);
    epoch_->thread->taken();
  }
  ++position_.batch;
  return true;
}

}  // namespace tapegrad::data
