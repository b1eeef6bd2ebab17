// Named tensors in a file: the safetensors format (https://huggingface.co/docs/safetensors), read and written.
#pragma once

#include <tapegrad/autograd/inplace_function.h>
#include <tapegrad/autograd/io/destination.h>
#include <tapegrad/autograd/named_tensor.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace tapegrad {

/// The contents of a safetensors file.
struct SafeTensors {
  NamedTensors tensors;                         ///< in the order of their bytes
  std::map<std::string, std::string> metadata;  ///< the strings of "__metadata__"

  /// Searches one tensor after the other. nullptr without a tensor of this name.
  const Tensor* find(std::string_view name) const;
  /// Error without a tensor of this name.
  const Tensor& operator[](std::string_view name) const;
};

/// A file whose header has been read and checked. Its tensors are read one by one, so that a large file need not be in
/// memory at once.
class SafeTensorsFile : NonCopyable {
 public:
  /// Error "[safetensors] path: ..." for anything that breaks the format's rules: a header over 100 MB or longer than
  /// the file, invalid JSON, a repeated name, an unknown element type, a shape that does not fit its bytes, bytes that
  /// overlap, that belong to no tensor or that are missing. (Tensors that are not aligned to their element size are
  /// read: the format does not demand it.) Error for a damaged header of a file with checksums.
  explicit SafeTensorsFile(const std::string& path);
  ~SafeTensorsFile();

  /// The place of one tensor in the file.
  struct Entry {
    std::string name;                  ///< unique in the file
    std::string_view dtype;            ///< as in the file: "F32", "BF16" ...
    Shape shape;                       ///< {} for a single number
    uint64_t offset, bytes;            ///< of its values, from the start of the file
    std::optional<uint64_t> checksum;  ///< of its bytes, in a file with checksums
  };
  const std::vector<Entry>& entries() const { return entries_; }  ///< in the order of their bytes
  const Entry* find(std::string_view name) const;                 ///< nullptr without an entry of this name
  /// what save_safetensors was given
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  /// as it was given
  const std::string& path() const { return path_; }
  /// Was the file written with checksums (SaveOptions)? Then everything that is read is compared with them.
  bool has_checksums() const { return has_checksums_; }

  /// F32, F64, I64, I32, U8 and BOOL as they are; F16 and BF16 become float32; I16, I8, U64, U32 and U16 become int64.
  /// Error for a BOOL that is neither 0 nor 1, a U64 that int64 does not hold, and bytes whose checksum is wrong.
  Tensor read(const Entry& entry) const;
  /// The bytes of an entry as they are in the file. Error if their checksum is wrong.
  std::vector<std::byte> read_bytes(const Entry& entry) const;

 private:
  void read_checksums(const std::string& header);
  std::string path_;
  int descriptor_;
  bool has_checksums_ = false;
  std::vector<Entry> entries_;
  std::unordered_map<std::string_view, std::size_t> index_;  // from names to entries_
  std::map<std::string, std::string> metadata_;
};

/// All tensors of a file; of all files that an index (model.safetensors.index.json) names; or of the model.safetensors
/// or the index in a folder. Errors as above, and for an incomplete index, and for files and tensors that it names and
/// that do not exist.
SafeTensors load_safetensors(const std::string& path);
/// The same, one tensor at a time, so that they need not be in memory together. Returns the metadata.
std::map<std::string, std::string> read_safetensors(const std::string& path, InplaceFunction<void(NamedTensor)> take);
/// Their number, from the headers alone.
std::size_t count_safetensors(const std::string& path);

/// Bytes under names: entries of type U8 and shape [n], for data other than tensors, such as a generator's state.
using NamedBytes = std::map<std::string, std::vector<std::byte>, std::less<>>;

struct SaveOptions {
  NamedBytes bytes = {};   ///< written after the tensors
  bool checksums = false;  ///< write XXH3 checksums of everything into the metadata, as "checksum"
};

/// Writes the tensors, 8-byte types first (so that all are aligned) and otherwise in the order given. The file is
/// replaced whole or not at all (AtomicFile). Error for a repeated name, for the name "__metadata__", and with
/// checksums for metadata that has a "checksum" already; Error "[file] ..." when the file cannot be written.
void save_safetensors(const Destination& to, const NamedTensors& tensors,
                      const std::map<std::string, std::string>& metadata = {}, const SaveOptions& options = {});

}  // namespace tapegrad
