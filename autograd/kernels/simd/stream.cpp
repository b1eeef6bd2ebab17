// Stores past the caches, with the instructions that every processor of its kind has.
#include <tapegrad/autograd/kernels/simd/simd_targets.h>
#include <tapegrad/autograd/kernels/simd/stream.h>

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <cstring>

HWY_BEFORE_NAMESPACE();
namespace tapegrad {

void stream_copy(void* to, const void* from, int64_t bytes) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::FixedTag<uint8_t, 16> d;
  constexpr int64_t kLine = 64;
  auto* out = static_cast<uint8_t*>(to);
  const auto* in = static_cast<const uint8_t*>(from);
  for (; bytes >= kLine; bytes -= kLine, in += kLine, out += kLine) {
    const auto v0 = hn::LoadU(d, in), v1 = hn::LoadU(d, in + 16);
    const auto v2 = hn::LoadU(d, in + 32), v3 = hn::LoadU(d, in + 48);
    hn::Stream(v0, d, out);
    hn::Stream(v1, d, out + 16);
    hn::Stream(v2, d, out + 32);
    hn::Stream(v3, d, out + 48);
  }
  std::memcpy(out, in, static_cast<std::size_t>(bytes));
}

void end_streams() { hwy::FlushStream(); }

}  // namespace tapegrad
HWY_AFTER_NAMESPACE();
