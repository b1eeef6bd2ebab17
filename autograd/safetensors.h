// Named tensors in a file: the safetensors format (https://huggingface.co/docs/safetensors), read and written.
#pragma once

#include <tapegrad/autograd/named_tensor.h>

#include <map>
#include <string>
#include <string_view>

namespace tapegrad {

// What a safetensors file holds.
struct SafeTensors {
  NamedTensors tensors;                         // in the order of their bytes
  std::map<std::string, std::string> metadata;  // the strings of "__metadata__"

  const Tensor* find(std::string_view name) const;        // nullptr where there is none
  const Tensor& operator[](std::string_view name) const;  // Error where there is none
};

// Reads F32, F64, I64 and BOOL as they are; F16 and BF16 become float32; I32, I16, I8, U32, U16, U8 and U64 become
// int64. Error "[safetensors] path: ..." for anything that breaks the format's rules, before memory is taken for the
// tensors: a header over 100 MB or longer than the file, no JSON, a repeated name, an unknown element type, a shape
// that does not fit its bytes, bytes that overlap, that nobody owns or that are missing, a BOOL that is neither 0
// nor 1. (Tensors that are not aligned to their element size are read all the same: the format does not demand that.)
SafeTensors load_safetensors(const std::string& path);

// Writes the tensors, 8-byte types first (so that all are aligned) and otherwise in the order given. The file is
// replaced whole or not at all: a hidden temporary file beside it is written, synced and renamed, and where the disk is
// full or not to be written to, that is an Error and the old file stays untouched. Error for a name given twice or
// "__metadata__".
void save_safetensors(const std::string& path, const NamedTensors& tensors,
                      const std::map<std::string, std::string>& metadata = {});

}  // namespace tapegrad
