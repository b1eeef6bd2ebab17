// Divides the elementwise loop among threads, and gathers operands that are not contiguous.
#include <tapegrad/autograd/kernels/kernel.h>
#include <tapegrad/autograd/kernels/simd/stream.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/ops/detail/map.h>
#include <tapegrad/autograd/parallel.h>

#include <algorithm>
#include <cstring>
#include <new>

namespace tapegrad {
namespace {

constexpr int64_t kMapGrain = 8192;                          // elements for one thread to take at a time
constexpr int64_t kPiece = 512;                              // elements in a gathering buffer
static_assert(kMapGrain % kPiece == 0 && kPiece % 64 == 0);  // pieces of y begin at cache lines

// Where results go. What no cache can hold may be computed in the L1 cache, piece by piece, and stored past the other
// caches: an ordinary store would load its destination first. Then arithmetic and stores take turns, which is slower if
// there is much arithmetic.
class Output {
 public:
  // may_stream: stores are what takes the time, and y is not an operand, whose lines are loaded anyway.
  Output(const Tensor& y, bool may_stream)
      : base_(static_cast<std::byte*>(y.mutable_raw_data())),
        item_(item_size(y.dtype())),
        streams_(may_stream && is_streamed(y) && reinterpret_cast<std::uintptr_t>(base_) % 64 == 0) {}
  bool streams() const { return streams_; }
  // Elements for one call of write().
  int64_t most() const { return streams_ ? kPiece : kMapGrain; }
  void* at(int64_t index) const { return base_ + index * item_; }

  // compute(to) writes the elements [at, at + n), n <= most().
  void write(int64_t index, int64_t n, const auto& compute) const {
    if (!streams_) return compute(at(index));
    alignas(64) std::byte buffer[kPiece * 8];
    compute(buffer);
    stream_copy(at(index), buffer, n * item_);
  }
  // After the last write of a thread.
  void end() const {
    if (streams_) end_streams();
  }

 private:
  std::byte* base_;
  int64_t item_;
  bool streams_;
};

// Copies n elements that are `stride` elements apart.
template <class T>
void gather_row(const T* from, int64_t stride, int64_t n, T* to) {
  if (stride == 1) {
    std::memcpy(to, from, static_cast<std::size_t>(n) * sizeof(T));
  } else if (stride == 0) {
    std::fill(to, to + n, *from);
  } else {
    for (int64_t i = 0; i < n; ++i) to[i] = from[i * stride];
  }
}

// Copies the first n elements after themselves, until there are `times` of them.
template <class T>
void repeat_row(T* row, int64_t n, int64_t times) {
  for (int64_t done = n; done < n * times; done *= 2) {
    std::memcpy(row + done, row, static_cast<std::size_t>(std::min(done, n * times - done)) * sizeof(T));
  }
}

// Reads one operand in the order of y's elements: y's shape with neighbouring axes merged where the operand's strides
// allow it.
class StridedReader {
 public:
  StridedReader(const Tensor& x, const Shape& shape)
      : base_(static_cast<const std::byte*>(x.raw_data())), item_(item_size(x.dtype())) {
    const int lead = shape.rank() - x.dim();
    for (int i = 0; i < shape.rank(); ++i) {
      if (shape[i] == 1) continue;
      const int64_t stride = i < lead || x.shape()[i - lead] == 1 ? 0 : x.strides()[i - lead];
      if (rank_ > 0 && strides_[rank_ - 1] == stride * shape[i]) {
        sizes_[rank_ - 1] *= shape[i];
        strides_[rank_ - 1] = stride;
      } else {
        sizes_[rank_] = shape[i];
        strides_[rank_++] = stride;
      }
    }
  }
  bool contiguous() const { return rank_ == 0 || (rank_ == 1 && strides_[0] == 1); }
  bool constant() const { return rank_ == 1 && strides_[0] == 0; }
  const std::byte* at(int64_t index) const { return base_ + index * item_; }  // where contiguous

  // Copies the elements [begin, begin + n), in y's order, to contiguous memory.
  void gather(int64_t begin, int64_t n, void* to) const {
    switch (item_) {
      case 1: return gather(reinterpret_cast<const uint8_t*>(base_), begin, n, static_cast<uint8_t*>(to));
      case 2: return gather(reinterpret_cast<const uint16_t*>(base_), begin, n, static_cast<uint16_t*>(to));
      case 4: return gather(reinterpret_cast<const uint32_t*>(base_), begin, n, static_cast<uint32_t*>(to));
      default: return gather(reinterpret_cast<const uint64_t*>(base_), begin, n, static_cast<uint64_t*>(to));
    }
  }

