// Text as training data: token sequences in memory or mapped from a file, windows over them, and batches of windows in
// the order in which PyTorch's DataLoader draws them.
#pragma once

#include <tapegrad/autograd/random.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tapegrad::data {

class Tokenizer;

// Token ids, in memory or in a file that is mapped, of which memory holds only what is read. A cheap handle.
class Tokens {
 public:
  explicit Tokens(std::vector<int64_t> ids);
  // Maps a token file: a safetensors file with one tensor "tokens", U16 or U32 [n]. Error for any other.
  static Tokens map(const std::string& path);

  int64_t size() const { return size_; }
  int64_t operator[](int64_t i) const;
  // Tokens begin .. begin + count - 1, to `out`. Error outside of the sequence.
  void copy(int64_t begin, int64_t count, int64_t* out) const;
  // Those from `begin` on, before `end`; the same memory. Error outside of the sequence.
  Tokens slice(int64_t begin, int64_t end) const;
  int64_t largest() const;  // the largest id, by a look at all; -1 where there are none

 private:
  struct Source;
  Tokens(std::shared_ptr<const Source> source, int64_t begin, int64_t size);
  std::shared_ptr<const Source> source_;
  int64_t begin_ = 0, size_ = 0;
};

// Is this file a safetensors file, by its first bytes? Then it is no text, and Tokens::map tells whether it holds
// tokens.
bool is_safetensors_file(const std::string& path);

// Encodes the text in a file, about `piece` bytes at a time, into a token file: neither needs to fit into memory. The
// ids are those of the text as a whole. Returns how many there are.
int64_t write_token_file(const Tokenizer& tokenizer, const std::string& text_path, const std::string& path,
                         std::size_t piece = std::size_t{8} << 20);

// The windows of a sequence: number i reads tokens i * stride and `length` - 1 more, and predicts those one further on.
class Windows {
 public:
  // Error for a sequence that is shorter than one window, which needs length + 1 tokens.
  Windows(Tokens tokens, int64_t length, int64_t stride);

  int64_t size() const { return size_; }
  int64_t length() const { return length_; }
  void copy(int64_t window, int64_t* inputs, int64_t* targets) const;  // `length` of each

 private:
  Tokens tokens_;
  int64_t length_, stride_, size_;
};

// int64 [B, T] each.
struct TextBatch {
  Tensor inputs, targets;
};

struct LoaderOptions {
  int64_t batch_size = 1;
  bool shuffle = false;
  bool drop_last = false;  // leave out a last batch that is not full
};

// Batches of windows. Going through them draws what PyTorch's DataLoader draws: an iteration one 64-bit number at its
// start, and with shuffling one more, the seed of its order, when the first batch is asked for.
class TextLoader {
 public:
  TextLoader(Windows windows, LoaderOptions options);

  int64_t size() const;  // batches of one iteration
  const Windows& windows() const { return windows_; }

  // Where an iteration stands, for a checkpoint.
  struct Position {
    int64_t batch = 0;                   // the next one
    std::optional<uint64_t> order_seed;  // once it is drawn
  };

  class Iteration {
   public:
    // The next batch, or false at the end.
    bool next(TextBatch& batch);
    const Position& position() const { return position_; }

   private:
    friend class TextLoader;
    Iteration(const TextLoader& loader, Generator& generator) : loader_(&loader), generator_(&generator) {}
    void order();
    const TextLoader* loader_;
    Generator* generator_;
    Position position_;
    std::vector<int64_t> order_;  // of windows; empty: as they stand
  };
  // The loader and the generator must outlive it.
  Iteration begin(Generator& generator = default_generator()) const;
  // Goes on from a position of an earlier iteration; draws nothing that was drawn already.
  Iteration resume(const Position& position, Generator& generator = default_generator()) const;

 private:
  Windows windows_;
  LoaderOptions options_;
};

}  // namespace tapegrad::data
