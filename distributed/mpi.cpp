// The only file that includes MPI: a library of its own, which is loaded into processes that a launcher of MPI started.
#include <mpi.h>
#include <tapegrad/distributed/detail/transport.h>
#include <tapegrad/version.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace tapegrad::distributed::detail {
namespace {

// Of one message of MPI, which counts in int. A process that waits sees that a long message moves when a piece has
// arrived.
constexpr int64_t kMostBytes = int64_t{4} << 20;
bool stopped = false;

// Calls f(offset, bytes) for pieces of a message.
void in_pieces(int64_t bytes, const auto& f) {
  for (int64_t at = 0; at < bytes; at += kMostBytes) f(at, static_cast<int>(std::min(kMostBytes, bytes - at)));
}

std::string text_of(int error) {
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(error, text, &length);
  return text;
}

class MpiExchange : public Exchange {
 public:
  ~MpiExchange() override {
    if (stopped) return;
    for (std::size_t i = 0; i < requests_.size(); ++i) {
      if (requests_[i] == MPI_REQUEST_NULL) continue;
      if (messages_[i].arrives) MPI_Cancel(&requests_[i]);
      MPI_Request_free(&requests_[i]);
    }
  }
  void send(const void* data, int64_t bytes, int to, int tag) override {
    in_pieces(bytes, [&](int64_t at, int count) {
      messages_.push_back({to, count, false});
      note(MPI_Isend(static_cast<const char*>(data) + at, count, MPI_BYTE, to, tag, MPI_COMM_WORLD,
                     &requests_.emplace_back(MPI_REQUEST_NULL)),
           messages_.back());
    });
  }
  void receive(void* data, int64_t bytes, int from, int tag) override {
    in_pieces(bytes, [&](int64_t at, int count) {
      messages_.push_back({from, count, true});
      note(MPI_Irecv(static_cast<char*>(data) + at, count, MPI_BYTE, from, tag, MPI_COMM_WORLD,
                     &requests_.emplace_back(MPI_REQUEST_NULL)),
           messages_.back());
    });
  }
  bool done() override {
    if (moved_ == static_cast<int64_t>(requests_.size()) || !failure_.empty()) return true;
    int count = 0;
    places_.resize(requests_.size());
    statuses_.resize(requests_.size());
    const int result =
        MPI_Testsome(static_cast<int>(requests_.size()), requests_.data(), &count, places_.data(), statuses_.data());
    if (count == MPI_UNDEFINED) count = 0;
    for (int i = 0; i < count; ++i) {
      const Message& message = messages_[static_cast<std::size_t>(places_[static_cast<std::size_t>(i)])];
      MPI_Status& status = statuses_[static_cast<std::size_t>(i)];
      if (result == MPI_ERR_IN_STATUS) note(status.MPI_ERROR, message);
      int bytes = 0;
      if (message.arrives && failure_.empty() && MPI_Get_count(&status, MPI_BYTE, &bytes) == MPI_SUCCESS &&
          bytes != message.bytes)
        failure_ = std::to_string(bytes) + " bytes arrived from rank " + std::to_string(message.other) + " where " +
                   std::to_string(message.bytes) + " were expected";
    }
    if (result != MPI_SUCCESS && result != MPI_ERR_IN_STATUS && failure_.empty()) failure_ = text_of(result);
    moved_ += count;
    return moved_ == static_cast<int64_t>(requests_.size()) || !failure_.empty();
  }
  int64_t moved() const override { return moved_; }
  const std::string& failure() const override { return failure_; }

 private:
  struct Message {
    int other, bytes;
    bool arrives;
  };
  void note(int error, const Message& message) {
    if (error == MPI_SUCCESS || error == MPI_ERR_PENDING || !failure_.empty()) return;
    failure_ = std::string("a message ") + (message.arrives ? "from" : "to") + " rank " +
               std::to_string(message.other) + " failed: " + text_of(error);
  }
  std::vector<Message> messages_;
  std::vector<MPI_Request> requests_;
  std::vector<int> places_;
  std::vector<MPI_Status> statuses_;
  int64_t moved_ = 0;
  std::string failure_;
};

class MpiTransport : public Transport {
 public:
  MpiTransport() {
    int level = 0;
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &level);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
  }
  int rank() const override { return rank_; }
  int size() const override { return size_; }
  std::unique_ptr<Exchange> exchange() override { return std::make_unique<MpiExchange>(); }
  void stop() override { stopped = true; }
  void finish() override { MPI_Finalize(); }
  void abort() override {
    MPI_Abort(MPI_COMM_WORLD, 1);
    std::_Exit(1);
  }

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
