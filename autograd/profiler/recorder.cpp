// Measures: the spans that are open on each thread, the modules that they belong to, and what remains of them.
#include <fmt/format.h>
#include <tapegrad/autograd/detail/module_places.h>
#include <tapegrad/autograd/detail/profile.h>
#include <tapegrad/autograd/detail/profile_log.h>
#include <tapegrad/autograd/detail/tape_memory.h>
#include <tapegrad/autograd/leaf_names.h>
#include <tapegrad/autograd/profiler.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace tapegrad {

constinit std::atomic<bool> detail::profiling{false};

namespace detail {
namespace {

constexpr std::size_t kMostPending = 4096;
constexpr std::size_t kMostSteps = 100'000;

constinit thread_local int64_t flops_here = 0;

enum class Kind : uint8_t {
  operation,
  node,   // an operation's backward
  scope,  // a phase, or a part of the program that the user has named
};

struct Span {
  Kind kind;
  ProfilePhase phase;
  uint32_t name, module, shapes;
  bool has_module;  // known from a parameter, or from the tape
  bool noted;       // its inputs are known
  bool repeated;    // within itself: its time is already in the sum
  int64_t begin, flops_before;
  int64_t inside, phases_inside;  // time of the spans and of the phases in it
  int64_t workers, bytes;

  // Whether spans in it are listed as what it calls.
  bool calls() const { return kind != Kind::scope || phase == ProfilePhase::optimizer || phase == ProfilePhase::data; }
};

// The open spans of one thread, and what it needs to find names quickly.
class Recorder {
 public:
  // Of this thread, for the current session.
  static Recorder& here() {
    thread_local Recorder recorder;
    const uint64_t session = ProfileSession::get().number.load(std::memory_order_acquire);
    if (!recorder.log_ || recorder.log_->session != session) recorder.join(session);
    return recorder;
  }

  uint32_t name_of(std::string_view text) {
    auto& [known, number] = names_[text.data()];
    if (!known || *known != text) {
      number = texts_->number(text);
      known = &(*texts_)[number];
    }
    return number;
  }

  void begin(Kind kind, uint32_t name, ProfilePhase phase) { begin_at(profile_clock(), kind, name, phase); }
  void begin(Kind kind, uint32_t name) { begin(kind, name, phase()); }

  void end() {
    if (open_.empty()) return;  // began in an earlier session
    const int64_t now = profile_clock();
    const Span span = open_.back();
    open_.pop_back();
    first_tensor_ = 0;
    const int64_t duration = now - span.begin, flops = flops_here - span.flops_before;
    const bool outermost = !caller();
    const bool is_phase =
        span.kind == Kind::scope ? span.phase != ProfilePhase::other : outermost && span.phase == ProfilePhase::forward;
    if (!open_.empty()) {
      open_.back().inside += duration;
      open_.back().phases_inside += is_phase ? duration : span.phases_inside;
      open_.back().workers += span.workers;
    }
    const Sum sum{.calls = 1,
                  .total = span.repeated ? 0 : duration,
                  .self = duration - span.inside,
                  .workers = span.repeated ? 0 : span.workers,
                  .flops = span.repeated ? 0 : flops,
                  .bytes = span.bytes};
    const SumKey key{span.name, outermost ? 0 : caller()->name, outermost ? span.module : 0, span.phase, !span.calls()};
    const std::lock_guard lock(log_->mutex);
    if (is_phase) log_->phases[static_cast<std::size_t>(span.phase)] += duration - span.phases_inside;
    const int64_t event = add_event({span.name, outermost ? span.module : 0, span.shapes, span.phase, false, span.begin,
                                     duration, flops, span.bytes});
    if (span.kind != Kind::operation || !outermost || span.phase != ProfilePhase::forward) {
      log_->sums[key].add(sum);
    } else if (span.has_module) {
      settle(common_module((*texts_)[last_module_], (*texts_)[span.module]));
      last_module_ = span.module;
      log_->sums[key].add(sum);
    } else {
      log_->pending.push_back({key, sum, event});
      if (log_->pending.size() == kMostPending) settle("");
    }
  }

