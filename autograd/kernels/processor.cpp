// Asks the processor for its name and its caches, and sets the modes of its arithmetic.
// build: -Os
#include <tapegrad/autograd/kernels/processor.h>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>

#if defined(__x86_64__)
#include <cpuid.h>
#include <xmmintrin.h>
#elif defined(__aarch64__)
#include <fmt/format.h>
#include <sys/auxv.h>
#endif

namespace tapegrad {

#if defined(__x86_64__)
namespace {

// The largest cache in a table of deterministic cache parameters; 0 if the processor has no such table.
int64_t largest_cache(unsigned leaf) {
  constexpr unsigned kMostCaches = 16;
  int64_t largest = 0;
  for (unsigned i = 0; i < kMostCaches; ++i) {
    unsigned a = 0, b = 0, c = 0, d = 0;
    if (__get_cpuid_count(leaf, i, &a, &b, &c, &d) == 0 || (a & 31) == 0) break;
    const int64_t line = (b & 0xfff) + 1, partitions = (b >> 12 & 0x3ff) + 1, ways = (b >> 22) + 1;
    largest = std::max(largest, line * partitions * ways * (int64_t{c} + 1));
  }
  return largest;
}

int64_t largest_cache() { return std::max(largest_cache(4), largest_cache(0x8000001d)); }  // Intel's table, AMD's

}  // namespace

FlushDenormals::FlushDenormals() : saved_(_mm_getcsr()) { _mm_setcsr(0x9fc0); }
FlushDenormals::~FlushDenormals() { _mm_setcsr(static_cast<unsigned>(saved_)); }

bool take_flushed() { return false; }

std::string processor_name() {
  std::array<unsigned, 4> words{};
  std::string name;
  for (unsigned leaf = 0x80000002; leaf <= 0x80000004; ++leaf) {  // the brand string, in three parts of 16 characters
    if (__get_cpuid(leaf, &words[0], &words[1], &words[2], &words[3]) == 0) return "unknown";
    char part[16];
    std::memcpy(part, words.data(), sizeof part);
    name.append(part, strnlen(part, sizeof part));
  }
  const auto first = name.find_first_not_of(' '), last = name.find_last_not_of(' ');
  return first == std::string::npos ? "unknown" : name.substr(first, last - first + 1);
}

#elif defined(__aarch64__)
namespace {

constexpr uint64_t kFlushToZero = uint64_t{1} << 24;  // in FPCR; rounding to nearest and no traps are zeros
constexpr uint64_t kUnderflow = 1 << 3;               // in FPSR

uint64_t control() {
  uint64_t value;
  asm volatile("mrs %0, fpcr" : "=r"(value)::"memory");
  return value;
}
void set_control(uint64_t value) { asm volatile("msr fpcr, %0" ::"r"(value) : "memory"); }

int64_t largest_cache() { return std::max(sysconf(_SC_LEVEL2_CACHE_SIZE), sysconf(_SC_LEVEL3_CACHE_SIZE)); }

}  // namespace

FlushDenormals::FlushDenormals() : saved_(control()) { set_control(kFlushToZero); }
FlushDenormals::~FlushDenormals() { set_control(saved_); }

bool take_flushed() {
  uint64_t flags;
  asm volatile("mrs %0, fpsr" : "=r"(flags)::"memory");
  if ((flags & kUnderflow) == 0) return false;
  asm volatile("msr fpsr, %0" ::"r"(flags & ~kUnderflow) : "memory");
  return true;
}

std::string processor_name() {
  if ((getauxval(AT_HWCAP) & HWCAP_CPUID) == 0) return "unknown";
  uint64_t id;
  asm("mrs %0, midr_el1" : "=r"(id));
  return fmt::format("arm64, implementer {:#04x}, part {:#05x}", id >> 24 & 0xff, id >> 4 & 0xfff);
}

#else
#error "expected x86-64 or arm64 (a new kind of processor needs its words in this file, and its instruction set)"
#endif

int64_t largest_cache_bytes() {
  static const int64_t bytes = [] {
    const int64_t known = largest_cache();
    return known > 0 ? known : int64_t{32} << 20;
  }();
  return bytes;
}

int64_t second_cache_bytes() {
  static const int64_t bytes = [] {
    const int64_t known = sysconf(_SC_LEVEL2_CACHE_SIZE);
    return known > 0 ? known : int64_t{512} << 10;
  }();
  return bytes;
}

}  // namespace tapegrad
