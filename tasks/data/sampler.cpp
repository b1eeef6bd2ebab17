#include <fmt/format.h>
#include <tapegrad/autograd/error.h>
#include <tapegrad/tasks/data/sampler.h>

#include <algorithm>

namespace tapegrad::data {
namespace {

void require_at_least(std::string_view where, std::string_view what, int64_t least, int64_t value) {
  if (value < least) fail(where, fmt::format("{} must be at least {}, got {}", what, least, value));
}

std::vector<int64_t> permutation(int64_t n, Generator& generator) {
  std::vector<int64_t> out(static_cast<std::size_t>(n));
  generator.randperm(out.data(), n);
  return out;
}

}  // namespace

Sampler sequential(int64_t size) {
  require_at_least("sequential", "size", 0, size);
  return {.size = size};
}

Sampler shuffled(int64_t size, int64_t count) {
  require_at_least("shuffled", "size", count > 0 ? 1 : 0, size);
  if (count < 0) count = size;
  return {.size = count, .order = [size, count](Generator& generator) {
            std::vector<int64_t> order;
            order.reserve(static_cast<std::size_t>(count));
            while (static_cast<int64_t>(order.size()) < count) {
              const std::vector<int64_t> all = permutation(size, generator);
              const int64_t more = std::min(size, count - static_cast<int64_t>(order.size()));
              order.insert(order.end(), all.begin(), all.begin() + more);
            }
            return order;
          }};
}

Sampler with_replacement(int64_t size, int64_t count) {
  require_at_least("with_replacement", "count", 0, count);
  require_at_least("with_replacement", "size", 1, size);
  return {.size = count, .order = [size, count](Generator& generator) {
            std::vector<int64_t> order(static_cast<std::size_t>(count));
            generator.randint(order.data(), count, 0, size);
            return order;
          }};
}

Sampler by_length(std::vector<int64_t> lengths, int64_t batch_size, int64_t pool) {
  require_at_least("by_length", "batch_size", 1, batch_size);
  require_at_least("by_length", "pool", 1, pool);
  const auto size = static_cast<int64_t>(lengths.size());
  return {.size = size, .order = [lengths = std::move(lengths), size, batch_size, pool](Generator& generator) {
            std::vector<int64_t> drawn = permutation(size, generator);
            const int64_t step = pool > size / batch_size ? size : pool * batch_size;
            for (int64_t begin = 0; begin < size; begin += step) {
              std::stable_sort(drawn.begin() + begin, drawn.begin() + std::min(size, begin + step),
                               [&](int64_t a, int64_t b) {
                                 return lengths[static_cast<std::size_t>(a)] < lengths[static_cast<std::size_t>(b)];
                               });
            }
            std::vector<int64_t> order;
            order.reserve(drawn.size());
            const int64_t full = size / batch_size;
            for (const int64_t batch : permutation(full, generator)) {
              const auto begin = drawn.begin() + batch * batch_size;
              order.insert(order.end(), begin, begin + batch_size);
            }
            order.insert(order.end(), drawn.begin() + full * batch_size, drawn.end());
            return order;
          }};
}

}  // namespace tapegrad::data