  // Operations after the last parameter belong to the whole model.
  void end_forward() {
    const std::lock_guard lock(log_->mutex);
    settle("");
    last_module_ = 0;
  }

  void note_inputs(std::span<const Input> inputs) {
    Span& span = open_.back();
    if (span.noted) return;
    span.noted = true;
    uint64_t hash = 0xcbf29ce484222325u;
    for (const Tensor& x : inputs) {
      if (!x.defined()) continue;
      span.bytes += bytes_of(x);
      for (const int64_t size : x.shape()) hash = (hash ^ static_cast<uint64_t>(size)) * 0x100000001b3u;
      hash = (hash ^ 0x5b) * 0x100000001b3u;
      if (x.is_leaf()) add_module(x.tape_index(), span.module, span.has_module);
    }
    span.shapes = shapes_of(hash, inputs);
  }
  void note_result(const Tensor& y, std::span<const Input> inputs) {
    const auto is_viewed = [&](const Tensor& x) { return x.defined() && x.storage() == y.storage(); };
    Span& span = open_.back();
    span.bytes = std::any_of(inputs.begin(), inputs.end(), is_viewed) ? 0 : span.bytes + bytes_of(y);
  }
  void note_shapes(const Tensor& dy) {
    uint64_t hash = 0xcbf29ce484222325u;
    for (const int64_t size : dy.shape()) hash = (hash ^ static_cast<uint64_t>(size)) * 0x100000001b3u;
    hash = (hash ^ 0x5b) * 0x100000001b3u;
    const Input input(dy);
    open_.back().shapes = shapes_of(hash, {&input, 1});
  }
  static int64_t bytes_of(const Tensor& x) {
    return std::min(x.numel() * item_size(x.dtype()), x.storage().bytes());  // an expanded tensor has fewer
  }

  void mark_beginning() {
    if (first_tensor_ == 0) first_tensor_ = profile_clock();
  }
  void mark_end() { first_tensor_ = 0; }
  // An operation that has no timer.
  void enter_without_timer(uint32_t name, const Tensor& y, std::span<const Input> inputs) {
    begin_at(first_tensor_ != 0 ? first_tensor_ : profile_clock(), Kind::operation, name, phase());
    note_inputs(inputs);
    note_result(y, inputs);
    end();
  }

  void begin_node(uint32_t name, int64_t position) {
    begin(Kind::node, name);
    Span& span = open_.back();
    span.has_module = true;
    span.noted = true;
    const auto at = static_cast<std::size_t>(position);
    span.module = at < node_modules_.size() ? node_modules_[at] : 0;
  }
  // The modules of the nodes up to `start`: between two parameters, the innermost module that has both.
  std::vector<uint32_t> use_modules(const TapeMemory& memory, int64_t start) {
    const auto own = [&](std::size_t i) {
      const Node& node = memory.node(static_cast<int64_t>(i));
      uint32_t module = 0;
      bool found = false;
      for (const int64_t from : memory.inputs_of(node)) {
        if (from < 0) continue;
        const Tensor& leaf = memory.node(from).leaf;
        if (leaf.defined()) add_module(leaf.tape_index(), module, found);
      }
      return found ? std::optional(module) : std::nullopt;
    };
    const auto common = [&](uint32_t a, uint32_t b) {
      return texts_->number(common_module((*texts_)[a], (*texts_)[b]));
    };
    const std::size_t count = static_cast<std::size_t>(start) + 1;
    return std::exchange(node_modules_, modules_of_nodes<uint32_t>(count, own, common));
  }
  void restore_modules(std::vector<uint32_t> modules) { node_modules_ = std::move(modules); }

  // Of what begins now.
  ProfilePhase phase() const {
    for (std::size_t i = open_.size(); i-- > 0;) {
      if (open_[i].kind == Kind::scope && open_[i].phase != ProfilePhase::other) return open_[i].phase;
    }
    return ProfilePhase::forward;
  }
  Span* innermost() { return open_.empty() ? nullptr : &open_.back(); }
  ThreadLog& log() { return *log_; }

