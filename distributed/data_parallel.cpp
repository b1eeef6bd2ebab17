// Sums of gradients over the batches of a step, by one process or several.
#include <cxxabi.h>
#include <fmt/format.h>
#include <tapegrad/autograd/limits.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/distributed/data_parallel.h>
#include <tapegrad/distributed/detail/share.h>
#include <tapegrad/optim/internal/share.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <typeinfo>

namespace tapegrad::distributed {
namespace {

constexpr std::string_view kDataParallel = "data_parallel";

// One step of splitmix64 (Vigna), which spreads every bit over all others.
uint64_t mixed(uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

// In steps of one batch, by one process.
bool updates_in_backward(const DataParallelOptions& options) {
  return options.update_in_backward && !options.changes_gradients();
}

// "tapegrad::optim::AdamW".
std::string type_of(const optim::Optimizer& optimizer) {
  const char* const mangled = typeid(optimizer).name();
  const std::unique_ptr<char, decltype(&std::free)> text(abi::__cxa_demangle(mangled, nullptr, nullptr, nullptr),
                                                         &std::free);
  return text ? text.get() : mangled;
}

// What must be equal on all processes, a line each.
std::string settings_of(optim::Optimizer& optimizer, const DataParallelOptions& options) {
  std::string lines = fmt::format("accumulate {}\nclip_grad_norm {}\nwire {}\nbucket_bytes {}\n", options.accumulate,
                                  options.clip_grad_norm, name(options.wire), options.bucket_bytes);
  for (const optim::GradientTransform& transform : options.transforms) lines += transform.text() + "\n";
  lines += fmt::format("optimiser {}\n", type_of(optimizer));
  for (const auto& [name, value] : optimizer.settings()) lines += fmt::format("{} {}\n", name, value);
  return lines + optim::UpdateShare(optimizer).rates();
}

// Several processes sum whole gradients, and each updates a share of every table.
void require_dense(const detail::Share& share, const TapeIndex& leaf) {
  const auto found = share.parameter_of.find(leaf.position);
  if (found != share.parameter_of.end())
    fail(kDataParallel,
         fmt::format("expected dense gradients for several processes, got a sparse one of \"{}\" (make its Embedding "
                     "without EmbeddingOptions::sparse)",
                     share.parameters[found->second].name));
}

void require_terms(double terms) {
  if (!(terms >= 0) || std::isinf(terms))
    fail(kDataParallel, fmt::format("expected a finite number of terms of at least 0, got {}", terms));
}

}  // namespace

BatchWeights::BatchWeights(std::span<const double> terms) : shares_(terms.begin(), terms.end()) {
  double most = 0;
  for (const double each : terms) {
    require_terms(each);
    most = std::max(most, each);
  }
  if (most == 0)
    fail(kDataParallel, "expected a batch with at least one term, got none in this step (is all of it padding?)");
  for (double& share : shares_) sum_ += share /= most;
}

BatchDraws::BatchDraws(int64_t step, int64_t batch) : before_(default_generator()) {
  const uint64_t place = mixed(static_cast<uint64_t>(step)) + static_cast<uint64_t>(batch);
  Generator own(mixed(mixed(before_.seed()) + place));
  own.set_mask_stream(before_.mask_stream());
  default_generator() = own;
}

BatchDraws::~BatchDraws() { default_generator() = before_; }

// --- the step ---

double DataParallelOptions::change(optim::StepGradients& grads) const {
  if (clip_grad_norm > 0) grads.clip_norm(clip_grad_norm);
  for (const optim::GradientTransform& transform : transforms) transform(grads);
  return grads.clipped_norm();
}

int64_t gradients_at_once(const DataParallelOptions& options, int64_t processes) {
  if (processes == 1 && options.accumulate == 1 && updates_in_backward(options)) return 0;
  return detail::values_at_once(options.accumulate, processes);
}

DataParallel::DataParallel(const World& world, optim::Optimizer& optimizer, DataParallelOptions options)
    : world_(world),
      optimizer_(optimizer),
      options_(std::move(options)),
      sums_(std::make_unique<detail::Accumulated>()) {
  world.require_equal(kDataParallel, "settings", settings_of(optimizer, options_));
  require_in(kDataParallel, "accumulate", options_.accumulate, {.least = 1});
  if (options_.accumulate % world.size() != 0)
    fail(kDataParallel, fmt::format("expected accumulate to be a multiple of the number of processes, {}, got {}",
                                    world.size(), options_.accumulate));
  if (options_.wire != kFloat32 && options_.wire != kBFloat16)
    fail(kDataParallel, fmt::format("expected float32 or bfloat16 as wire, got {}", name(options_.wire)));
  for (const optim::GradientTransform& transform : options_.transforms) transform.check();
  if (!world.group()) return;
  share_ = std::make_unique<detail::Share>(world, optimizer, options_, *sums_);
  share_draws();
}

void DataParallel::share_draws() const {
  if (!world_.group()) return;
  std::vector<std::byte> state = default_generator().state();
  world_.group()->broadcast(state.data(), static_cast<int64_t>(state.size()), 0);
  default_generator().set_state(state);
}

DataParallel::~DataParallel() = default;

void DataParallel::begin_step(int64_t batches) {
  if (batches < 1 || batches > options_.accumulate)
    fail(kDataParallel, fmt::format("expected 1 to {} batches, got {}", options_.accumulate, batches));
  if (share_ && share_->posted)
    fail(kDataParallel,
         "an earlier step failed while its gradients were being sent (end the program, and continue from a "
         "checkpoint)");
  sums_->all = {0, batches};
  sums_->own = detail::terms_of(world_.rank(), world_.size(), batches);
  sums_->terms.assign(static_cast<std::size_t>(batches), 0);
  sums_->next = sums_->own.begin;
  sums_->nodes.clear();
  sums_->updated = false;
  sums_->open = true;
  if (share_) share_->begin();
}

bool DataParallel::is_mine(int64_t i) const { return sums_->own.begin <= i && i < sums_->own.end; }

void DataParallel::backward(Tape& tape, const Tensor& loss, double terms) {
  if (!sums_->open || sums_->next >= sums_->own.end)
    fail(kDataParallel,
         "expected a batch of this process (call begin_step, then backward for each batch that is_mine)");
  require_terms(terms);
  const int64_t batch = sums_->next++;
  if (share_) share_->take_forward_updates();
  sums_->terms[static_cast<std::size_t>(batch)] = terms;
  if (terms == 0) {  // the last one of several processes is completed by update()
    if (!share_ || sums_->next < sums_->own.end) sums_->push(batch, {});
    return;
  }
  if (!share_ && sums_->all.size() == 1 && updates_in_backward(options_)) {
    optimizer_.step(tape, loss);
    sums_->updated = true;
    return;
  }
  const Tensor share = sums_->all.size() == 1 ? loss : loss * (1 / static_cast<double>(sums_->all.size()));
  if (!share_ || sums_->next < sums_->own.end) {
    Gradients grads = tape.backward(share);
    for (const Gradients::Entry& entry : grads.entries())
      if (share_ && grads.rows(entry)) require_dense(*share_, entry.place);
    sums_->push(batch, std::move(grads));
    return;
  }
  struct Taker : GradientSink {
    explicit Taker(detail::Share& share) : share(share) {}
    void take(const TapeIndex& leaf, const Tensor& grad) override {
      const auto found = share.parameter_of.find(leaf.position);
      if (found != share.parameter_of.end()) {
        share.take(found->second, grad);
      } else {
        share.note_unknown(leaf, grad);
      }
    }
    void take_rows(const TapeIndex& leaf, const RowGradient& grad) override {
      require_dense(share, leaf);
      share.note_unknown(leaf, grad.values);
    }
    void ran_node(bool) override { share.progress(); }  // parameters are written in update()
    detail::Share& share;
  };
  share_->post_receives();
  Taker taker(*share_);
  (void)tape.backward(share, {.sink = &taker});
}

double DataParallel::update() {
  if (!sums_->open || sums_->next < sums_->own.end)
    fail(kDataParallel, "expected backward for each batch of this process before update");
  sums_->open = false;
  if (sums_->updated) return 0;
  const PauseRecording pause;
  if (share_) return share_->update();
  const double factor = sums_->factor();
  Gradients grads = std::move(sums_->nodes.front().grads);
  sums_->nodes.clear();
  if (factor != 1) grads *= factor;
  double norm = 0;
  if (options_.changes_gradients()) {
    optim::StepGradients step(grads, optimizer_);
    norm = options_.change(step);
  }
  optimizer_.step(grads);
  return norm;
}

double DataParallel::step(const LossOf& loss_of) {
  const int64_t batches = options_.accumulate;
  begin_step(batches);
  std::vector<double> losses;
  for (int64_t i = sums_->own.begin; i < sums_->own.end; ++i) {
    std::unique_ptr<BatchDraws> draws;
    if (batches > 1) draws = std::make_unique<BatchDraws>(optimizer_.steps(), i);
    Tape tape;
    const MeanLoss found = loss_of(optimizer_.steps() * batches + i);
    losses.push_back(found.loss.item());
    backward(tape, found.loss, found.terms);
  }
  update();
  losses = gather(losses, 1);
  const BatchWeights weights(sums_->terms);
  double mean = 0;
  for (int64_t i = 0; i < batches; ++i)
    if (weights[i] > 0) mean += losses[static_cast<std::size_t>(i)] * weights[i] / weights.sum();
  return mean;
}

std::vector<double> DataParallel::gather(const std::vector<double>& own, int64_t each) const {
  if (!share_) return own;
  std::vector<double> all(static_cast<std::size_t>(sums_->all.size() * each));
  share_->gather(own.data(), each * static_cast<int64_t>(sizeof(double)), all.data(), "the losses");
  return all;
}

// --- state ---

std::vector<DividedTensor> DataParallel::divided_state() const {
  const optim::UpdateShare update_share(optimizer_);
  const NamedTensors parameters = optimizer_.parameters();
  std::vector<DividedTensor> out;
  for (const optim::UpdateShare::StateEntry& entry : update_share.state_entries()) {
    const int64_t numel = entry.shape.numel();
    DividedTensor& one = out.emplace_back();
    one.name = entry.name, one.shape = entry.shape;
    one.dtype = parameters[entry.parameter].tensor.dtype();
    if (share_)
      for (const detail::Piece& piece : share_->pieces_of[entry.parameter]) {
        const int64_t rank = share_->rounds.rank_at(piece.position);
        one.parts.push_back(
            {rank, update_share.may_cut() ? piece.begin : 0, update_share.may_cut() ? piece.end : numel});
      }
    const bool never_updated = share_ && one.parts.empty();  // frozen: it never had state
    if (one.parts.empty()) one.parts.push_back({0, 0, numel});
    std::erase_if(one.parts, [](const DividedTensor::Part& part) { return part.begin == part.end; });
    for (const DividedTensor::Part& part : one.parts)
      if (part.rank == world_.rank())
        one.own =
            (never_updated ? update_share.state_start(entry) : update_share.state_of(entry)).contiguous().flatten();
  }
  return out;
}

NamedTensors DataParallel::state() const {
  if (!share_) return optimizer_.state();
  detail::Group& group = *world_.group();
  group.meet(kDataParallel, {.call = detail::Call::state});
  const bool first = world_.rank() == 0;
  NamedTensors out;
  if (first) out = optim::UpdateShare(optimizer_).state_counts();
  for (const DividedTensor& one : divided_state()) {
    const Tensor whole = first ? Tensor::empty(one.shape, one.dtype) : Tensor();
    const auto exchange = group.exchange();
    for (const auto& [rank, begin, end] : one.parts) {
      const int64_t bytes = (end - begin) * item_size(one.dtype);
      if (first && rank == 0) {
        std::memcpy(detail::bytes_at(whole, begin), one.own.raw_data(), static_cast<std::size_t>(bytes));
      } else if (first) {
        exchange->receive(detail::bytes_at(whole, begin), bytes, static_cast<int>(rank), detail::kStateTag);
      } else if (rank == world_.rank()) {
        exchange->send(one.own.raw_data(), bytes, 0, detail::kStateTag);
      }
    }
    group.wait(*exchange, "the state");
    if (first) out.push_back({one.name, whole});
  }
  return out;
}

void DataParallel::load_state(const NamedTensors& state) { optimizer_.load_state(state); }

void DataParallel::load_state(const NamedTensors& shapes, const ReadElements& read) {
  optim::UpdateShare(optimizer_).load_state(shapes, read);
}

CommunicationTimes DataParallel::times() const { return share_ ? share_->times : CommunicationTimes{}; }

}  // namespace tapegrad::distributed
