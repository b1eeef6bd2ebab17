// The only file that includes MPI: a library of its own, which is loaded into processes that a launcher of MPI started.
#include <mpi.h>
#include <tapegrad/distributed/detail/transport.h>
#include <tapegrad/version.h>

#include <algorithm>
#include <cstring>
#include <vector>

namespace tapegrad::distributed::detail {
namespace {

constexpr int64_t kMostBytes = int64_t{1} << 30;  // of one message of MPI, which counts in int

// Calls f(offset, bytes) for pieces of a message.
template <class F>
void in_pieces(int64_t bytes, const F& f) {
  for (int64_t at = 0; at < bytes; at += kMostBytes) f(at, static_cast<int>(std::min(kMostBytes, bytes - at)));
}

class MpiExchange : public Exchange {
 public:
  void send(const void* data, int64_t bytes, int to, int tag) override {
    in_pieces(bytes, [&](int64_t at, int count) {
      MPI_Isend(static_cast<const char*>(data) + at, count, MPI_BYTE, to, tag, MPI_COMM_WORLD,
                &requests_.emplace_back());
    });
  }
  void receive(void* data, int64_t bytes, int from, int tag) override {
    in_pieces(bytes, [&](int64_t at, int count) {
      MPI_Irecv(static_cast<char*>(data) + at, count, MPI_BYTE, from, tag, MPI_COMM_WORLD, &requests_.emplace_back());
    });
  }
  bool done() override {
    int all = 0;
    MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &all, MPI_STATUSES_IGNORE);
    if (all) requests_.clear();
    return all != 0;
  }
  void wait() override {
    MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE);
    requests_.clear();
  }

 private:
  std::vector<MPI_Request> requests_;
};

class MpiTransport : public Transport {
 public:
  MpiTransport() {
    int level = 0;
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
  }
  int rank() const override { return rank_; }
  int size() const override { return size_; }
  void barrier() override { MPI_Barrier(MPI_COMM_WORLD); }
  void broadcast(void* data, int64_t bytes, int root) override {
    in_pieces(bytes, [&](int64_t at, int count) {
      MPI_Bcast(static_cast<char*>(data) + at, count, MPI_BYTE, root, MPI_COMM_WORLD);
    });
  }
  void all_gather(const void* own, int64_t bytes, void* all) override {
    if (bytes <= kMostBytes) {
      MPI_Allgather(own, static_cast<int>(bytes), MPI_BYTE, all, static_cast<int>(bytes), MPI_BYTE, MPI_COMM_WORLD);
      return;
    }
    for (int r = 0; r < size_; ++r) {
      char* const part = static_cast<char*>(all) + r * bytes;
      if (r == rank_) std::memcpy(part, own, static_cast<std::size_t>(bytes));
      broadcast(part, bytes, r);
    }
  }
  std::unique_ptr<Exchange> exchange() override { return std::make_unique<MpiExchange>(); }
  void finish() override { MPI_Finalize(); }

 private:
  int rank_ = 0, size_ = 1;
};

}  // namespace

extern "C" [[gnu::visibility("default")]] Transport* tapegrad_join_mpi(const char* version) {
  if (std::strcmp(version, kVersion) != 0) return nullptr;
  static MpiTransport joined;
  return &joined;
}

}  // namespace tapegrad::distributed::detail
