// Tangents: how they are computed, found and dropped.
// build: -Os
#include <tapegrad/autograd/autocast.h>
#include <tapegrad/autograd/detail/dead_tensors.h>
#include <tapegrad/autograd/detail/forward_pass.h>
#include <tapegrad/autograd/detail/layers.h>
#include <tapegrad/autograd/detail/tape_memory.h>
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/ops.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace tapegrad::detail {
namespace {

Tangents* passes = nullptr;  // of all threads: a tensor may die on another one. Under mutex_of_tapes()

auto place_in(std::vector<Tangents::Entry>& entries, const TapeIndex& of) {
  return std::lower_bound(entries.begin(), entries.end(), of, [](const Tangents::Entry& entry, const TapeIndex& at) {
    return entry.of.tape != at.tape ? entry.of.tape < at.tape : entry.of.position < at.position;
  });
}

Tensor tangent_in(Tangents& tangents, const Tensor& x) {
  if (!x.defined() || x.tape_index().tape == 0) return {};
  const std::lock_guard lock(mutex_of_tapes());
  const auto found = place_in(tangents.entries, x.tape_index());
  return found != tangents.entries.end() && found->of == x.tape_index() ? found->tangent : Tensor();
}

// y as a new tensor, if it is one that others have, too.
Tensor own_handle(const Tensor& y) { return y.tape_index().tape == 0 ? y : y.view(y.shape(), y.strides()); }

// While one is alive, this thread records in the layers outside a pass only.
class Outside : NonCopyable {
 public:
  Outside(Tangents& pass, Tape** innermost, Tape* outer)
      : pass_(pass), innermost_(innermost), before_(std::exchange(*innermost, outer)) {
    pass.inner = before_;
  }
  ~Outside() {
    *innermost_ = before_;
    pass_.inner = nullptr;
  }

 private:
  Tangents& pass_;
  Tape** const innermost_;
  Tape* const before_;
};

// One operation, whose tangent is wanted.
struct Recorded {
  const Op& op;
  const Tensor& y;
  Backward& backward;
  const PoolVector<Tensor>& tangents;  // of the inputs

  uint32_t all_but(std::size_t input) const { return input < 32 ? ~(uint32_t{1} << input) : ~uint32_t{0}; }
  Grads gradients(const Tensor& dy, uint32_t unwanted) const {
    Grads found = backward(dy, BackwardPass{.retained = true, .unwanted = unwanted});
    Layers::require_count(op, found, tangents.size());
    return found;
  }
  Tensor by_symmetry() const;
  Tensor by_own_rule() const;
  Tensor by_backward() const;
};

Tensor Recorded::by_own_rule() const {
  Grads found = backward(y, BackwardPass{.retained = true, .tangents = tangents});
  if (found.size() == 0) return {};
  Tensor& tangent = found[0];
  const bool has_type = !tangent.defined() || tangent.dtype() == y.dtype() || is_half(y.dtype());
  if (found.size() > 1 || !has_type || (tangent.defined() && !(tangent.shape() == y.shape())))
    fail(op, "expected a tangent {} {} from its backward (BackwardPass::tangents), got {}", y.dtype(), y.shape(),
         found.size() > 1 ? fmt::format("{} gradients", found.size())
                          : fmt::format("{} {}", name(tangent.dtype()), str(tangent.shape())));
  return std::move(tangent);
}

// y' = J1 x1' + J2 x2' + ..., where a backward gives J^T dy, which is J dy. Undefined if it cannot be used so.
Tensor Recorded::by_symmetry() const {
  Tensor sum;
  for (std::size_t i = 0; i < tangents.size(); ++i) {
    if (!tangents[i].defined()) continue;
    if (tangents[i].dtype() != y.dtype()) return {};
    const bool spread = !(tangents[i].shape() == y.shape());
    Grads part = gradients(spread ? tangents[i].expand(y.shape()) : tangents[i], all_but(i));
    if (!part[i].defined()) continue;
    if (!(part[i].shape() == y.shape())) return {};
    sum = sum.defined() ? add(sum, part[i]) : std::move(part[i]);
  }
  return sum.defined() ? sum : zeros(y.shape(), y.dtype());
}

// The gradients are linear in dy: y' = d<gradients, tangents> / d(dy), by a backward of this operation alone.
Tensor Recorded::by_backward() const {
  std::optional<Tape> own;
  if (!Tape::for_backward()) own.emplace(OuterTensors::tangents);
  Tape& tape = *Tape::for_backward();
  const Tensor dy = Tape::variable(zeros(y.shape(), is_half(y.dtype()) ? kFloat32 : y.dtype()));
  uint32_t unwanted = 0;
  for (std::size_t i = 0; i < std::min<std::size_t>(tangents.size(), 32); ++i) {
    if (!tangents[i].defined()) unwanted |= uint32_t{1} << i;
  }
  Grads grads = gradients(dy, unwanted);
  Tensor product, weights;  // the last gradient with its tangent, or the sum of all products
  int64_t terms = 0;
  for (std::size_t i = 0; i < tangents.size(); ++i) {
    if (!tangents[i].defined() || !grads[i].defined() || tape.position_of(grads[i]) < 0) continue;
    const Tensor v = tangents[i].shape() == grads[i].shape() ? tangents[i] : tangents[i].expand(grads[i].shape());
    if (terms == 1) product = sum(product * weights);
    if (terms > 0) product = product + sum(grads[i] * v);
    if (terms == 0) product = grads[i], weights = v;
    if (++terms == 2) weights = Tensor();
  }
  if (!product.defined()) return {};
  const bool recorded = !own || Layers::take_part(*own);
  const Gradients found =
      Layers::run_inside(tape, product, {.create_graph = recorded, .grad_output = weights, .keep = {}, .only = {dy}});
  const Tensor* const tangent = found.find(dy);
  if (!tangent || !own) return tangent ? *tangent : Tensor();
  own.reset();
  const Tensor result = tangent->view(tangent->shape(), tangent->strides());
  if (Tape::current()) Layers::copy_tangents(*tangent, result);
  return result;
}

// In the layers outside the pass.
Tensor tangent_of(Tangents& pass, const Recorded& of) {
  const Autocast as_recorded(kFloat32);  // as in backward
  Tensor found;
  // A fused backward records nothing, so that layers outside would take its results for constants.
  const bool may_be_fused = of.op.twice || !Tape::current();
  if (of.op.tangent == TangentRule::symmetric && may_be_fused) found = of.by_symmetry();
  if (of.op.tangent == TangentRule::written && may_be_fused) found = of.by_own_rule();
  if (found.defined()) return found;
  if (of.op.twice) return of.by_backward();
  if (!pass.may_refuse) of.op.fail("has no tangent: its backward is a fused kernel (compose it of plain operations)");
  pass.refused = true;
  return {};
}

}  // namespace

// --- layers ---

Tape* Layers::outside(const Tape& tape) {
  if (!tape.layered_) return nullptr;
  Tape* const outer = tape.outer_;
  const bool records = outer && outer->state_ == Tape::State::recording && outer->pauses_ == 0;
  return records && (tape.tangents_ || outer->layered_) ? outer : nullptr;
}

Tape* Layers::tape_of(Tape* tape) {
  while (tape && tape->tangents_) tape = outside(*tape);
  return tape;
}

bool Layers::take_part(const Tape& tape) { return tape.layered_; }

bool Layers::any_differentiates(Tape& top, const Tensor& x) {
  for (Tape* layer = &top; layer; layer = outside(*layer)) {
    if (layer->tangents_ ? tangent_in(*layer->tangents_, x).defined() : layer->position_of(x) >= 0) return true;
  }
  return false;
}

// The forward passes among the layers, the outermost first.
PoolVector<Tape*> Layers::passes_of(Tape& top) {
  PoolVector<Tape*> found;
  for (Tape* layer = &top; layer; layer = outside(*layer)) {
    if (layer->tangents_) found.insert(found.begin(), layer);
  }
  return found;
}

// The outer run keeps its sums, and is not disturbed otherwise: this one is of later operations.
Gradients Layers::run_inside(Tape& tape, const Tensor& loss, const BackwardOptions& options) {
  TapeMemory& memory = *tape.memory_;
  struct Kept {
    TapeMemory& memory;
    PoolVector<Tensor> sums = {};
    PoolVector<uint8_t> needed = {};
    void exchange() { memory.sums.swap(sums), memory.needed.swap(needed); }
    ~Kept() { exchange(); }
  };
  Kept kept{memory};
  kept.exchange();
  return run_backward(tape, loss, options);
}

void Layers::give(const Tape& pass, const Tensor& y, Tensor tangent) {
  const std::lock_guard lock(mutex_of_tapes());
  Tangents& to = *pass.tangents_;
  if (y.tape_index().tape == 0) y.set_tape_index({pass.id_, to.numbered++});
  to.entries.insert(place_in(to.entries, y.tape_index()), {y.tape_index(), std::move(tangent)});
}

void Layers::copy_tangents(const Tensor& x, const Tensor& y) {
  for (const Tape* pass : passes_of(*Tape::current())) {
    Tensor tangent = tangent_in(*pass->tangents_, x);
    if (tangent.defined()) give(*pass, y, std::move(tangent));
  }
}

Tensor Layers::record(Tape& top, const Op& op, Tensor y, std::initializer_list<Input> inputs, Backward&& backward,
                      Reads reads) {
  const PoolVector<Tensor> all(inputs.begin(), inputs.end());
  return record(top, op, std::move(y), std::span<const Tensor>(all), std::move(backward), reads);
}

Tensor Layers::record(Tape& top, const Op& op, Tensor y, std::span<const Tensor> inputs, Backward&& backward,
                      Reads reads) {
  Backward* kept = &backward;
  bool is_new = false;
  if (Tape* const tape = tape_of(&top)) {
    const int64_t before = tape->size();
    y = push(*tape, op, std::move(y), inputs, std::move(backward), reads);
    is_new = tape->size() > before && y.tape_index().tape == tape->id_ && y.tape_index().position >= before;
    if (is_new) kept = &tape->memory_->node(y.tape_index().position).backward;
  }
  if (!is_floating(y.dtype())) return y;
  for (Tape* const pass : passes_of(top)) {
    PoolVector<Tensor> tangents;
    bool any = false;
    for (const Tensor& x : inputs) {
      tangents.push_back(tangent_in(*pass->tangents_, x));
      any |= tangents.back().defined();
    }
    if (!any) continue;
    if (!*kept) op.fail(kNoBackward);
    if (!is_new) y = own_handle(y);
    is_new = true;
    Tensor tangent;
    {
      const Outside outside(*pass->tangents_, pass->thread_, pass->outer_);
      tangent = tangent_of(*pass->tangents_, {op, y, *kept, tangents});
    }
    if (tangent.defined()) give(*pass, y, std::move(tangent));
  }
  return y;
}

bool Layers::is_inner(uint64_t tape, const void* thread) {
  const std::lock_guard lock(mutex_of_tapes());
  for (const Tangents* tangents = passes; tangents; tangents = tangents->next) {
    const Tape* const pass = tangents->pass;
    if (pass->thread_ != thread) continue;
    if (pass->id_ == tape) return true;
    for (const Tape* inner = tangents->inner; inner && inner != pass; inner = inner->outer_)
      if (inner->id_ == tape) return true;
  }
  return false;
}

void forget_tangents(uint64_t tape, int64_t position) noexcept {
  const TapeIndex of{tape, position};
  std::vector<Tensor> dead;  // freed when the list is no longer locked: their tangents follow
  const std::lock_guard lock(mutex_of_tapes());
  for (Tangents* pass = passes; pass; pass = pass->next) {
    const auto found = place_in(pass->entries, of);
    if (found == pass->entries.end() || !(found->of == of)) continue;
    dead.push_back(std::move(found->tangent));
    pass->entries.erase(found);
  }
}

// --- a pass ---

ForwardPass::ForwardPass(Refusal refusal)
    : tangents_(refusal == Refusal::noted), tape_(OuterTensors::constants, &tangents_) {
  tangents_.pass = &tape_;
  const std::lock_guard lock(mutex_of_tapes());
  tangents_.next = std::exchange(passes, &tangents_);
}

ForwardPass::~ForwardPass() {
  const std::lock_guard lock(mutex_of_tapes());
  Tangents** link = &passes;
  while (*link != &tangents_) link = &(*link)->next;
  *link = tangents_.next;
}

Tensor ForwardPass::variable(const Tensor& x, const Tensor& v) const {
  const Tensor y = Tape::variable(x);
  Layers::give(tape_, y, v.is_leaf() ? Tape::variable(v) : v);  // a leaf's own handle would change with the leaf
  return y;
}

Tensor ForwardPass::tangent(const Tensor& y) const {
  const Tensor found = tangent_in(*tape_.tangents_, y);
  return found.defined() ? found : zeros(y.shape(), y.dtype());
}

Tensor ForwardPass::result(const Tensor& y) const {
  const Tape* const outer = Tape::for_backward();
  const bool is_outer = y.is_leaf() ? outer != nullptr : outer && y.tape_index().tape == outer->id_;
  if (is_outer || y.tape_index().tape == 0) return y;
  const Tensor value = y.detach();  // of this pass, or of a tape in it
  const Outside outside(*tape_.tangents_, tape_.thread_, tape_.outer_);
  if (Tape::current() && Tape::current()->layered_) Layers::copy_tangents(y, value);
  return value;
}

}  // namespace tapegrad::detail
