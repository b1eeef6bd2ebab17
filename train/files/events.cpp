// Writes and shortens event files: records with checksums, whose contents are messages of Protocol Buffers.
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/train/data/utf8.h>
#include <tapegrad/train/events.h>

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <vector>

namespace tapegrad::train {
namespace {

static_assert(std::endian::native == std::endian::little, "the format is little-endian");

// --- records: length (8 bytes), its checksum (4), contents, their checksum (4) ---

constexpr std::size_t kRecordHead = 12, kRecordTail = 4;

// Castagnoli's polynomial, with its bits reversed.
constexpr std::array<uint32_t, 256> kCrcOfByte = [] {
  std::array<uint32_t, 256> table{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78U : 0U);
    table[byte] = crc;
  }
  return table;
}();

// A CRC-32C, rotated and shifted by a constant, so that the checksum of a text with checksums is a good one.
uint32_t masked_crc(std::string_view bytes) {
  uint32_t crc = ~0U;
  for (const char c : bytes) crc = crc >> 8 ^ kCrcOfByte[(crc ^ static_cast<unsigned char>(c)) & 0xff];
  return std::rotr(~crc, 15) + 0xa282ead8U;
}

template <class T>
std::string raw(T value) {
  std::string bytes(sizeof value, '\0');
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

template <class T>
T raw_at(std::string_view bytes, std::size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

std::string record_of(std::string_view contents) {
  const std::string length = raw(uint64_t{contents.size()});
  return length + raw(masked_crc(length)) + std::string(contents) + raw(masked_crc(contents));
}

// --- messages: fields, each with its number and the kind of its value ---

enum class Wire : uint64_t { varint = 0, eight_bytes = 1, bytes = 2, four_bytes = 5 };

std::string varint(uint64_t value) {
  std::string out;
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  return out + static_cast<char>(value);
}

std::string field_start(uint64_t field, Wire wire) { return varint(field << 3 | static_cast<uint64_t>(wire)); }

std::string bytes_field(uint64_t field, std::string_view value) {
  return field_start(field, Wire::bytes) + varint(value.size()) + std::string(value);
}
std::string integer_field(uint64_t field, int64_t value) {
  return field_start(field, Wire::varint) + varint(static_cast<uint64_t>(value));
}
std::string double_field(uint64_t field, double value) { return field_start(field, Wire::eight_bytes) + raw(value); }

std::string doubles_field(uint64_t field, const std::vector<double>& values) {
  std::string packed;
  for (const double value : values) packed += raw(value);
  return bytes_field(field, packed);
}

// The numbers of the fields of event.proto and summary.proto.
constexpr uint64_t kTime = 1, kStep = 2, kFileVersion = 3, kSummary = 5;                      // Event
constexpr uint64_t kValue = 1;                                                                // Summary
constexpr uint64_t kTag = 1, kSimpleValue = 2, kHistogramOf = 5, kTensor = 8, kMetadata = 9;  // Summary.Value

std::string summary_value(std::string_view tag, std::string_view value) {
  return bytes_field(kValue, bytes_field(kTag, data::valid_utf8(tag)) + std::string(value));
}

// The step of an event, which is 0 where it has none; nothing if the bytes are not a message.
std::optional<int64_t> step_of(std::string_view event) {
  std::size_t at = 0;
  const auto number = [&]() -> std::optional<uint64_t> {
    uint64_t value = 0;
    for (int shift = 0; at < event.size() && shift < 64; shift += 7) {
      const auto byte = static_cast<unsigned char>(event[at++]);
      value |= uint64_t{byte & 0x7fU} << shift;
      if (byte < 0x80) return value;
    }
    return {};
  };
  while (at < event.size()) {
    const auto start = number();
    if (!start) return {};
    const Wire wire = static_cast<Wire>(*start & 7);
    std::optional<uint64_t> size;
    if (wire == Wire::eight_bytes) size = 8;
    if (wire == Wire::four_bytes) size = 4;
    if (wire == Wire::varint || wire == Wire::bytes) size = number();
    if (!size) return {};
    if (wire == Wire::varint) {
      if (*start >> 3 == kStep) return static_cast<int64_t>(*size);
      continue;
    }
    if (*size > event.size() - at) return {};
    at += *size;
  }
  return 0;
}

// The bytes of the records before the first one of a step after `steps`.
int64_t bytes_of_events(const AppendFile& file, int64_t steps) {
  const std::string text = file.contents();
  const std::string_view all = text;
  std::size_t at = 0;
  for (int64_t number = 1; all.size() - at >= kRecordHead; ++number) {
    const auto refuse = [&](std::string_view what) {
      fail("events", "{}, record {}: {} (without this file, the run continues and begins a new one)", file.path(),
           number, what);
    };
    const auto length = raw_at<uint64_t>(all, at);
    if (raw_at<uint32_t>(all, at + sizeof length) != masked_crc(all.substr(at, sizeof length)))
      refuse("the checksum of its length is wrong");
    const std::size_t begin = at + kRecordHead, left = all.size() - begin;
    if (left < kRecordTail || length > left - kRecordTail) break;
    const std::string_view event = all.substr(begin, length);
    if (raw_at<uint32_t>(all, begin + length) != masked_crc(event)) refuse("its checksum is wrong");
    const std::optional<int64_t> step = step_of(event);
    if (!step) refuse("expected an event");
    if (*step > steps) break;
    at = begin + length + kRecordTail;
  }
  return static_cast<int64_t>(at);
}

double system_time() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

// --- histograms ---

// Calls each(number) for the finite elements in their order, without a copy of the whole tensor in float64.
template <class F>
void each_finite(const Tensor& flat, const F& each) {
  constexpr int64_t kPiece = 1 << 16;
  for (int64_t begin = 0; begin < flat.numel(); begin += kPiece) {
    const Tensor piece = flat.slice(0, begin, std::min(begin + kPiece, flat.numel())).to(kFloat64);
    for (const double value : piece.to_vector<double>())
      if (std::isfinite(value)) each(value);
  }
}

// A HistogramProto.
std::string histogram_of(const Tensor& flat) {
  constexpr int kBins = 30;
  double low = std::numeric_limits<double>::infinity(), high = -low, count = 0, sum = 0, squares = 0;
  each_finite(flat, [&](double value) {
    low = std::min(low, value), high = std::max(high, value);
    count += 1, sum += value, squares += value * value;
  });
  if (count == 0) return {};
  const double half = high / 2 - low / 2;  // the whole range may be infinite
  std::vector<double> limits, counts(half > 0 ? kBins : 1);
  for (std::size_t i = 1; i < counts.size(); ++i) {
    const double share = static_cast<double>(i) / kBins;
    limits.push_back(low * (1 - share) + high * share);
  }
  limits.push_back(high);
  each_finite(flat, [&](double value) {
    const double share = half > 0 ? (value / 2 - low / 2) / half : 0;
    counts[std::min(static_cast<std::size_t>(share * kBins), counts.size() - 1)] += 1;
  });
  return double_field(1, low) + double_field(2, high) + double_field(3, count) + double_field(4, sum) +
         double_field(5, squares) + doubles_field(6, limits) + doubles_field(7, counts);
}

}  // namespace

EventWriter::EventWriter(const Destination& file, int64_t steps, std::function<double()> now)
    : now_(now ? std::move(now) : system_time), file_(file) {
  const int64_t kept = bytes_of_events(file_, steps);
  file_.truncate(kept);
  if (kept == 0) file_.append(record_of(double_field(kTime, now_()) + bytes_field(kFileVersion, "brain.Event:2")));
}

void EventWriter::write(int64_t step, std::string_view summary) {
  if (step < 0) fail("events", "expected a step of at least 0, got {}", step);
  file_.append(record_of(double_field(kTime, now_()) + integer_field(kStep, step) + bytes_field(kSummary, summary)));
}

void EventWriter::add_scalar(std::string_view tag, double value, int64_t step) {
  const Figure one[] = {{std::string(tag), value}};
  add_scalars(one, step);
}

void EventWriter::add_scalars(std::span<const Figure> values, int64_t step) {
  std::string summary;
  for (const Figure& one : values)
    summary +=
        summary_value(one.name, field_start(kSimpleValue, Wire::four_bytes) + raw(static_cast<float>(one.value)));
  if (!summary.empty()) write(step, summary);
}

void EventWriter::add_histogram(std::string_view tag, const Tensor& values, int64_t step) {
  write(step, summary_value(tag, bytes_field(kHistogramOf, histogram_of(values.detach().reshape({-1})))));
}

void EventWriter::add_text(std::string_view tag, std::string_view text, int64_t step) {
  constexpr uint64_t kType = 1, kShape = 2, kStrings = 8;  // TensorProto
  constexpr int64_t kString = 7, kTensorClass = 2;
  const std::string tensor =
      integer_field(kType, kString) + bytes_field(kShape, "") + bytes_field(kStrings, data::valid_utf8(text));
  const std::string plugin = bytes_field(1, "text");
  const std::string metadata = bytes_field(1, plugin) + integer_field(4, kTensorClass);
  write(step, summary_value(tag, bytes_field(kTensor, tensor) + bytes_field(kMetadata, metadata)));
}

}  // namespace tapegrad::train
