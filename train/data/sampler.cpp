#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/limits.h>
#include <tapegrad/train/data/internal/permutation.h>
#include <tapegrad/train/data/sampler.h>

#include <algorithm>
#include <cmath>

namespace tapegrad::data {
namespace {

std::vector<int64_t> permutation(int64_t n, Generator& generator) {
  std::vector<int64_t> out(static_cast<std::size_t>(n));
  generator.randperm(out.data(), n);
  return out;
}

// The output function of SplitMix64 (Steele, Lea and Flood 2014).
constexpr uint64_t mixed_bits(uint64_t x) {
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return x ^ x >> 31;
}

}  // namespace

Sampler sequential(int64_t size) {
  require_in("sequential", "size", size, {.least = 0});
  return {.size = size};
}

Sampler shuffled(int64_t size, int64_t count) {
  require_in("shuffled", "size", size, {.least = count > 0 ? 1.0 : 0.0});
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

Sampler permuted(int64_t size) {
  require_in("permuted", "size", size, {.least = 0});
  return {.size = size, .index_at = [size](uint64_t seed) { return Permutation(size, seed); }};
}

namespace {

// One part of a mixture: `count` of an epoch's indices, which begin at `first` before they are permuted.
struct Part {
  int64_t begin, size;  // of the part's own indices
  int64_t first, count;
};

std::vector<Part> parts_of_mixture(const std::vector<int64_t>& sizes, const std::vector<double>& weights) {
  constexpr std::string_view kMixed = "mixed";
  if (sizes.size() != weights.size() || sizes.empty())
    fail(kMixed, "expected a weight for each part, got {} for {}", weights.size(), sizes.size());
  std::vector<Part> parts;
  int64_t begin = 0, first = 0;
  for (std::size_t p = 0; p < sizes.size(); ++p) {
    require_in(kMixed, "the size of a part", sizes[p], {.least = 1});
    const double count = std::round(weights[p] * static_cast<double>(sizes[p]));
    if (!(weights[p] > 0 && count >= 1 && count + static_cast<double>(first) < 0x1p62)) {
      fail(kMixed, "expected a weight that gives an epoch of 1 to 2^62 indices, got {} for a part of {}", weights[p],
           sizes[p]);
    }
    parts.push_back({begin, sizes[p], first, static_cast<int64_t>(count)});
    begin += sizes[p];
    first += static_cast<int64_t>(count);
  }
  return parts;
}

}  // namespace

Sampler mixed(const std::vector<int64_t>& sizes, const std::vector<double>& weights) {
  const std::vector<Part> parts = parts_of_mixture(sizes, weights);
  const int64_t all = parts.back().first + parts.back().count;
  return {.size = all, .index_at = [parts, all](uint64_t seed) {
            // A permutation of the whole epoch, and one of each part for the pass that is not complete.
            std::vector<Permutation> within;
            for (const Part& part : parts) within.emplace_back(part.size, seed + within.size() + 1);
            return [parts, within = std::move(within), order = Permutation(all, seed)](int64_t position) {
              const int64_t at = order(position);
              const auto after = std::ranges::upper_bound(parts, at, {}, &Part::first);
              const auto p = static_cast<std::size_t>(after - parts.begin()) - 1;
              const Part& part = parts[p];
              const int64_t i = at - part.first, complete = part.count - part.count % part.size;
              return part.begin + (i < complete ? i % part.size : within[p](i - complete));
            };
          }};
}

Sampler with_replacement(int64_t size, int64_t count) {
  require_in("with_replacement", "count", count, {.least = 0});
  require_in("with_replacement", "size", size, {.least = 1});
  return {.size = count, .order = [size, count](Generator& generator) {
            std::vector<int64_t> order(static_cast<std::size_t>(count));
            generator.randint(order.data(), count, 0, size);
            return order;
          }};
}

Sampler by_length(std::vector<int64_t> lengths, int64_t batch_size, int64_t pool) {
  require_in("by_length", "batch_size", batch_size, {.least = 1});
  require_in("by_length", "pool", pool, {.least = 1});
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

Permutation::Permutation(int64_t size, uint64_t seed) : size_(static_cast<uint64_t>(size)), base_(1) {
  constexpr int64_t kMost = int64_t{1} << 62;
  if (size < 0 || size > kMost) fail("permutation", "expected size in [0, {}], got {}", kMost, size);
  base_ = static_cast<uint64_t>(std::sqrt(static_cast<double>(size_)));
  while (base_ * base_ < size_) ++base_;
  for (uint64_t& key : keys_) key = mixed_bits(seed += 0x9e3779b97f4a7c15u);
}

int64_t Permutation::operator()(int64_t i) const {
  auto at = static_cast<uint64_t>(i);
  do {
    uint64_t left = at / base_, right = at % base_;
    for (const uint64_t key : keys_) {
      uint64_t sum = left + ((mixed_bits(right ^ key) >> 32) * base_ >> 32);  // a number below the base, below 2^32
      if (sum >= base_) sum -= base_;
      left = right;
      right = sum;
    }
    at = left * base_ + right;
  } while (at >= size_);  // base_^2 may be larger than the size: go on until the value is within
  return static_cast<int64_t>(at);
}

}  // namespace tapegrad::data
