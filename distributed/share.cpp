// The way of gradients and parameters through the processes.
#include <fmt/format.h>
#include <tapegrad/autograd/leaf_names.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/parallel.h>
#include <tapegrad/autograd/profiler.h>
#include <tapegrad/distributed/detail/share.h>
#include <tapegrad/optim/internal/share.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <limits>
#include <numeric>

namespace tapegrad::distributed::detail {
namespace {

constexpr std::string_view kShareName = "data_parallel";

// A line per parameter.
std::string description(const NamedTensors& parameters) {
  std::string out;
  for (const NamedTensor& p : parameters)
    out += fmt::format("\"{}\" {} {}{}\n", p.name, name(p.tensor.dtype()), str(p.tensor.shape()),
                       p.tensor.is_frozen() ? " frozen" : "");
  return out;
}

}  // namespace

Share::Share(const World& world, optim::Optimizer& optimizer, const DataParallelOptions& options, Accumulated& sums)
    : world(world),
      optimizer(optimizer),
      options(options),
      sums(sums),
      parameters(optimizer.parameters()),
      rounds(world.size(), options.wire != kFloat32) {  // what is rounded is rounded once
  optim::UpdateShare update_share(optimizer);
  world.require_equal(kShareName, "parameters", description(parameters));
  copy_parameters();
  constexpr int64_t kBucketBytes = int64_t{4} << 20, kBytesPerMessage = int64_t{512} << 10;
  const int64_t bytes =
      options.bucket_bytes > 0 ? options.bucket_bytes : std::max(kBucketBytes, rounds.messages() * kBytesPerMessage);
  buckets = make_buckets(parameters, size(), bytes, update_share.may_cut());
  if (buckets.size() > kMostBuckets)
    fail(kShareName,
         fmt::format("expected at most {} buckets of gradients, got {} of {} bytes (set bucket_bytes to more)",
                     kMostBuckets, buckets.size(), bytes));
  bucket_of.resize(parameters.size(), buckets.size());
  pieces_of.resize(parameters.size());
  std::vector<optim::UpdateShare::Range> own(parameters.size());
  for (std::size_t b = 0; b < buckets.size(); ++b) {
    for (const std::size_t p : buckets[b].parameters) bucket_of[p] = b;
    for (const Piece& piece : buckets[b].pieces) pieces_of[piece.parameter].push_back(piece);
    for (const Piece& piece : own_pieces(b)) own[piece.parameter] = {piece.begin, piece.end};
  }
  const auto leaf = [this](std::size_t p) { return parameters[p].tensor.tape_index().position; };
  by_leaf.resize(parameters.size());
  std::iota(by_leaf.begin(), by_leaf.end(), std::size_t{0});
  std::sort(by_leaf.begin(), by_leaf.end(), [&](std::size_t a, std::size_t b) { return leaf(a) < leaf(b); });
  for (std::size_t p = 0; p < parameters.size(); ++p) parameter_of.emplace(leaf(p), p);
  update_share.keep(std::move(own));
}

// Every process begins with the parameters of rank 0.
void Share::copy_parameters() {
  for (const NamedTensor& p : parameters) {
    p.tensor.prepare_write(kShareName, p.name);
    group().broadcast(p.tensor.mutable_raw_data(), p.tensor.numel() * item_size(p.tensor.dtype()), 0);
  }
}

void Share::begin() {
  group().set_step(optimizer.steps() + 1);
  nodes.clear();
  nodes.resize(rounds.count());
  for (std::size_t k = 0; k < rounds.count(); ++k) {
    Nodes& round = nodes[k];
    for (int64_t i = 0; i < rounds.partners(k); ++i) {
      round.first.push_back(round.nodes.size());
      add_nodes(sums.all, rounds.terms(k, rounds.partner(k, rank(), i), sums.all.size()), round.nodes);
    }
    round.first.push_back(round.nodes.size());
    round.most.resize(round.nodes.size());
  }
  known = 0;
  moving.clear();
  moving.resize(buckets.size());
  for (std::size_t b = 0; b < buckets.size(); ++b) moving[b].missing = buckets[b].parameters.size();
  arrived.assign(parameters.size(), 0);
  unknown.clear();
  posted = false;
  updates.clear();
  forward_updates.emplace();
}

// Keeps the first leaf that has a gradient and is no parameter.
void Share::note_unknown(const TapeIndex& leaf, const Tensor& grad) {
  if (!unknown.empty() || leaf.tape != TapeIndex::kLeaf || parameter_of.contains(leaf.position) ||
      optimizer.ignores(leaf))
    return;
  const std::string called = tapegrad::detail::leaf_name(leaf);
  unknown = called.empty() ? fmt::format("a leaf of shape {}", str(grad.shape())) : fmt::format("\"{}\"", called);
}

// The gradient of the last batch, an empty handle if it has none: completes the sums of this process.
void Share::take(std::size_t parameter, const Tensor& grad) {
  const std::size_t b = bucket_of[parameter];
  if (b == buckets.size())
    fail(kShareName, fmt::format("\"{}\" was frozen when the DataParallel was made (freeze and unfreeze before)",
                                 parameters[parameter].name));
  const Tensor packed = grad.defined() ? grad.detach().contiguous() : grad;
  with_floating_type(buckets[b].dtype, [&](auto t) { write<decltype(t)>(buckets[b], moving[b], parameter, packed); });
  if (--moving[b].missing == 0 && options.overlap) start(b);
}

template <class T>
void Share::write(const Bucket& bucket, const Moving& to, std::size_t parameter, const Tensor& grad) {
  const int64_t last = own_nodes(0).size() - 1;
  const Tensor& leaf = parameters[parameter].tensor;
  bool any = grad.defined();
  for (const Piece& piece : pieces_of[parameter]) {
    T* const first = static_cast<T*>(to.mine.mutable_raw_data()) + piece.at;
    const auto row = [&](int64_t node) { return first + node * bucket.total; };
    // -0 is the one number that a sum does not notice: -0 + x is x for every x.
    const auto set = [&](T* out, const Tensor* from) {
      if (from) {
        std::memcpy(out, from->data<T>() + piece.begin, static_cast<std::size_t>(piece.size()) * sizeof(T));
      } else {
        std::fill(out, out + piece.size(), T(-0.0));
      }
    };
    for (int64_t node = 0; node < last; ++node) {
      const Tensor* const found = sums.nodes[static_cast<std::size_t>(node)].grads.find(leaf);
      const Tensor packed = found ? found->detach().contiguous() : Tensor();
      any = any || found;
      set(row(node), found ? &packed : nullptr);
    }
    T* const sum = row(last);
    set(sum, grad.defined() ? &grad : nullptr);
    Terms summed{sums.own.end - 1, sums.own.end};
    for (std::size_t left = sums.nodes.size(); left-- > static_cast<std::size_t>(last);) {
      const auto& [terms, grads] = sums.nodes[left];
      const auto [factor, sum_factor] = sums.factors(terms, summed);
      summed.begin = terms.begin;
      multiply(sum, sum_factor, piece.size());
      const Tensor* const found = grads.find(leaf);
      if (!found) continue;
      any = true;
      const Tensor packed = found->detach().contiguous();
      const Tensor part = packed.view({piece.size()}, {1}, piece.begin);
      add(sum, (factor == 1 ? part : part * factor).template data<T>(), piece.size());
    }
  }
  arrived[parameter] = any ? 1 : 0;
}

// What backward did not reach has no gradient in the last batch.
void Share::complete() {
  if (!posted) post_receives();
  for (const auto& node : sums.nodes)
    for (const Gradients::Entry& entry : node.grads) note_unknown(entry.place, entry.grad);
  for (std::size_t b = 0; b < buckets.size(); ++b) {
    if (moving[b].started) continue;
    if (own_nodes(0).size() > 0 && moving[b].missing > 0) {
      std::vector<std::size_t> missing;
      for (const std::size_t p : buckets[b].parameters)
        if (!arrived[p]) missing.push_back(p);
      for (const std::size_t p : missing) take(p, {});
    }
    if (!moving[b].started) start(b);
  }
}

// The elements of this process in a bucket, summed over all batches and multiplied by `whole`.
Tensor Share::reduced(std::size_t b, double whole) {
  {
    const Stopwatch waiting(times.gradients_s);
    while (!advance(b)) {
      const std::size_t k = moving[b].round;
      group().wait(known > k ? *moving[b].exchanges[k] : *nodes[known].exchange, "the gradients");
      for (std::size_t later = b; later < buckets.size(); ++later) advance(later);
    }
  }
  const Tensor sum = moving[b].mine;
  with_floating_type(sum.dtype(),
                     [&]<class T>(T) { multiply(static_cast<T*>(sum.mutable_raw_data()), whole, sum.numel()); });
  moving[b].mine = {};
  moving[b].exchanges.clear();
  return sum;
}

// Each process learns the terms of all batches. Returns by parameter whether any process has a gradient of it; then one
// entry: whether any has an unknown one.
std::vector<uint8_t> Share::exchange_flags_and_terms() {
  std::vector<uint8_t> flags = arrived;
  flags.push_back(unknown.empty() ? 0 : 1);
  group().all_combine(flags.data(), static_cast<int64_t>(flags.size()), "the gradients", [&](const char* theirs) {
    for (std::size_t i = 0; i < flags.size(); ++i) flags[i] |= static_cast<uint8_t>(theirs[i]);
  });
  const std::vector<double> own(sums.terms.begin() + sums.own.begin, sums.terms.begin() + sums.own.end);
  gather(own.data(), sizeof(double), sums.terms.data(), "the gradients");
  return flags;
}

// `all` receives `each` bytes of every batch of the step, in order; `own` are those of this process's batches.
void Share::gather(const void* own, int64_t each, void* all, std::string_view what) const {
  const int64_t batches = sums.all.size(), row = (batches + size() - 1) / size() * each;  // of one process, at most
  std::vector<char> mine(static_cast<std::size_t>(row)), rows(static_cast<std::size_t>(row * size()));
  std::copy_n(static_cast<const char*>(own), sums.own.size() * each, mine.data());
  group().all_gather(mine.data(), row, rows.data(), what);
  for (int r = 0; r < size(); ++r) {
    const Terms theirs = terms_of(r, size(), batches);
    std::copy_n(rows.data() + r * row, theirs.size() * each, static_cast<char*>(all) + theirs.begin * each);
  }
}

// Clipping and transforms of the elements that this process updates. `reduced`: by bucket.
double Share::change(std::vector<Tensor>& reduced, const std::vector<uint8_t>& present) const {
  struct Elements : optim::StepGradients {
    Elements(Parts parts, const World& all) : StepGradients(std::move(parts)), world(all) {}
    Tensor over_processes(const Tensor& x) const override { return world.all_reduce(x, Reduce::only); }
    static Parts of(const Share& share, std::vector<Tensor>& reduced, const std::vector<uint8_t>& present) {
      Parts parts;
      std::vector<std::size_t> part_of(present.size());
      for (const std::size_t p : share.by_leaf) {
        if (!present[p]) continue;
        part_of[p] = parts.size();
        const Tensor& whole = share.parameters[p].tensor;
        parts.push_back({.numel = whole.numel(), .dtype = whole.dtype()});
      }
      for (std::size_t b = 0; b < share.buckets.size(); ++b)
        for (const Piece& piece : share.own_pieces(b)) {
          if (!present[piece.parameter]) continue;
          Part& part = parts[part_of[piece.parameter]];
          part.grad = &reduced[b];
          part.begin = piece.begin, part.size = piece.size(),
          part.at = piece.at - share.elements(b, share.rounds.count()).begin;
        }
      return parts;
    }
    const World& world;
  };
  Elements elements(Elements::of(*this, reduced, present), world);
  return options.change(elements);
}

// Throws on every process unless all make this step, with the same number of batches, rates and frozen parameters.
// Returns the bytes of a batch's running statistics.
int64_t Share::meet() {
  const std::string rates = optim::UpdateShare(optimizer).rates();
  const auto hash = static_cast<int64_t>(std::hash<std::string>()(rates));
  const int64_t step = optimizer.steps() + 1, bytes = statistics_bytes();
  const int64_t least = !has_equal_updates() ? -1 : sums.own.size() == 0 ? std::numeric_limits<int64_t>::max() : bytes;
  const Met met =
      group().meet(kShareName, {.call = Call::step, .sizes = {step, sums.all.size(), hash}}, {least, bytes});
  const int64_t *first = met.first.sizes, *other = met.other.sizes;
  if (first[0] != other[0] || first[1] != other[1])
    world.require_equal(kShareName, "step", fmt::format("step {} of {} batches", step, sums.all.size()));
  if (first[2] != other[2]) world.require_equal(kShareName, fmt::format("rates in step {}", step), rates);
  if (met.range.least != met.range.most)
    fail(kShareName, "expected every batch to update the running statistics of the same modules, in the same order");
  return met.range.most;
}

Share::~Share() {
  if (posted)
    group().keep(
        std::make_shared<std::pair<std::vector<Moving>, std::vector<Nodes>>>(std::move(moving), std::move(nodes)));
}

double Share::update() {
  forward_updates.reset();
  int64_t statistics = 0;
  const std::vector<uint8_t> present = [&] {
    const Stopwatch waiting(times.gradients_s);  // also for slower processes
    complete();
    statistics = meet();
    return exchange_flags_and_terms();
  }();
  const bool any = sums.most(sums.all) > 0;
  const double whole = any ? sums.factor() : 1;
  std::vector<Tensor> sums_of;  // before other Errors: then no message is under way
  for (std::size_t b = 0; b < buckets.size(); ++b) sums_of.push_back(reduced(b, whole));
  posted = false;
  if (!any) sums.factor();  // the Error
  if (present.back())
    world.agree(
        unknown.empty()
            ? std::string()
            : error_text(kShareName, fmt::format("the gradient of {} belongs to no parameter of the optimiser (does "
                                                 "a visit leave out a member? ignore(nn::parameters(other)) is for the "
                                                 "parameters of another model)",
                                                 unknown)));
  const double norm = options.changes_gradients() ? change(sums_of, present) : 0;
  std::vector<Tensor> grads(parameters.size());
  for (std::size_t p = 0; p < parameters.size(); ++p)
    if (present[p]) grads[p] = Tensor::empty({0}, parameters[p].tensor.dtype());
  for (std::size_t b = 0; b < buckets.size(); ++b)
    for (const Piece& piece : own_pieces(b))
      if (present[piece.parameter])
        grads[piece.parameter] = sums_of[b].view({piece.size()}, {1}, piece.at - elements(b, rounds.count()).begin);
  optim::UpdateShare share(optimizer);
  std::string error;  // of this process's elements; all processes must hear of it before one of them updates
  try {
    share.check(grads);
  } catch (const Error& e) {
    error = e.what();
  }
  world.agree(error);
  share.step(grads);
  send_parameters(present);
  ++times.steps;
  make_forward_updates(statistics);
  group().set_step(-1);
  return norm;
}

}  // namespace tapegrad::distributed::detail
