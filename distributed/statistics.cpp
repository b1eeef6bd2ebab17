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
  std::vector<char> own(static_cast<std::size_t>(sums.own.size() * each));
  char* to = own.data();
  for (const Updates& of_batch : updates)
    for (const auto& one : of_batch) {
      std::memcpy(to, one.statistics.raw_data(), static_cast<std::size_t>(bytes_of(one.statistics)));
      to += bytes_of(one.statistics);
    }
  const std::size_t waiting = waiting_statistics.size();
  waiting_statistics.resize(waiting + static_cast<std::size_t>(sums.all.size() * each));
  gather(own.data(), each, waiting_statistics.data() + waiting, "the running statistics");
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
