#include <fmt/format.h>
#include <tapegrad/autograd/error.h>
#include <tapegrad/autograd/io/internal/checksum.h>
#include <tapegrad/autograd/io/safetensors.h>
#include <tapegrad/train/data/detail/input_file.h>
#include <tapegrad/train/data/detail/token_file.h>
#include <tapegrad/train/data/tokens.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>
#include <span>

namespace tapegrad::data {

// Either ids in memory, or a file that has them with 2 or 4 bytes each from `offset` on.
struct Tokens::Source {
  std::vector<int64_t> ids;
  std::optional<detail::InputFile> file;
  uint64_t offset = 0;
  std::size_t width = 8;
  std::optional<uint64_t> checksum;  // of all ids, from the header
  std::optional<int64_t> largest;
  int64_t size = -1;  // what these are of

  template <class T>
  void read(int64_t begin, int64_t count, int64_t* out) const {
    // The narrow ids are read into the end of the room for the wide ones, then widened from the first on.
    char* const narrow = reinterpret_cast<char*>(out + count) - static_cast<std::size_t>(count) * sizeof(T);
    const std::size_t bytes = static_cast<std::size_t>(count) * sizeof(T);
    if (file->read(offset + static_cast<uint64_t>(begin) * sizeof(T), bytes, narrow) < bytes) {
      fail("text", fmt::format("{} has become shorter since it was opened", file->path()));
    }
    for (int64_t i = 0; i < count; ++i) {
      T id;
      std::memcpy(&id, narrow + static_cast<std::size_t>(i) * sizeof id, sizeof id);
      out[i] = id;
    }
  }
  void copy(int64_t begin, int64_t count, int64_t* out) const {
    if (!file) {
      std::copy_n(ids.begin() + begin, count, out);
    } else if (width == 2) {
      read<uint16_t>(begin, count, out);
    } else {
      read<uint32_t>(begin, count, out);
    }
  }
};

Tokens::Tokens(std::vector<int64_t> ids) : size_(static_cast<int64_t>(ids.size())) {
  auto source = std::make_shared<Source>();
  source->ids = std::move(ids);
  source_ = std::move(source);
}

Tokens::Tokens(std::shared_ptr<const Source> source, int64_t begin, int64_t size)
    : source_(std::move(source)), begin_(begin), size_(size) {}

// A number in the metadata of a token file; none in a file of an earlier version.
template <class T>
std::optional<T> number_of(const SafeTensorsFile& file, std::string_view name, int base) {
  const auto found = file.metadata().find(std::string(name));
  if (found == file.metadata().end()) return std::nullopt;
  T number{};
  const char *const begin = found->second.data(), *const end = begin + found->second.size();
  if (const auto [last, error] = std::from_chars(begin, end, number, base); error != std::errc() || last != end) {
    fail("text", fmt::format("{} is not a token file: expected a number as \"{}\" of its metadata, got \"{}\"",
                             file.path(), name, found->second.substr(0, 40)));
  }
  return number;
}

Tokens Tokens::open(const std::string& path) {
  const SafeTensorsFile file(path);
  const SafeTensorsFile::Entry* const entry = file.find("tokens");
  if (!entry || (entry->dtype != "U16" && entry->dtype != "U32") || entry->shape.rank() != 1) {
    fail("text", fmt::format("{} is not a token file: expected a tensor \"tokens\", U16 or U32, with one axis", path));
  }
  auto source = std::make_shared<Source>();
  source->width = entry->dtype == "U16" ? 2 : 4;
  source->offset = entry->offset;
  source->checksum = number_of<uint64_t>(file, detail::kIdsChecksum, 16);
  source->size = entry->shape[0];
  source->largest = number_of<int64_t>(file, detail::kLargestId, 10);
  source->file.emplace(path);
  return Tokens(std::move(source), 0, entry->shape[0]);
}

int64_t Tokens::operator[](int64_t i) const {
  int64_t id = 0;
  copy(i, 1, &id);
  return id;
}

void Tokens::copy(int64_t begin, int64_t count, int64_t* out) const {
  if (begin < 0 || count < 0 || begin > size_ - count) {
    fail("text", fmt::format("expected tokens within 0 to {}, got {} to {}", size_, begin, begin + count));
  }
  source_->copy(begin_ + begin, count, out);
}

Tokens Tokens::slice(int64_t begin, int64_t end) const {
  if (begin < 0 || begin > end || end > size_) {
    fail("text", fmt::format("expected tokens within 0 to {}, got {} to {}", size_, begin, end));
  }
  return Tokens(source_, begin_ + begin, end - begin);
}

template <class F>
void Tokens::each_piece(const F& f) const {
  std::vector<int64_t> piece(detail::kIdsPerSum);
  for (int64_t at = 0; at < size_;) {
    const int64_t count = std::min(size_ - at, static_cast<int64_t>(piece.size()));
    copy(at, count, piece.data());
    f(std::span<const int64_t>(piece).first(static_cast<std::size_t>(count)));
    at += count;
  }
}

int64_t Tokens::largest() const {
  if (source_->largest && size_ == source_->size) return *source_->largest;
  int64_t largest = -1;
  each_piece(
      [&](std::span<const int64_t> ids) { largest = std::max(largest, *std::max_element(ids.begin(), ids.end())); });
  return largest;
}

uint64_t Tokens::checksum() const {
  if (source_->checksum && size_ == source_->size) return *source_->checksum;
  uint64_t sum = 0;
  each_piece([&](std::span<const int64_t> ids) { sum = tapegrad::checksum(std::as_bytes(ids), sum); });
  return sum;
}

void Tokens::verify() const {
  if (!source_->checksum && !source_->largest) return;
  uint64_t sum = 0;
  int64_t largest = -1;
  Tokens(source_, 0, source_->size).each_piece([&](std::span<const int64_t> ids) {
    sum = tapegrad::checksum(std::as_bytes(ids), sum);
    for (const int64_t id : ids) largest = std::max(largest, id);
  });
  if (sum != source_->checksum.value_or(sum) || largest != source_->largest.value_or(largest)) {
    fail("text", fmt::format("{} is damaged: its ids do not match the checksum in its header (write it again: tapegrad "
                             "tokenize --save)",
                             source_->file->path()));
  }
}

}  // namespace tapegrad::data
