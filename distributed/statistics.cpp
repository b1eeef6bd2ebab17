// Changes of buffers in forward, such as running statistics: every process makes those of all batches, in order.
#include <fmt/format.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/distributed/detail/share.h>

#include <cstring>

namespace tapegrad::distributed::detail {
namespace {

constexpr std::string_view kWhere = "data_parallel";

int64_t bytes_of(const Tensor& x) { return x.numel() * item_size(x.dtype()); }

}  // namespace

void Share::take_forward_updates() {
  updates.push_back(forward_updates->take());
  for (tapegrad::detail::ForwardUpdate& one : updates.back()) one.news = one.news.contiguous();
  last_updates = updates.back();
}

int64_t Share::statistics_bytes() const {
  int64_t bytes = 0;
  for (const auto& one : last_updates) bytes += bytes_of(one.news);
  return bytes;
}

// Every batch makes the same changes, with its own news; so a process can make those of others. `most`: of the bytes of
// news that processes have of a batch.
void Share::make_forward_updates(int64_t most) {
  if (most == 0) return;
  const int64_t each = statistics_bytes(), batches = sums.all.size();
  std::string error;
  if (each != most)
    error = error_text(kWhere, fmt::format("expected the same running statistics in every batch, got {} bytes of them, "
                                           "and {} in another process (a process without a batch in the first step?)",
                                           each, most));
  for (const Updates& of_batch : updates) {
    int64_t bytes = 0;
    for (const auto& one : of_batch) bytes += bytes_of(one.news);
    if (bytes != each) error = error_text(kWhere, "expected the same running statistics in every batch of a step");
  }
  world.agree(error);
  const int64_t rows = (batches + size() - 1) / size();  // of one process, at most
  std::vector<char> own(static_cast<std::size_t>(rows * each)), all(own.size() * static_cast<std::size_t>(size()));
  char* to = own.data();
  for (const Updates& of_batch : updates)
    for (const auto& one : of_batch) {
      std::memcpy(to, one.news.raw_data(), static_cast<std::size_t>(bytes_of(one.news)));
      to += bytes_of(one.news);
    }
  group().all_gather(own.data(), static_cast<int64_t>(own.size()), all.data(), "the running statistics");
  for (int64_t batch = 0; batch < batches; ++batch) {
    const int64_t rank = owner_of(batch, size(), batches), row = batch - terms_of(rank, size(), batches).begin;
    const char* from = all.data() + (rank * rows + row) * each;
    for (const auto& one : last_updates) {
      const Tensor news = Tensor::empty(one.news.shape(), one.news.dtype());
      std::memcpy(news.mutable_raw_data(), from, static_cast<std::size_t>(bytes_of(news)));
      from += bytes_of(news);
      one.apply(news);
    }
  }
}

}  // namespace tapegrad::distributed::detail