  // The log must be locked. Returns the event's place, or -1 if there is no more room.
  int64_t add_event(const Event& event) {
    ProfileSession& session = ProfileSession::get();
    if (session.event_room.fetch_sub(1, std::memory_order_relaxed) <= 0) {
      session.event_room.fetch_add(1, std::memory_order_relaxed);
      session.events_left_out.fetch_add(1, std::memory_order_relaxed);
      return -1;
    }
    log_->events.push_back(event);
    return static_cast<int64_t>(log_->events.size()) - 1;
  }

 private:
  void join(uint64_t number) {
    *this = Recorder();
    log_ = std::make_shared<ThreadLog>();
    log_->session = number;
    ProfileSession& session = ProfileSession::get();
    const std::lock_guard lock(session.mutex);
    log_->number = static_cast<int>(session.logs.size());
    session.logs.push_back(log_);
    texts_ = session.texts;
  }

  // The outermost open operation.
  const Span* caller() const {
    const auto at = std::find_if(open_.begin(), open_.end(), [](const Span& span) { return span.calls(); });
    return at == open_.end() ? nullptr : &*at;
  }

  void begin_at(int64_t now, Kind kind, uint32_t name, ProfilePhase phase) {
    const bool repeated = std::any_of(open_.begin(), open_.end(), [&](const Span& span) {
      return span.name == name && span.phase == phase && span.calls() && &span != caller();
    });
    first_tensor_ = 0;
    open_.push_back({.kind = kind,
                     .phase = phase,
                     .name = name,
                     .module = 0,
                     .shapes = 0,
                     .has_module = false,
                     .noted = false,
                     .repeated = repeated,
                     .begin = now,
                     .flops_before = flops_here,
                     .inside = 0,
                     .phases_inside = 0,
                     .workers = 0,
                     .bytes = 0});
  }

  // An operation with parameters of several modules belongs to the innermost module that has them all.
  void add_module(const TapeIndex& leaf, uint32_t& module, bool& found) {
    uint32_t other = 0;
    if (!find_module(leaf, other)) return;
    module = found && module != other ? texts_->number(common_module((*texts_)[module], (*texts_)[other])) : other;
    found = true;
  }
  // The module of a leaf with a name.
  bool find_module(const TapeIndex& leaf, uint32_t& module) {
    if (const auto at = leaves_.find(leaf.position); at != leaves_.end()) {
      module = at->second;
      return true;
    }
    const std::string name = leaf_name(leaf);
    if (name.empty()) return false;
    const std::size_t dot = name.rfind('.');
    module = texts_->number(std::string_view(name).substr(0, dot == std::string::npos ? 0 : dot));
    leaves_.emplace(leaf.position, module);
    return true;
  }

  uint32_t shapes_of(uint64_t hash, std::span<const Input> inputs) {
    const auto [at, is_new] = shapes_.try_emplace(hash, 0);
    if (is_new) {
      std::string text;
      for (const Tensor& x : inputs) {
        if (x.defined()) text += fmt::format("{}{}", text.empty() ? "" : " ", str(x.shape()));
      }
      at->second = texts_->number(text);
    }
    return at->second;
  }

  // The module of the operations since the last parameter. The log must be locked.
  void settle(std::string_view path) {
    if (log_->pending.empty()) return;
    const uint32_t module = texts_->number(path);
    for (PendingSum& one : log_->pending) {
      one.key.module = module;
      log_->sums[one.key].add(one.sum);
      if (one.event >= 0) log_->events[static_cast<std::size_t>(one.event)].module = module;
    }
    log_->pending.clear();
  }

