// The range reduction of fixed::log and rough_log: a power of 2, and a table.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace tapegrad::fixed {

// For each interval of m of width 1 / 32, from 22 / 32 on: c near 1 / m, with few significant bits, and -log(c) as the
// sum of `high`, a multiple of 2^-40, and `low`.
struct LogEntry {
  double c, high, low;
};
inline constexpr std::array<LogEntry, 24> kLogs{{
    {1.421875, -0x1.686c81e9b0000p-2, -0x1.4aec442be1015p-42},
    {1.36328125, -0x1.3d54fa5c20000p-2, 0x1.1e0f1932e350ep-43},
    {1.3046875, -0x1.1058bf9ae4000p-2, -0x1.5aa313f415699p-43},
    {1.25390625, -0x1.cf6354e0a0000p-3, 0x1.d11db8cbf0555p-42},
    {1.20703125, -0x1.815c0a1438000p-3, 0x1.40a94be48073ap-42},
    {1.1640625, -0x1.371fc201e8000p-3, -0x1.ee8779b2d8abcp-44},
    {1.12109375, -0x1.d4313d66d0000p-4, 0x1.328a86f226ae2p-42},
    {1.0859375, -0x1.51b073f060000p-4, -0x1.83f69278e686ap-44},
    {1.05078125, -0x1.95c830ec80000p-5, -0x1.c7d6fad074029p-42},
    {1.0, 0, 0},
    {1.0, 0, 0},
    {0.95703125, 0x1.67c94f2d40000p-5, 0x1.76b08209f3283p-42},
    {0.92578125, 0x1.3bdf5a7d20000p-4, -0x1.19bd0ad125895p-44},
    {0.90234375, 0x1.a4e7640b20000p-4, -0x1.0f215b5ca203ep-42},
    {0.875, 0x1.1178e82280000p-3, -0x1.b8421cc74be04p-43},
    {0.8515625, 0x1.4913d83338000p-3, 0x1.ab06f2a9fb6cfp-42},
    {0.83203125, 0x1.7898d85448000p-3, -0x1.9c66107091430p-42},
    {0.80859375, 0x1.b31d8575c0000p-3, -0x1.8e1ac6a75670dp-42},
    {0.7890625, 0x1.e530effe70000p-3, 0x1.01212276041f4p-43},
    {0.76953125, 0x1.0c42d67618000p-2, -0x1.d1cee9d3862a3p-42},
    {0.75390625, 0x1.214456d0ec000p-2, -0x1.caf0428b728a3p-44},
    {0.734375, 0x1.3c25277334000p-2, -0x1.cf895693f2854p-43},
    {0.71875, 0x1.522ae0738c000p-2, -0x1.c2831efd36715p-42},
    {0.703125, 0x1.68ac83e9c8000p-2, -0x1.5ebe59b15228cp-42},
}};

// x = 2^k m with sqrt(1/2) <= m < sqrt(2), and the entry for m.
struct Reduced {
  double k, m;
  const LogEntry* entry;
};
// For 0 < x < infinity, not subnormal.
inline Reduced reduced(double x) {
  constexpr uint64_t kRoot = 0x3fe6a09e667f3bcdu, kOne = 0x3ff0000000000000u;  // sqrt(1/2), 1
  const uint64_t biased = std::bit_cast<uint64_t>(x) + (kOne - kRoot);
  const double m = std::bit_cast<double>((biased & 0xfffffffffffffu) + kRoot);
  return {static_cast<double>(static_cast<int64_t>(biased >> 52) - 1023), m,
          &kLogs[static_cast<std::size_t>(m * 32) - 22]};
}

}  // namespace tapegrad::fixed
