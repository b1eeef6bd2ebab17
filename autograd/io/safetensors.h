// Named tensors in a file: the safetensors format (https://huggingface.co/docs/safetensors), read and written.
#pragma once

#include <tapegrad/autograd/inplace_function.h>
#include <tapegrad/autograd/named_tensor.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tapegrad {

// What a safetensors file holds.
struct SafeTensors {
  NamedTensors tensors;                         // in the order of their bytes
  std::map<std::string, std::string> metadata;  // the strings of "__metadata__"

  const Tensor* find(std::string_view name) const;        // nullptr where there is none
  const Tensor& operator[](std::string_view name) const;  // Error where there is none
};

// A file whose header has been read and checked. Its tensors are read when they are asked for, so that a large file
// need not be in memory as a whole.
class SafeTensorsFile {
 public:
  // Error "[safetensors] path: ..." for anything that breaks the format's rules: a header over 100 MB or longer than
  // the file, no JSON, a repeated name, an unknown element type, a shape that does not fit its bytes, bytes that
  // overlap, that nobody owns or that are missing. (Tensors that are not aligned to their element size are read all the
  // same: the format does not demand that.)
  explicit SafeTensorsFile(const std::string& path);
  ~SafeTensorsFile();
  SafeTensorsFile(const SafeTensorsFile&) = delete;
  SafeTensorsFile& operator=(const SafeTensorsFile&) = delete;

  struct Entry {
    std::string name;
    std::string_view dtype;  // as in the file: "F32", "BF16" ...
    Shape shape;
    uint64_t offset, bytes;  // of its values, from the start of the file
  };
  const std::vector<Entry>& entries() const { return entries_; }  // in the order of their bytes
  const Entry* find(std::string_view name) const;                 // nullptr where there is none
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  const std::string& path() const { return path_; }

  // F32, F64, I64 and BOOL as they are; F16 and BF16 become float32; I32, I16, I8, U32, U16, U8 and U64 become int64.
  // Error for a BOOL that is neither 0 nor 1 and a U64 that int64 does not hold.
  Tensor read(const Entry& entry) const;

 private:
  std::string path_;
  int descriptor_;
  std::vector<Entry> entries_;
  std::map<std::string, std::string> metadata_;
};

// All tensors of a file; of all files that an index (model.safetensors.index.json) names; or of the model.safetensors
// or the index in a folder. Error as above, for an index that is not whole, and for files and tensors that it names and
// that are not there.
SafeTensors load_safetensors(const std::string& path);
// The same, one tensor at a time, so that what is read need not be in memory at once. Returns the metadata.
std::map<std::string, std::string> read_safetensors(const std::string& path, InplaceFunction<void(NamedTensor)> take);

// Writes the tensors, 8-byte types first (so that all are aligned) and otherwise in the order given. The file is
// replaced whole or not at all: a hidden temporary file beside it is written, synced and renamed, and where the disk is
// full or not to be written to, that is an Error and the old file stays untouched. Error for a name given twice or
// "__metadata__".
void save_safetensors(const std::string& path, const NamedTensors& tensors,
                      const std::map<std::string, std::string>& metadata = {});

}  // namespace tapegrad