 private:
  template <class T>
  void gather(const T* base, int64_t begin, int64_t n, T* to) const {
    int64_t at[kMaxRank] = {};
    int64_t offset = 0;
    for (int i = rank_ - 1; i >= 0; --i) {
      at[i] = begin % sizes_[i];
      begin /= sizes_[i];
      offset += at[i] * strides_[i];
    }
    const int last = rank_ - 1;
    const bool repeats = last > 0 && strides_[last - 1] == 0;
    while (n > 0) {
      const int64_t row = last < 0 ? 1 : std::min(n, sizes_[last] - at[last]);
      gather_row(base + offset, last < 0 ? 1 : strides_[last], row, to);
      int64_t times = 1;
      if (repeats && row == sizes_[last]) {
        times = std::min(n / row, sizes_[last - 1] - at[last - 1]);
        repeat_row(to, row, times);
        at[last - 1] += times - 1;
      }
      to += row * times;
      n -= row * times;
      if (n == 0) return;
      at[last] += row;
      offset += row * strides_[last];
      for (int i = last; at[i] == sizes_[i]; --i) {  // terminates: elements are left, so an outer axis can advance
        offset -= sizes_[i] * strides_[i];
        at[i] = 0;
        ++at[i - 1];
        offset += strides_[i - 1];
      }
    }
  }

  const std::byte* base_;
  int64_t item_;
  int rank_ = 0;
  int64_t sizes_[kMaxRank];
  int64_t strides_[kMaxRank];
};

// For operands of which some have another layout than y.
void map_strided(const Tensor& y, std::span<const Tensor* const> operands, MapKernel kernel, const void* context,
                 MapWork work) {
  const int64_t n = y.numel();
  const int count = static_cast<int>(operands.size());
  alignas(StridedReader) std::byte reader_memory[kMaxOperands * sizeof(StridedReader)];
  StridedReader* const readers = reinterpret_cast<StridedReader*>(reader_memory);
  for (int i = 0; i < count; ++i) new (readers + i) StridedReader(*operands[static_cast<std::size_t>(i)], y.shape());
  const Output out(y, work == MapWork::light);

  parallel_for(n, kMapGrain, [&](int64_t begin, int64_t end) {
    const void* x[kMaxOperands];
    alignas(64) std::byte buffers[kMaxOperands][kPiece * 8];
    for (int i = 0; i < count; ++i) {
      if (readers[i].constant()) readers[i].gather(0, std::min(kPiece, n), buffers[i]);
    }
    for (int64_t at = begin; at < end; at += kPiece) {
      const int64_t piece = std::min(kPiece, end - at);
      for (int i = 0; i < count; ++i) {
        x[i] = readers[i].contiguous() ? static_cast<const void*>(readers[i].at(at)) : buffers[i];
        if (!readers[i].contiguous() && !readers[i].constant()) readers[i].gather(at, piece, buffers[i]);
      }
      out.write(at, piece, [&](void* to) { kernel(x, to, piece, context); });
    }
    out.end();
  });
}

}  // namespace

void map(const Tensor& y, std::span<const Tensor* const> operands, MapKernel kernel, const void* context,
         MapWork work) {
  for (const Tensor* operand : operands) {
    const DType dtype = operand->dtype();
    if (is_half(dtype) || is_narrow_integer(dtype)) detail::refuse_to_compute(dtype);
  }
  map_any_type(y, operands, kernel, context, work);
}

void map_any_type(const Tensor& y, std::span<const Tensor* const> operands, MapKernel kernel, const void* context,
                  MapWork work) {
  const int64_t n = y.numel();
  if (n == 0) return;
  const void* x[kMaxOperands];
  int64_t items[kMaxOperands];
  int count = 0;
  bool reads_y = false;
  for (const Tensor* operand : operands) {
    if (operand->numel() != n || !operand->is_contiguous()) return map_strided(y, operands, kernel, context, work);
    x[count] = operand->raw_data();
    reads_y = reads_y || x[count] == y.raw_data();
    items[count++] = item_size(operand->dtype());
  }
  if (n <= kMapGrain) return kernel(x, y.mutable_raw_data(), n, context);
  const Output out(y, work == MapWork::light && !reads_y);
  parallel_for(n, kMapGrain, [&](int64_t begin, int64_t end) {
    const void* from[kMaxOperands];
    for (int64_t at = begin; at < end; at += out.most()) {
      const int64_t piece = std::min(out.most(), end - at);
      for (int i = 0; i < count; ++i) from[i] = static_cast<const std::byte*>(x[i]) + at * items[i];
      out.write(at, piece, [&](void* to) { kernel(from, to, piece, context); });
    }
    out.end();
  });
}

void copy_into(const Tensor& y, const Tensor& x) {
  const int64_t n = y.numel();
  if (n == 0) return;
  const StridedReader reader(x, y.shape());
  const Output out(y, true);
  const int64_t item = item_size(y.dtype());
  parallel_for(n, kMapGrain, [&](int64_t begin, int64_t end) {
    if (reader.contiguous()) {
      const auto bytes = (end - begin) * item;
      if (out.streams()) {
        stream_copy(out.at(begin), reader.at(begin), bytes);
      } else {
        std::memcpy(out.at(begin), reader.at(begin), static_cast<std::size_t>(bytes));
      }
    } else {
      for (int64_t at = begin; at < end; at += out.most()) {
        const int64_t piece = std::min(out.most(), end - at);
        out.write(at, piece, [&](void* to) { reader.gather(at, piece, to); });
      }
    }
    out.end();
  });
}

}  // namespace tapegrad
