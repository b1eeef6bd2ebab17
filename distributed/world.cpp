// Joining the other processes, and collectives on tensors.
#include <dlfcn.h>
#include <fmt/format.h>
#include <tapegrad/autograd/error.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/parallel.h>
#include <tapegrad/distributed/detail/group.h>
#include <tapegrad/distributed/detail/tree.h>
#include <tapegrad/distributed/world.h>
#include <tapegrad/version.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <mutex>
#include <span>
#include <string>
#include <type_traits>

namespace tapegrad::distributed {
namespace {

using detail::Call;

constexpr std::string_view kWorld = "world";
constexpr int64_t kSumGrain = int64_t{1} << 15;
constexpr int kTag = 32'000;  // and the next one; DataParallel's tags are below, those of Group above

// Open MPI's, PMIx's (Slurm) and PMI's (MPICH) variables.
constexpr const char* kRankVariables[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"};
constexpr const char* kSizeVariables[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"};
constexpr const char* kSlurmSize[] = {"SLURM_STEP_NUM_TASKS"};  // of a job step, which PMIx does not say

const char* first_set(std::span<const char* const> variables) {
  for (const char* const variable : variables)
    if (const char* const value = std::getenv(variable); value && *value) return value;
  return nullptr;
}

int worlds = 0;  // that exist
bool ended = false;

#ifdef TAPEGRAD_MPI_FOLDER
detail::Transport* join() {
  static detail::Transport* const joined = [] {
    // Near this library, or where it was installed. Open MPI's own plug-ins need its symbols.
    void* library = ::dlopen("libtapegrad_mpi.so", RTLD_NOW | RTLD_GLOBAL);
    if (!library) library = ::dlopen(TAPEGRAD_MPI_FOLDER "/libtapegrad_mpi.so", RTLD_NOW | RTLD_GLOBAL);
    if (!library) fail(kWorld, fmt::format("a launcher of MPI started this process, but {}", ::dlerror()));
    const auto call = reinterpret_cast<detail::Join>(::dlsym(library, detail::kJoinName));
    detail::Transport* const found = call ? call(kVersion) : nullptr;
    if (!found) fail(kWorld, fmt::format("expected libtapegrad_mpi.so of version {}, got another one", kVersion));
    return found;
  }();
  return joined;
}
#else
[[noreturn]] detail::Transport* join() {
  fail(
      kWorld,
      "a launcher of MPI started this process, but tapegrad was built without MPI (install libopenmpi-dev and build it "
      "again)");
}
#endif

// Whether a launcher started others, too.
bool has_others() {
  const char* const size = first_set(kSizeVariables);
  return World::is_launched() && !(size && std::string_view(size) == "1");
}

std::string text_of(const detail::Meeting& own) {
  return fmt::format("{} {}", str(Shape(own.sizes, own.axes)), name(static_cast<DType>(own.dtype)));
}

template <class T>
void combine(T* to, const T* from, int64_t n, Reduce how) {
  parallel_for(n, kSumGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const T a = to[i], b = from[i];
      if (how == Reduce::sum) {
        if constexpr (std::is_integral_v<T>) {
          to[i] = static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
        } else {
          to[i] = a + b;
        }
      } else if (how == Reduce::only) {
        if (a == 0) to[i] = b;
      } else {
        const bool take = how == Reduce::max ? b > a : b < a;
        if (take || b != b) to[i] = b;
        if (a != a) to[i] = a;
      }
    }
  });
}

void require_numbers(std::string_view call, DType dtype) {
  if (is_floating(dtype) || dtype == kInt64) return;
  fail(call, fmt::format("expected float32, float64 or int64, got {}", name(dtype)));
}

// The elements of a flat tensor that a process reduces.
detail::Terms block_of(int rank, int size, int64_t n) { return {n * rank / size, n * (rank + 1) / size}; }

// Sends block s of `x` to process s, and reduces the blocks that arrive. x is flat and contiguous.
Tensor reduced_block(detail::Group& group, const Tensor& x, Reduce how, std::string_view what) {
  const int me = group.rank(), size = group.size();
  const int64_t item = item_size(x.dtype());
  const char* const data = static_cast<const char*>(x.raw_data());
  const detail::Terms own = block_of(me, size, x.numel());
  const Tensor all = Tensor::empty({size, own.size()}, x.dtype());  // a row of each process
  char* const rows = static_cast<char*>(all.mutable_raw_data());
  const int64_t row = own.size() * item;
  const auto exchange = group.exchange();
  for (int r = 0; r < size; ++r)
    if (r != me) exchange->receive(rows + r * row, row, r, kTag);
  for (int r = 0; r < size; ++r) {
    const detail::Terms block = block_of(r, size, x.numel());
    if (r != me) exchange->send(data + block.begin * item, block.size() * item, r, kTag);
  }
  if (row > 0) std::memcpy(rows + me * row, data + own.begin * item, static_cast<std::size_t>(row));
  group.wait(*exchange, what);
  if (own.size() > 0)
    with_type(x.dtype(), [&]<class T>(T) {
      if constexpr (!std::is_same_v<T, bool>) {
        T* const first = reinterpret_cast<T*>(rows);
        const auto given = [&](const detail::Terms& node) {
          return node.size() == 1 ? first + node.begin * own.size() : nullptr;
        };
        detail::fold<T*>({0, size}, given, [&](T* a, T* b) { return combine(a, b, own.size(), how), a; });
      }
    });
  return all.slice(0, 0, 1).reshape({own.size()});
}

}  // namespace

World::World(const WorldOptions& options) : group_(nullptr), joined_(true), exceptions_(std::uncaught_exceptions()) {
  for (const double seconds : {options.timeout_s, options.warning_s})
    if (!(seconds >= 0))
      fail(kWorld, fmt::format("expected a timeout and a warning of 0 or more seconds, got {}", seconds));
  if (ended) fail(kWorld, "an earlier World has ended, and MPI with it (keep one for the whole program)");
  if (!has_others()) return;
  detail::Transport* const joined = join();
  const char* const launched = first_set(kSizeVariables);
  if (launched && std::atoi(launched) != joined->size())
    fail(kWorld, fmt::format("the launcher started {} processes, but MPI connects {} (does the launcher belong to a "
                             "different MPI than the one that tapegrad was built with?)",
                             launched, joined->size()));
  static detail::Group group(*joined);
  group_ = &group;
  group_->set_patience(options);
  group_->require_equal(kWorld, "version of tapegrad", std::string(kVersion));
  ++worlds;
}

World::World(Alone) : group_(nullptr), joined_(false), exceptions_(0) {}
World::World(detail::Group& group) : group_(&group), joined_(false), exceptions_(0) {}

const World& World::alone() {
  static const World world{Alone()};
  return world;
}

World::~World() {
  if (!group_ || !joined_ || --worlds > 0 || std::uncaught_exceptions() > exceptions_) return;
  ended = true;
  group_->finish();
}

int World::rank() const { return group_ ? group_->rank() : 0; }
int World::size() const { return group_ ? group_->size() : 1; }

bool World::is_launched() { return first_set(kRankVariables) != nullptr; }

void World::note_separate_runs() {
  static std::once_flag once;
  std::call_once(once, [] {
    const char* size = first_set(kSizeVariables);
    if (!size) size = first_set(kSlurmSize);
    if (worlds > 0 || ended || launched_rank() > 0 || !is_launched() || !size || std::atoi(size) < 2) return;
    std::fputs(
        fmt::format("note: a launcher started {} processes, and each of them trains alone (a distributed::World, "
                    "given to the loop, lets them train together; World::alone() is for separate runs)\n",
                    std::atoi(size))
            .c_str(),
        stderr);
  });
}

int World::launched_rank() {
  const char* const rank = first_set(kRankVariables);
  return rank ? std::atoi(rank) : 0;
}

// Error on every process unless all of them make this call with a tensor of this shape and type.
void World::check(detail::Call call, const Tensor& x, int argument) const {
  const std::string_view where = name(call);
  detail::Meeting own{.call = call, .argument = argument};
  if (x.defined()) {
    own.dtype = static_cast<int32_t>(x.dtype());
    own.axes = x.dim();
    std::copy(x.shape().begin(), x.shape().end(), own.sizes);
  }
  const detail::Met met = group_->meet(where, own);
  const detail::Meeting &a = met.first, &b = met.other;
  if (a.dtype != b.dtype || a.axes != b.axes || !std::equal(a.sizes, a.sizes + a.axes, b.sizes))
    fail(where, fmt::format("expected tensors of the same shape and type, got {} on rank 0, {} on rank {}", text_of(a),
                            text_of(b), met.rank));
  if (a.argument != b.argument)
    fail(where, fmt::format("expected the same {} on every process, got {} on rank 0, {} on rank {}",
                            call == Call::broadcast ? "root" : "reduction", a.argument, b.argument, met.rank));
}

Tensor World::broadcast(const Tensor& x, int root) const {
  const std::string_view call = name(Call::broadcast);
  if (root < 0 || root >= size()) fail(call, fmt::format("expected a root below {}, got {}", size(), root));
  if (!group_) return x.detach();
  check(Call::broadcast, x, root);
  const Tensor y = rank() == root ? x.detach().contiguous() : Tensor::empty(x.shape(), x.dtype());
  group_->broadcast(y.mutable_raw_data(), y.numel() * item_size(y.dtype()), root);
  return y;
}

Tensor World::all_reduce(const Tensor& x, Reduce how) const {
  const std::string_view call = name(Call::all_reduce);
  require_numbers(call, x.dtype());
  if (!group_) return x.detach();
  check(Call::all_reduce, x, static_cast<int>(how));
  if (how == Reduce::only || (how != Reduce::sum && x.dtype() == kInt64)) {  // the order does not count
    const Tensor y = x.detach().clone();
    with_type(y.dtype(), [&](auto t) {
      using T = decltype(t);
      T* const numbers = static_cast<T*>(y.mutable_raw_data());
      if constexpr (!std::is_same_v<T, bool>)
        group_->all_combine(numbers, y.numel() * item_size(y.dtype()), call, [&](const char* theirs) {
          combine(numbers, reinterpret_cast<const T*>(theirs), y.numel(), how);
        });
    });
    return y;
  }
  const Tensor own = reduced_block(*group_, x.detach().contiguous().reshape({x.numel()}), how, call);
  const Tensor y = Tensor::empty(x.shape(), x.dtype());
  char* const data = static_cast<char*>(y.mutable_raw_data());
  const int64_t item = item_size(x.dtype());
  const auto exchange = group_->exchange();
  for (int r = 0; r < size(); ++r) {
    const detail::Terms block = block_of(r, size(), x.numel());
    if (r == rank()) {
      if (block.size() > 0)
        std::memcpy(data + block.begin * item, own.raw_data(), static_cast<std::size_t>(block.size() * item));
    } else {
      exchange->receive(data + block.begin * item, block.size() * item, r, kTag + 1);
      exchange->send(own.raw_data(), own.numel() * item, r, kTag + 1);
    }
  }
  group_->wait(*exchange, call);
  return y;
}

Tensor World::reduce_scatter(const Tensor& x, Reduce how) const {
  const std::string_view call = name(Call::reduce_scatter);
  require_numbers(call, x.dtype());
  if (x.dim() == 0 || x.size(0) % size() != 0)
    fail(call, fmt::format("expected a first axis that {} processes can share, got shape {}", size(), str(x.shape())));
  if (!group_) return x.detach();
  check(Call::reduce_scatter, x, static_cast<int>(how));
  Shape shape = x.shape();
  shape[0] /= size();
  return reduced_block(*group_, x.detach().contiguous().reshape({x.numel()}), how, call).reshape(shape);
}

Tensor World::all_gather(const Tensor& x) const {
  Shape shape = x.shape();
  if (shape.empty()) shape.push_back(1);
  if (!group_) return x.detach().reshape(shape);
  check(Call::all_gather, x, 0);
  const Tensor own = x.detach().contiguous();
  shape[0] *= size();
  const Tensor all = Tensor::empty(shape, x.dtype());
  group_->all_gather(own.raw_data(), own.numel() * item_size(x.dtype()), all.mutable_raw_data(),
                     name(Call::all_gather));
  return all;
}

void World::barrier() const {
  if (group_) check(Call::barrier, Tensor(), 0);
}

void World::agree(std::string_view error) const {
  if (!group_) {
    if (!error.empty()) throw Error(std::string(error));
    return;
  }
  const auto own = static_cast<int64_t>(error.size());
  const detail::Met met = group_->meet(name(Call::agree), {.call = Call::agree, .sizes = {own}});
  const int root = met.first.sizes[0] > 0 ? 0 : met.rank;
  const int64_t length = root == 0 ? met.first.sizes[0] : met.other.sizes[0];
  if (length == 0) return;
  std::string text(error);
  text.resize(static_cast<std::size_t>(length));
  group_->broadcast(text.data(), length, root);
  throw Error(root == 0 ? text : fmt::format("rank {}: {}", root, text));
}

void World::require_equal(std::string_view where, std::string_view what, const std::string& lines) const {
  if (group_) group_->require_equal(where, what, lines);
}

}  // namespace tapegrad::distributed
