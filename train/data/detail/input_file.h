// Files that several threads read concurrently, at any position, and their text in pieces that can be worked on one by
// one, without the whole text in memory.
#pragma once

#include <tapegrad/autograd/io/internal/descriptor.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace tapegrad::data::detail {

class InputFile {
 public:
  explicit InputFile(const std::string& path);  // Error unless it is a regular file that can be read

  // Reads up to `count` bytes from `offset` on, fewer only at the end of the file. Returns how many.
  std::size_t read(uint64_t offset, std::size_t count, char* out) const;
  const std::string& path() const { return path_; }
  uint64_t size() const { return size_; }  // when it was opened

 private:
  std::string path_;
  uint64_t size_ = 0;
  Descriptor file_;
};

/// As Tokenizer::cut: the first position of a text, from a given one on, at which it can be cut.
using Cut = std::function<std::size_t(std::string_view text, std::size_t from)>;

/// Some consecutive pieces of the text.
struct TextRound {
  std::string text;
  uint64_t begin = 0;             // of `text` in the file
  std::vector<std::size_t> ends;  // of the pieces in `text`
  std::size_t begin_of(std::size_t i) const { return i == 0 ? 0 : ends[i - 1]; }
  std::string_view piece(std::size_t i) const {
    return std::string_view(text).substr(begin_of(i), ends[i] - begin_of(i));
  }
};

/// Reads the bytes from `begin` to `end` of a file, kPieces pieces of `piece` or a few more bytes at a time. A piece
/// that cannot be cut, such as a very long word, is read as a whole.
class TextPieces {
 public:
  static constexpr std::size_t kPieces = 128;
  /// The file must outlive it.
  TextPieces(const InputFile& file, uint64_t begin, uint64_t end, std::size_t piece, Cut cut);
  /// The next pieces; none at the end.
  TextRound next();

 private:
  void read_to(std::string& text, std::size_t size);
  const InputFile* file_;
  uint64_t offset_, end_;  // what is not read yet
  std::size_t piece_;
  Cut cut_;
  std::string rest_;  // what was read and is in no piece yet
};

}  // namespace tapegrad::data::detail
