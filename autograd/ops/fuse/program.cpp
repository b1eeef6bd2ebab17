// Lowers a formula to calls of kernels on tiles, and runs them.
// build: -Os
#include <tapegrad/autograd/detail/scratch.h>
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/ops/fuse/detail/program.h>

#include <algorithm>

namespace tapegrad {
namespace {

constexpr int64_t kTileBytes = 2048;  // of one intermediate value: a dozen of them stay in the L1 cache

std::size_t to_size(int32_t i) { return static_cast<std::size_t>(i); }

}  // namespace

// Chooses kernels and tiles. A tile is used again when its value was read for the last time.
class FusedProgram::Lowering {
 public:
  explicit Lowering(FusedProgram& program)
      : p_(program),
        place_(p_.terms_.size(), -1),
        reads_(p_.terms_.size(), 0),
        live_(p_.terms_.size(), false),
        calls_(p_.terms_.size()) {}

  void run() {
    find_calls();
    find_pairs();
    for (std::size_t t = 0; t < p_.terms_.size(); ++t) {
      if (live_[t] && is_operand(p_.terms_[t])) p_.used_[to_size(p_.terms_[t].index())] = true;
    }
    place_operands();
    place_results();
    for (std::size_t t = 0; t < p_.terms_.size(); ++t) {
      if (live_[t] && !is_operand(p_.terms_[t])) lower(static_cast<int32_t>(t));
    }
    finish();
  }

 private:
  static constexpr int32_t kResult = 1 << 20;  // places of results, until the number of tiles is known

  bool is_operand(const FuseTerm& term) const { return term.action == &FuseActions::all().operand; }
  bool is_number(int32_t term) const { return p_.terms_[to_size(term)].action == &FuseActions::all().number; }

  // The kernel of a term, and the terms that it reads.
  Instruction call_of(const FuseTerm& term) const {
    const FuseAction& action = *term.action;
    Instruction call{action.kernels, term.count, 0, term.operands, term.scalars};
    if (term.count != 2) return call;
    const bool first = is_number(term.operands[0]), last = is_number(term.operands[1]);
    if (first == last) return call;
    const Formula* const with_number = last ? action.with_number_last : action.with_number_first;
    if (!with_number) return call;
    const double number = p_.terms_[to_size(term.operands[last ? 1 : 0])].scalars.values[0];
    return {with_number, 1, 0, {term.operands[last ? 0 : 1]}, {{last && action.negates_last ? -number : number}}};
  }

  // What is computed, and how often each term is read.
  void find_calls() {
    for (const int32_t result : p_.results_) {
      if (result >= 0) live_[to_size(result)] = true, ++reads_[to_size(result)];
    }
    for (std::size_t t = p_.terms_.size(); t-- > 0;) {
      calls_[t] = call_of(p_.terms_[t]);
      if (!live_[t]) continue;
      for (int32_t i = 0; i < calls_[t].count; ++i) {
        live_[to_size(calls_[t].operands[to_size(i)])] = true;
        ++reads_[to_size(calls_[t].operands[to_size(i)])];
      }
    }
  }

  // In a pair, an action on one operand has a scalar, one on two has none.
  static Instruction joined(const Formula& both, const Instruction& inner, const Instruction& outer, int32_t place) {
    Instruction call{&both, inner.count, 0, inner.operands, {}};
    std::size_t scalars = 0;
    if (inner.count == 1) call.scalars.values[scalars++] = inner.scalars.values[0];
    if (outer.count == 1) call.scalars.values[scalars++] = outer.scalars.values[0];
    if (outer.count == 2) call.operands[to_size(call.count++)] = outer.operands[to_size(1 - place)];
    return call;
  }

  // Where a kernel computes a term together with the only one that reads it.
  void find_pairs() {
    for (std::size_t t = p_.terms_.size(); t-- > 0;) {
      for (int32_t i = 0; live_[t] && i < calls_[t].count; ++i) {
        const std::size_t inner = to_size(calls_[t].operands[to_size(i)]);
        if (reads_[inner] != 1 || !calls_[inner].formula) continue;
        const Formula* const both = pair_of(*calls_[inner].formula, *calls_[t].formula, i);
        if (!both) continue;
        calls_[t] = joined(*both, calls_[inner], calls_[t], i);
        live_[inner] = false;
        break;
      }
    }
  }

