// The way of gradients and parameters through the processes.
#include <fmt/format.h>
#include <tapegrad/autograd/leaf_names.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/parallel.h>
#include <tapegrad/autograd/profiler.h>
#include <tapegrad/distributed/detail/share.h>
#include <tapegrad/optim/internal/share.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>
#include <numeric>

namespace tapegrad::distributed::detail {
namespace {

constexpr std::string_view kWhere = "data_parallel";

class Stopwatch {
 public:
  explicit Stopwatch(double& sum) : sum_(sum), start_(std::chrono::steady_clock::now()) {}
  ~Stopwatch() { sum_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

 private:
  double& sum_;
  const std::chrono::steady_clock::time_point start_;
};

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
    : world(world), optimizer(optimizer), options(options), sums(sums), parameters(optimizer.parameters()) {
  optim::UpdateShare update_share(optimizer);
  world.require_equal(kWhere, "parameters", description(parameters));
  copy_parameters();
  constexpr int64_t kBucketBytes = int64_t{4} << 20, kBytesPerProcess = int64_t{512} << 10;
  const int64_t bytes =
      options.bucket_bytes > 0 ? options.bucket_bytes : std::max(kBucketBytes, size() * kBytesPerProcess);
  buckets = make_buckets(parameters, size(), bytes, update_share.may_cut());
  bucket_of.resize(parameters.size(), buckets.size());
  pieces_of.resize(parameters.size());
  std::vector<optim::UpdateShare::Range> own(parameters.size());
  for (std::size_t b = 0; b < buckets.size(); ++b) {
    for (const std::size_t p : buckets[b].parameters) bucket_of[p] = b;
    for (int r = 0; r < size(); ++r) {
      for (const Piece& piece : buckets[b].pieces[static_cast<std::size_t>(r)]) {
        pieces_of[piece.parameter].emplace_back(r, piece);
        if (r == rank()) own[piece.parameter] = {piece.begin, piece.end};
      }
    }
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
    p.tensor.prepare_write(kWhere, p.name);
    group().broadcast(p.tensor.mutable_raw_data(), p.tensor.numel() * item_size(p.tensor.dtype()), 0);
  }
}

void Share::begin() {
  group().set_step(optimizer.steps() + 1);
  nodes.assign(static_cast<std::size_t>(size()), {});
  for (int r = 0; r < size(); ++r)
    add_nodes(sums.all, terms_of(r, size(), sums.all.size()), nodes[static_cast<std::size_t>(r)]);
  moving.clear();
  moving.resize(buckets.size());
  for (std::size_t b = 0; b < buckets.size(); ++b) moving[b].missing = buckets[b].parameters.size();
  arrived.assign(parameters.size(), 0);
  unknown.clear();
  posted = false;
  updates.clear();
  forward_updates.emplace();
}

void Share::post_receives() {
  posted = true;
  for (std::size_t b = 0; b < buckets.size(); ++b) {
    const Bucket& bucket = buckets[b];
    Moving& to = moving[b];
    to.mine = Tensor::empty({own_nodes() * bucket.total}, bucket.dtype);
    const int64_t own = bucket.count[me()];
    int64_t rows = 0;
    for (const auto& theirs : nodes) rows += static_cast<int64_t>(theirs.size());
    to.received = Tensor::empty({(rows - own_nodes()) * own}, wire_of(bucket));
    to.exchange = group().exchange();
    int64_t at = 0;
    for (int r = 0; r < size(); ++r) {
      const int64_t n = static_cast<int64_t>(nodes[static_cast<std::size_t>(r)].size()) * own;
      if (r == rank() || n == 0) continue;
      to.exchange->receive(bytes_at(to.received, at), n * item_size(to.received.dtype()), r, static_cast<int>(2 * b));
      at += n;
    }
  }
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
    fail(kWhere, fmt::format("\"{}\" was frozen when the DataParallel was made (freeze and unfreeze before)",
                             parameters[parameter].name));
  const Tensor packed = grad.defined() ? grad.detach().contiguous() : grad;
  with_floating_type(buckets[b].dtype, [&](auto t) { write<decltype(t)>(buckets[b], moving[b], parameter, packed); });
  if (--moving[b].missing == 0 && options.overlap) start(b);
}

template <class T>
void Share::write(const Bucket& bucket, const Moving& to, std::size_t parameter, const Tensor& grad) {
  const int64_t last = own_nodes() - 1;
  const Tensor& leaf = parameters[parameter].tensor;
  bool any = grad.defined();
  for (const auto& entry : pieces_of[parameter]) {
    const auto owner = static_cast<std::size_t>(entry.first);
    const Piece& piece = entry.second;
    T* const first = static_cast<T*>(to.mine.mutable_raw_data()) + own_nodes() * bucket.first[owner] + piece.at;
    const auto row = [&](int64_t node) { return first + node * bucket.count[owner]; };
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

// The sums of a bucket leave.
void Share::start(std::size_t b) {
  const Bucket& bucket = buckets[b];
  Moving& from = moving[b];
  from.sent = from.mine.to(wire_of(bucket));
  for (int step = 1; step < size(); ++step) {  // each process to another one at first
    const int r = (rank() + step) % size();
    const int64_t n = own_nodes() * bucket.count[static_cast<std::size_t>(r)];
    if (n == 0) continue;
    const int64_t bytes = n * item_size(from.sent.dtype());
    from.exchange->send(bytes_at(from.sent, own_nodes() * bucket.first[static_cast<std::size_t>(r)]), bytes, r,
                        static_cast<int>(2 * b));
    times.bytes_sent += bytes;
  }
  from.started = true;
}

// Messages of the oldest bucket that is under way move on.
void Share::progress() {
  for (Moving& one : moving) {
    if (!one.started || one.done) continue;
    one.done = one.exchange->done();
    if (!one.done) return;
  }
}

// What backward did not reach has no gradient in the last batch.
void Share::complete() {
  if (!posted) post_receives();
  for (const auto& node : sums.nodes)
    for (const Gradients::Entry& entry : node.grads) note_unknown(entry.place, entry.grad);
  for (std::size_t b = 0; b < buckets.size(); ++b) {
    if (moving[b].started) continue;
    if (own_nodes() > 0 && moving[b].missing > 0) {
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
  const Bucket& bucket = buckets[b];
  Moving& from = moving[b];
  {
    const Stopwatch waiting(times.gradients_s);
    group().wait(*from.exchange, "the gradients");
  }
  const int64_t n = bucket.count[me()];
  const int64_t begin = own_nodes() * bucket.first[me()];
  // The sums of this process are rounded like those of the others.
  const Tensor own = from.sent.view({own_nodes() * n}, {1}, begin).to(bucket.dtype),
               others = from.received.to(bucket.dtype);
  const Tensor sum = Tensor::empty({n}, bucket.dtype);
  if (n > 0)
    with_floating_type(bucket.dtype, [&]<class T>(T) {
      struct Sum {
        Terms node;
        T* at;
        explicit operator bool() const { return at != nullptr; }
      };
      std::vector<Sum> known;
      T* received = static_cast<T*>(others.mutable_raw_data());
      T* mine = static_cast<T*>(own.mutable_raw_data());
      for (std::size_t r = 0; r < nodes.size(); ++r) {
        for (const Terms& node : nodes[r]) {
          T*& at = r == me() ? mine : received;
          known.push_back({node, at});
          at += n;
        }
      }
      const auto given = [&](const Terms& node) -> Sum {
        const auto found = std::find_if(known.begin(), known.end(), [&](const Sum& k) { return k.node == node; });
        return found == known.end() ? Sum{node, nullptr} : *found;
      };
      const auto total = fold<Sum>(sums.all, given, [this, n](const Sum& a, const Sum& b) {
        const auto [factor, other] = sums.factors(a.node, b.node);
        multiply(a.at, factor, n);
        multiply(b.at, other, n);
        add(a.at, b.at, n);
        return Sum{{a.node.begin, b.node.end}, a.at};
      });
      std::memcpy(sum.mutable_raw_data(), total.at, static_cast<std::size_t>(n) * sizeof(T));
      multiply(static_cast<T*>(sum.mutable_raw_data()), whole, n);
    });
  from = {};
  return sum;
}

// Each process learns the terms of all batches. Returns by parameter whether any process has a gradient of it; then one
// entry: whether any has an unknown one.
std::vector<uint8_t> Share::exchange_flags_and_terms() {
  std::vector<uint8_t> own = arrived;
  own.push_back(unknown.empty() ? 0 : 1);
  const std::size_t flags = own.size(), terms = sums.terms.size() * sizeof(double), row = flags + terms;
  own.resize(row);
  std::memcpy(own.data() + flags, sums.terms.data(), terms);
  std::vector<uint8_t> all(row * static_cast<std::size_t>(size()));
  group().all_gather(own.data(), static_cast<int64_t>(row), all.data(), "the gradients");
  own.assign(flags, 0);
  for (int r = 0; r < size(); ++r) {
    const uint8_t* const theirs = all.data() + static_cast<std::size_t>(r) * row;
    for (std::size_t i = 0; i < flags; ++i) own[i] |= theirs[i];
    const Terms batches = terms_of(r, size(), sums.all.size());
    std::memcpy(sums.terms.data() + batches.begin,
                theirs + flags + static_cast<std::size_t>(batches.begin) * sizeof(double),
                static_cast<std::size_t>(batches.size()) * sizeof(double));
  }
  return own;
}

// Clipping and transforms of the elements that this process updates. `reduced`: by bucket.
double Share::change(std::vector<Tensor>& reduced, const std::vector<uint8_t>& present) const {
  struct Elements : optim::StepGradients {
    Elements(Parts parts, const World& all) : StepGradients(std::move(parts)), world(all) {}
    Tensor over_processes(const Tensor& x) const override { return world.all_reduce(x); }
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
        for (const Piece& piece : share.buckets[b].pieces[share.me()]) {
          if (!present[piece.parameter]) continue;
          Part& part = parts[part_of[piece.parameter]];
          part.grad = &reduced[b];
          part.begin = piece.begin, part.size = piece.size(), part.at = piece.at;
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
  const auto all = group().meet(
      kWhere,
      {.call = Call::step, .sizes = {step, sums.all.size(), hash, bytes, sums.own.size(), has_equal_updates()}});
  int64_t most = 0;
  for (const Meeting& one : all) most = std::max(most, one.sizes[3]);
  for (const Meeting& one : all) {
    if (one.sizes[0] != all[0].sizes[0] || one.sizes[1] != all[0].sizes[1])
      world.require_equal(kWhere, "step", fmt::format("step {} of {} batches", step, sums.all.size()));
    if (one.sizes[2] != all[0].sizes[2]) world.require_equal(kWhere, fmt::format("rates in step {}", step), rates);
    if (one.sizes[5] == 0 || (one.sizes[4] > 0 && one.sizes[3] != most))
      fail(kWhere, "expected every batch to update the running statistics of the same modules, in the same order");
  }
  return most;
}

Share::~Share() {
  if (posted) group().keep(std::make_shared<std::vector<Moving>>(std::move(moving)));
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
            : error_text(kWhere, fmt::format("the gradient of {} belongs to no parameter of the optimiser (does "
                                             "a visit leave out a member? ignore(nn::parameters(other)) is for the "
                                             "parameters of another model)",
                                             unknown)));
  const double norm = options.changes_gradients() ? change(sums_of, present) : 0;
  std::vector<Tensor> grads(parameters.size());
  for (std::size_t p = 0; p < parameters.size(); ++p)
    if (present[p]) grads[p] = Tensor::empty({0}, parameters[p].tensor.dtype());
  for (std::size_t b = 0; b < buckets.size(); ++b)
    for (const Piece& piece : buckets[b].pieces[me()])
      if (present[piece.parameter]) grads[piece.parameter] = sums_of[b].view({piece.size()}, {1}, piece.at);
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

// Each process sends its elements to all others, bucket by bucket: the next one is under way while one is unpacked.
void Share::send_parameters(const std::vector<uint8_t>& present) {
  const ProfileScope scope("all_gather parameters", ProfilePhase::optimizer);
  struct Packed {
    Tensor all;  // by rank and piece
    std::unique_ptr<Exchange> exchange;
  };
  const auto each_piece = [&](std::size_t b, std::size_t r, const Tensor& all, const auto& f) {
    for (const Piece& piece : buckets[b].pieces[r]) {
      const Tensor& leaf = parameters[piece.parameter].tensor;
      f(bytes_at(leaf, piece.begin), bytes_at(all, buckets[b].first[r] + piece.at),
        static_cast<std::size_t>(piece.size() * item_size(leaf.dtype())), piece.parameter);
    }
  };
  const auto begin = [&](std::size_t b) {
    const Bucket& bucket = buckets[b];
    Packed packed{Tensor::empty({bucket.total}, bucket.dtype), group().exchange()};
    each_piece(b, me(), packed.all,
               [](char* own, char* out, std::size_t bytes, std::size_t) { std::memcpy(out, own, bytes); });
    for (int step = 1; step < size(); ++step) {
      const int to = (rank() + step) % size(), from = (rank() + size() - step) % size();
      const auto theirs = static_cast<std::size_t>(from);
      const auto bytes = [&](std::size_t r) { return bucket.count[r] * item_size(bucket.dtype); };
      const int tag = static_cast<int>(2 * b + 1);
      if (bucket.count[theirs] > 0)
        packed.exchange->receive(bytes_at(packed.all, bucket.first[theirs]), bytes(theirs), from, tag);
      if (bucket.count[me()] > 0) {
        packed.exchange->send(bytes_at(packed.all, bucket.first[me()]), bytes(me()), to, tag);
        times.bytes_sent += bytes(me());
      }
    }
    return packed;
  };
  Packed next;
  for (std::size_t b = 0; b < buckets.size(); ++b) {
    Packed packed = b == 0 ? begin(0) : std::move(next);
    if (b + 1 < buckets.size()) next = begin(b + 1);
    {
      const Stopwatch waiting(times.parameters_s);
      group().wait(*packed.exchange, "the parameters");
    }
    for (std::size_t r = 0; r < nodes.size(); ++r) {
      if (r == me()) continue;
      each_piece(b, r, packed.all, [&](char* own, const char* in, std::size_t bytes, std::size_t parameter) {
        if (present[parameter]) std::memcpy(own, in, bytes);
      });
    }
  }
}

}  // namespace tapegrad::distributed::detail
