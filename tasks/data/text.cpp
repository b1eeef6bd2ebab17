// Token sequences, windows over them, and the loader that draws them as PyTorch's does.
#include <fmt/format.h>
#include <tapegrad/autograd/io/safetensors.h>
#include <tapegrad/tasks/data/mapped_file.h>
#include <tapegrad/tasks/data/text.h>

#include <algorithm>
#include <cstring>

namespace tapegrad::data {

// ---- Tokens ----

// Either ids in memory, or a mapped file of them with 2 or 4 bytes each.
struct Tokens::Source {
  std::vector<int64_t> ids;
  std::optional<MappedFile> file;
  const char* mapped = nullptr;
  std::size_t width = 8;

  template <class T>
  void widen(int64_t begin, int64_t count, int64_t* out) const {
    const char* const from = mapped + static_cast<std::size_t>(begin) * sizeof(T);
    for (int64_t i = 0; i < count; ++i) {
      T value;
      std::memcpy(&value, from + static_cast<std::size_t>(i) * sizeof value, sizeof value);
      out[i] = value;
    }
  }
  void copy(int64_t begin, int64_t count, int64_t* out) const {
    if (!mapped) {
      std::copy_n(ids.begin() + begin, count, out);
    } else if (width == 2) {
      widen<uint16_t>(begin, count, out);
    } else {
      widen<uint32_t>(begin, count, out);
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

Tokens Tokens::map(const std::string& path) {
  uint64_t offset = 0;
  int64_t count = 0;
  auto source = std::make_shared<Source>();
  {
    const SafeTensorsFile file(path);
    const SafeTensorsFile::Entry* const entry = file.find("tokens");
    if (!entry || (entry->dtype != "U16" && entry->dtype != "U32") || entry->shape.rank() != 1) {
      fail("text", fmt::format("{}: is no file of tokens: need a tensor \"tokens\", U16 or U32, with one axis", path));
    }
    source->width = entry->dtype == "U16" ? 2 : 4;
    offset = entry->offset;
    count = entry->shape[0];
  }
  source->file.emplace(path);
  const std::string_view bytes = source->file->bytes();
  if (bytes.size() < offset + static_cast<uint64_t>(count) * source->width) {
    fail("text", fmt::format("{}: became shorter while it was read", path));
  }
  source->mapped = bytes.data() + offset;
  return Tokens(std::move(source), 0, count);
}

int64_t Tokens::operator[](int64_t i) const {
  int64_t id = 0;
  copy(i, 1, &id);
  return id;
}

void Tokens::copy(int64_t begin, int64_t count, int64_t* out) const {
  if (begin < 0 || count < 0 || begin > size_ - count) {
    fail("text", fmt::format("tokens {} to {} of a sequence of {}", begin, begin + count, size_));
  }
  source_->copy(begin_ + begin, count, out);
}

Tokens Tokens::slice(int64_t begin, int64_t end) const {
  if (begin < 0 || begin > end || end > size_) {
    fail("text", fmt::format("tokens {} to {} of a sequence of {}", begin, end, size_));
  }
  return Tokens(source_, begin_ + begin, end - begin);
}

int64_t Tokens::largest() const {
  int64_t largest = -1;
  std::vector<int64_t> piece(4096);
  for (int64_t at = 0; at < size_;) {
    const int64_t count = std::min<int64_t>(size_ - at, 4096);
    copy(at, count, piece.data());
    largest = std::max(largest, *std::max_element(piece.begin(), piece.begin() + count));
    at += count;
  }
  return largest;
}

// ---- Windows ----

Windows::Windows(Tokens tokens, int64_t length, int64_t stride)
    : tokens_(std::move(tokens)), length_(length), stride_(stride) {
  if (length < 1 || stride < 1) {
    fail("text", fmt::format("windows of {} tokens every {} tokens: both must be at least 1", length, stride));
  }
  if (tokens_.size() <= length) {
    fail("text", fmt::format("the text has {} tokens, a window of {} needs {} (a longer text, or a shorter context)",
                             tokens_.size(), length, length + 1));
  }
  size_ = (tokens_.size() - length - 1) / stride + 1;
}

void Windows::copy(int64_t window, int64_t* inputs, int64_t* targets) const {
  if (window < 0 || window >= size_) fail("text", fmt::format("window {} of {}", window, size_));
  tokens_.copy(window * stride_, length_, inputs);
  tokens_.copy(window * stride_ + 1, length_, targets);
}

// ---- Batches ----

TextLoader::TextLoader(Windows windows, LoaderOptions options) : windows_(std::move(windows)), options_(options) {
  if (options_.batch_size < 1) fail("text", fmt::format("a batch of {} windows: need at least 1", options_.batch_size));
}

int64_t TextLoader::size() const {
  const int64_t b = options_.batch_size;
  return options_.drop_last ? windows_.size() / b : (windows_.size() + b - 1) / b;
}

TextLoader::Iteration TextLoader::begin(Generator& generator) const {
  generator.random64();  // the seed that PyTorch gives to its worker processes, drawn without them too
  return Iteration(*this, generator);
}

TextLoader::Iteration TextLoader::resume(const Position& position, Generator& generator) const {
  if (position.batch < 0 || position.batch > size()) {
    fail("text", fmt::format("cannot go on from batch {} of {}", position.batch, size()));
  }
  Iteration iteration(*this, generator);
  iteration.position_ = position;
  return iteration;
}

// The order of this iteration: a permutation by a generator of its own.
void TextLoader::Iteration::order() {
  constexpr uint64_t kPositive = ~uint64_t{0} >> 1;
  if (!position_.order_seed) position_.order_seed = generator_->random64() & kPositive;
  order_.resize(static_cast<std::size_t>(loader_->windows_.size()));
  Generator(*position_.order_seed).randperm(order_.data(), loader_->windows_.size());
}

bool TextLoader::Iteration::next(TextBatch& batch) {
  const LoaderOptions& options = loader_->options_;
  const Windows& windows = loader_->windows_;
  if (options.shuffle && order_.empty()) order();
  if (position_.batch >= loader_->size()) return false;
  const int64_t first = position_.batch * options.batch_size,
                rows = std::min(options.batch_size, windows.size() - first), length = windows.length();
  batch.inputs = Tensor::empty({rows, length}, kInt64);
  batch.targets = Tensor::empty({rows, length}, kInt64);
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t window = options.shuffle ? order_[static_cast<std::size_t>(first + row)] : first + row;
    windows.copy(window, batch.inputs.mutable_data<int64_t>() + row * length,
                 batch.targets.mutable_data<int64_t>() + row * length);
  }
  ++position_.batch;
  return true;
}

}  // namespace tapegrad::data
