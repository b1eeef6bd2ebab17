// Token ids as training data: in memory or in a token file, and how a token file is written.
#pragma once

#include <tapegrad/autograd/compiler.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace tapegrad::data {

class Tokenizer;

/// A sequence of token ids, in memory, or in a file that is read only where needed. Copies are cheap: they share the
/// ids.
class Tokens {
 public:
  explicit Tokens(std::vector<int64_t> ids);
  /// Opens a token file: a safetensors file with one tensor "tokens", U16 or U32 [n]. Error for any other file.
  static Tokens open(const std::string& path);

  int64_t size() const { return size_; }
  /// Error outside the sequence, and if the file has become shorter. The same holds for copy().
  int64_t operator[](int64_t i) const;
  /// Copies tokens begin ... begin + count - 1 to `out`.
  void copy(int64_t begin, int64_t count, int64_t* out) const;
  /// Tokens begin ... end - 1, without a copy. Error outside the sequence.
  Tokens slice(int64_t begin, int64_t end) const;
  /// The largest id; -1 for an empty sequence. Read from the header for a whole token file of this version; otherwise
  /// it takes a pass over all ids. The same holds for checksum().
  int64_t largest() const;
  /// XXH3 of the ids.
  uint64_t checksum() const;
  /// Reads all ids of the file. Error unless they have the checksum and the largest id of its header; a file of an
  /// earlier version, which has neither, is taken as it is, and so are ids in memory.
  void verify() const;

 private:
  struct Source;
  Tokens(std::shared_ptr<const Source> source, int64_t begin, int64_t size);
  struct Measured;
  Measured measured() const;
  std::shared_ptr<const Source> source_;
  int64_t begin_ = 0, size_ = 0;
};

/// Whether the file begins like a safetensors file, which no text does.
bool is_safetensors_file(const std::string& path);

struct TokenFileOptions {
  std::size_t piece = std::size_t{1} << 18;  ///< bytes of text, about, that a thread encodes at a time
  /// Called between two parts of the text, with the bytes that are done and all; what it throws ends the work.
  std::function<void(uint64_t done, uint64_t all)> progress = {};
};

/// Encodes the text in `text_path` into the token file `path`, on all threads and without either in memory: 100 to 200
/// MB for any text, as long as no word has more than a few MB. The bytes of the file do not depend on threads and
/// pieces: the text is cut where Tokenizer::cut allows, so that the ids are those of the whole. Returns their number.
/// Replaces `path` atomically; Error if it is the text itself, and for a text that the tokenizer cannot encode.
int64_t write_token_file(const Tokenizer& tokenizer, const std::string& text_path, const std::string& path,
                         const TokenFileOptions& options = {});

}  // namespace tapegrad::data