  std::shared_ptr<ThreadLog> log_;
  std::shared_ptr<Texts> texts_;
  std::vector<Span> open_;
  int64_t first_tensor_ = 0;            // when the first tensor since the last span began or ended was made
  uint32_t last_module_ = 0;            // of the last parameter
  std::vector<uint32_t> node_modules_;  // of the current backward
  std::unordered_map<const char*, std::pair<const std::string*, uint32_t>> names_;
  std::unordered_map<int64_t, uint32_t> leaves_;
  std::unordered_map<uint64_t, uint32_t> shapes_;
};

}  // namespace

void join_session() { Recorder::here(); }

// --- what the engine, kernels and workers report ---

void add_flops(int64_t flops) { flops_here += flops; }

void add_bytes(int64_t bytes) {
  if (Span* const span = Recorder::here().innermost()) span->bytes += bytes;
}

void note_call(const Op& op, const Tensor& y, std::span<const Input> inputs) {
  Recorder& recorder = Recorder::here();
  const uint32_t name = recorder.name_of(op.name);
  const Span* const span = recorder.innermost();
  if (!span || span->kind != Kind::operation || span->name != name) {
    recorder.enter_without_timer(name, y, inputs);
    return;
  }
  recorder.note_inputs(inputs);
  recorder.note_result(y, inputs);
}

void mark_beginning() { Recorder::here().mark_beginning(); }

void mark_end() { Recorder::here().mark_end(); }

void end_step() {
  ProfileSession& session = ProfileSession::get();
  const std::lock_guard lock(session.mutex);
  if (session.end != 0) return;
  ++session.steps;
  if (session.step_ends.size() < kMostSteps) session.step_ends.push_back(profile_clock());
}

void BackwardTimer::begin(const TapeMemory& memory, int64_t start) {
  Recorder& recorder = Recorder::here();
  recorder.end_forward();
  recorder.begin(Kind::scope, recorder.name_of(name(ProfilePhase::backward)), ProfilePhase::backward);
  outer_ = recorder.use_modules(memory, start);
  running_ = true;
}

void BackwardTimer::end() noexcept {
  Recorder& recorder = Recorder::here();
  recorder.restore_modules(std::move(outer_));
  recorder.end();
}

void NodeTimer::begin(const Op& op, int64_t position) {
  Recorder& recorder = Recorder::here();
  recorder.begin_node(recorder.name_of(op.name), position);
  running_ = true;
}

void NodeTimer::note_gradients(const Tensor& dy, Grads& grads) {
  Recorder& recorder = Recorder::here();
  Span* const span = recorder.innermost();
  if (!span) return;
  span->bytes += Recorder::bytes_of(dy);
  for (std::size_t i = 0; i < grads.size(); ++i) {
    if (grads[i].defined() && !(grads[i].storage() == dy.storage())) span->bytes += Recorder::bytes_of(grads[i]);
  }
  recorder.note_shapes(dy);
}

void NodeTimer::end() noexcept { Recorder::here().end(); }

int64_t running_operation() {
  if (!is_profiling()) return -1;
  const Span* const span = Recorder::here().innermost();
  return span ? int64_t{span->name} : -1;
}

WorkerTimer::WorkerTimer(int64_t operation, WorkerShare& share)
    : operation_(operation), share_(share), begin_(profile_clock()), flops_before_(flops_here) {}

WorkerTimer::~WorkerTimer() {
  share_.nanoseconds = profile_clock() - begin_;
  share_.flops = flops_here - flops_before_;
  Recorder& recorder = Recorder::here();
  const std::lock_guard lock(recorder.log().mutex);
  recorder.add_event({static_cast<uint32_t>(operation_), 0, 0, ProfilePhase::other, true, begin_, share_.nanoseconds,
                      share_.flops, 0});
}

void add_share(const WorkerShare& share) {
  flops_here += share.flops;
  if (Span* const span = Recorder::here().innermost()) span->workers += share.nanoseconds;
}

}  // namespace detail

// --- operations and scopes ---

using detail::Recorder;

void OpTimer::start(std::string_view name, std::span<const Input> inputs) {
  Recorder& recorder = Recorder::here();
  recorder.begin(detail::Kind::operation, recorder.name_of(name));
  if (!inputs.empty()) recorder.note_inputs(inputs);
  running_ = true;
}

void OpTimer::stop() noexcept { Recorder::here().end(); }

ProfileScope::ProfileScope(std::string_view name, ProfilePhase phase) : running_(detail::is_profiling()) {
  if (!running_) return;
  Recorder& recorder = Recorder::here();
  if (phase == recorder.phase() && name == tapegrad::name(phase)) {  // it has begun
    running_ = false;
    return;
  }
  recorder.begin(detail::Kind::scope, recorder.name_of(name), phase);
}

ProfileScope::~ProfileScope() {
  if (running_) Recorder::here().end();
}

}  // namespace tapegrad