  void place_operands() {
    for (std::size_t t = 0; t < p_.terms_.size(); ++t) {
      if (!live_[t] || !is_operand(p_.terms_[t])) continue;
      place_[t] = static_cast<int32_t>(p_.inputs_.size());
      p_.inputs_.push_back(p_.terms_[t].index());
    }
  }
  void place_results() {
    for (const int32_t result : p_.results_) {
      if (result < 0 || place_[to_size(result)] >= 0 || is_number(result)) continue;
      place_[to_size(result)] = kResult + static_cast<int32_t>(p_.computed_.size());
      p_.computed_.push_back(result);
    }
  }

  int32_t tiles_begin() const { return static_cast<int32_t>(p_.inputs_.size()); }
  int32_t free_tile() {
    if (free_.empty()) return tiles_begin() + p_.tiles_++;
    const int32_t tile = free_.back();
    free_.pop_back();
    return tile;
  }
  void read(int32_t term) {
    const int32_t place = place_[to_size(term)];
    if (--reads_[to_size(term)] == 0 && place >= tiles_begin() && place < kResult) free_.push_back(place);
  }

  void lower(int32_t t) {
    if (is_number(t)) {
      if (reads_[to_size(t)] == 0) return;
      if (std::ranges::find(p_.results_, t) == p_.results_.end() || reads_[to_size(t)] > 1) {
        place_[to_size(t)] = tiles_begin() + p_.tiles_++;
        ++reads_[to_size(t)];  // is never used again
        p_.numbers_.push_back({place_[to_size(t)], p_.terms_[to_size(t)].scalars.values[0]});
      }
      return;
    }
    Instruction call = calls_[to_size(t)];
    const std::array<int32_t, FuseTerm::kMostOperands> terms = call.operands;
    for (int32_t i = 0; i < call.count; ++i) call.operands[to_size(i)] = place_[to_size(terms[to_size(i)])];
    for (int32_t i = 0; i < call.count; ++i) read(terms[to_size(i)]);  // a kernel may write to what it reads
    if (place_[to_size(t)] < 0) place_[to_size(t)] = free_tile();
    call.to = place_[to_size(t)];
    p_.instructions_.push_back(call);
  }

  void finish() {
    const int32_t results_begin = tiles_begin() + p_.tiles_;
    const auto settle = [&](int32_t& place) {
      if (place >= kResult) place += results_begin - kResult;
    };
    for (Instruction& call : p_.instructions_) {
      for (int32_t i = 0; i < call.count; ++i) settle(call.operands[to_size(i)]);
      settle(call.to);
      if (call.formula->work == MapWork::heavy) p_.work_ = MapWork::heavy;
    }
    if (p_.computed_.size() > 1) p_.work_ = MapWork::heavy;  // results are not stored past the caches
    require(p_.inputs_.size() <= to_size(kMaxOperands), kFuse, "expected a derivative of at most {} operands, got {}",
            kMaxOperands, p_.inputs_.size());
  }

