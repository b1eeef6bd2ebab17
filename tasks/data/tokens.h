// Token ids as training data: in memory or in a token file, and how a token file is written.
#pragma once

#include <cstddef>
#include <cstdint>
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
  /// Error outside the sequence, and where the file has become shorter; so for copy().
  int64_t operator[](int64_t i) const;
  /// Copies tokens begin ... begin + count - 1 to `out`.
  void copy(int64_t begin, int64_t count, int64_t* out) const;
  /// Tokens begin ... end - 1, without a copy. Error outside the sequence.
  Tokens slice(int64_t begin, int64_t end) const;
  /// The largest id, which takes a pass over all of them; -1 for an empty sequence.
  int64_t largest() const;

 private:
  struct Source;
  Tokens(std::shared_ptr<const Source> source, int64_t begin, int64_t size);
  std::shared_ptr<const Source> source_;
  int64_t begin_ = 0, size_ = 0;
};

/// Whether the file begins like a safetensors file, which no text does.
bool is_safetensors_file(const std::string& path);

/// Encodes the text in `text_path` into the token file `path`, about `piece` bytes at a time, so that neither has to
/// fit into memory. The ids are those of the whole text. Returns their number. Replaces `path` atomically; Error where
/// it is the text itself.
int64_t write_token_file(const Tokenizer& tokenizer, const std::string& text_path, const std::string& path,
                         std::size_t piece = std::size_t{8} << 20);

}  // namespace tapegrad::data
