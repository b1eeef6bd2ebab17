#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/train/data/detail/input_file.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>

namespace tapegrad::data::detail {

InputFile::InputFile(const std::string& path) : path_(path), file_(open_regular_file(path, size_)) {}

std::size_t InputFile::read(uint64_t offset, std::size_t count, char* out) const {
  const int64_t found = read_at(file_.get(), offset, std::as_writable_bytes(std::span(out, count)));
  if (found < 0) fail("file", "cannot read {}: {}", path_, std::strerror(errno));
  return static_cast<std::size_t>(found);
}

TextPieces::TextPieces(const InputFile& file, uint64_t begin, uint64_t end, std::size_t piece, Cut cut)
    : file_(&file), offset_(begin), end_(end), piece_(std::max<std::size_t>(piece, 1)), cut_(std::move(cut)) {}

void TextPieces::read_to(std::string& text, std::size_t size) {
  const std::size_t before = text.size();
  if (size <= before) return;
  const auto more = static_cast<std::size_t>(std::min<uint64_t>(size - before, end_ - offset_));
  text.resize(before + more);
  const std::size_t read = file_->read(offset_, more, text.data() + before);
  text.resize(before + read);
  offset_ += read;
  if (read < more) end_ = offset_;  // the file has become shorter
}

TextRound TextPieces::next() {
  constexpr std::size_t kAhead = std::size_t{1} << 16;  // to find the last cut in
  TextRound round;
  round.begin = offset_ - rest_.size();
  round.text = std::move(rest_);
  std::string& text = round.text;
  rest_.clear();
  for (std::size_t wanted = kPieces * piece_ + kAhead; round.ends.empty(); wanted = 2 * text.size()) {
    read_to(text, wanted);
    const bool whole = offset_ == end_;
    if (whole && text.empty()) return round;
    for (std::size_t at = 0; at < text.size() && round.ends.size() < kPieces;) {
      at = text.size() - at > piece_ ? cut_(text, at + piece_) : std::string::npos;
      if (at == std::string::npos && !whole) break;
      at = std::min(at, text.size());
      round.ends.push_back(at);
    }
  }
  rest_ = text.substr(round.ends.back());
  text.resize(round.ends.back());
  return round;
}

}  // namespace tapegrad::data::detail