  FusedProgram& p_;
  std::vector<int32_t> place_, reads_;
  std::vector<bool> live_;
  std::vector<Instruction> calls_;  // their operands are terms
  std::vector<int32_t> free_;
};

FusedProgram::FusedProgram(std::vector<FuseTerm> terms, std::vector<int32_t> results, int operands)
    : terms_(std::move(terms)), results_(std::move(results)), used_(static_cast<std::size_t>(operands)) {
  Lowering(*this).run();
}

// --- running ---

// The context of the kernel that map() calls, which has one result; the others are as far from their beginnings.
struct FusedProgram::Run {
  const FusedProgram* program;
  DType dtype;
  std::vector<std::byte*> results;
};

template <class T>
void FusedProgram::run_tiles(const void* const* x, void* y, int64_t n, const Run& run) const {
  constexpr int64_t kTile = kTileBytes / static_cast<int64_t>(sizeof(T));
  const std::size_t inputs = inputs_.size(), tiles = to_size(tiles_), places = inputs + tiles + run.results.size();
  const Scratch<std::byte> scratch(static_cast<int64_t>(tiles) * kTileBytes +
                                   static_cast<int64_t>(places * sizeof(void*)));
  std::byte** const pointers = reinterpret_cast<std::byte**>(scratch.get() + tiles * kTileBytes);
  for (std::size_t i = 0; i < tiles; ++i) pointers[inputs + i] = scratch.get() + i * kTileBytes;
  for (const Number& number : numbers_) {
    std::fill_n(reinterpret_cast<T*>(pointers[number.tile]), std::min(n, kTile), static_cast<T>(number.value));
  }
  const std::ptrdiff_t offset = static_cast<std::byte*>(y) - run.results[0];
  for (int64_t begin = 0; begin < n; begin += kTile) {
    const int64_t count = std::min(kTile, n - begin);
    const std::ptrdiff_t bytes = begin * static_cast<std::ptrdiff_t>(sizeof(T));
    for (std::size_t i = 0; i < inputs; ++i) {
      pointers[i] = static_cast<std::byte*>(const_cast<void*>(x[i])) + bytes;  // is not written to
    }
    pointers[inputs + tiles] = static_cast<std::byte*>(y) + bytes;
    for (std::size_t i = 1; i < run.results.size(); ++i) {
      pointers[inputs + tiles + i] = run.results[i] + offset + bytes;
    }
    for (const Instruction& call : instructions_) {
      const void* operands[FuseTerm::kMostOperands];
      for (int32_t i = 0; i < call.count; ++i) operands[i] = pointers[call.operands[to_size(i)]];
      const MapKernel kernel = sizeof(T) == sizeof(float) ? call.formula->float32 : call.formula->float64;
      kernel(operands, pointers[call.to], count, call.scalars.values);
    }
  }
}

void FusedProgram::run_pieces(const void* const* x, void* y, int64_t n, const void* context) {
  const Run& run = *static_cast<const Run*>(context);
  if (run.dtype == kFloat32) {
    run.program->run_tiles<float>(x, y, n, run);
  } else {
    run.program->run_tiles<double>(x, y, n, run);
  }
}

std::vector<Tensor> FusedProgram::run(const Shape& shape, std::span<const Tensor> operands, bool fresh) const {
  const Tensor& first = *std::ranges::find_if(operands, &Tensor::defined);
  std::vector<Tensor> computed;
  Run run{this, first.dtype(), {}};
  for (std::size_t i = 0; i < computed_.size(); ++i) {
    computed.push_back(Tensor::empty(shape, run.dtype));
    run.results.push_back(static_cast<std::byte*>(computed.back().mutable_raw_data()));
  }
  if (!computed.empty()) {
    const Tensor* read[kMaxOperands];
    for (std::size_t i = 0; i < inputs_.size(); ++i) read[i] = &operands[to_size(inputs_[i])];
    map(computed[0], std::span(read, inputs_.size()), &run_pieces, &run, work_);
  }
  std::vector<Tensor> results;
  for (const int32_t result : results_) {
    if (result < 0) {
      results.emplace_back();
    } else if (const auto place = std::ranges::find(computed_, result); place != computed_.end()) {
      results.push_back(computed[static_cast<std::size_t>(place - computed_.begin())]);
    } else if (const FuseTerm& term = terms_[to_size(result)]; term.action == &FuseActions::all().number) {
      results.push_back(full(shape, term.scalars.values[0], run.dtype));
    } else if (const Tensor& x = operands[to_size(term.index())]; x.shape() == shape && !fresh) {
      results.push_back(x);
    } else {
      results.push_back(Tensor::empty(shape, run.dtype));
      copy_into(results.back(), x);
    }
  }
  return results;
}

}  // namespace tapegrad
