// Running statistics and other changes of buffers in forward: every process makes those of all batches, in order.
#include <tapegrad/autograd/ops.h>
#include <tapegrad/distributed/detail/share.h>

#include <algorithm>
#include <cstring>

namespace tapegrad::distributed::detail {
namespace {

int64_t bytes_of(const Tensor& x) { return x.numel() * item_size(x.dtype()); }

}  // namespace

void Share::take_forward_updates() { updates.push_back(forward_updates->take()); }

int64_t Share::statistics_bytes() const {
  int64_t bytes = 0;
  if (!updates.empty())
    for (const auto& one : updates.front()) bytes += bytes_of(one.statistics);
  return bytes;
}

// Of the same modules, with statistics of the same size, in all batches that this process has computed so far.
bool Share::has_equal_updates() {
  const auto same = [](const auto& a, const auto& b) {
    return a.module == b.module && bytes_of(a.statistics) == bytes_of(b.statistics);
  };
  return std::ranges::all_of(
      updates, [&](const Updates& of_batch) { return std::ranges::equal(of_batch, updates.front(), same); });
}

// `each`: the bytes of a batch's statistics. The functions of one batch make the changes of every other. A process
// without a batch in this step makes them after the next one that it has.
void Share::make_forward_updates(int64_t each) {
  if (each == 0) return;
  const int64_t batches = sums.all.size(), rows = (batches + size() - 1) / size();  // of one process, at most
  std::vector<char> own(static_cast<std::size_t>(rows * each)), all(own.size() * static_cast<std::size_t>(size()));
  char* to = own.data();
  for (const Updates& of_batch : updates)
    for (const auto& one : of_batch) {
      std::memcpy(to, one.statistics.raw_data(), static_cast<std::size_t>(bytes_of(one.statistics)));
      to += bytes_of(one.statistics);
    }
  group().all_gather(own.data(), static_cast<int64_t>(own.size()), all.data(), "the running statistics");
  for (int64_t batch = 0; batch < batches; ++batch) {
    const int64_t rank = owner_of(batch, size(), batches), row = batch - terms_of(rank, size(), batches).begin;
    const char* const from = all.data() + (rank * rows + row) * each;
    waiting_statistics.insert(waiting_statistics.end(), from, from + each);
  }
  if (updates.empty()) return;
  for (const char* from = waiting_statistics.data(); from < waiting_statistics.data() + waiting_statistics.size();) {
    for (const auto& one : updates.front()) {
      const Tensor statistics = Tensor::empty(one.statistics.shape(), one.statistics.dtype());
      std::memcpy(statistics.mutable_raw_data(), from, static_cast<std::size_t>(bytes_of(statistics)));
      from += bytes_of(statistics);
      one.apply(statistics);
    }
  }
  waiting_statistics.clear();
  updates.clear();
}

}  // namespace tapegrad::distributed::detail
