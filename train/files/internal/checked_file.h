// Model files: safetensors with checksums.
#pragma once

#include <tapegrad/autograd/io/safetensors.h>

namespace tapegrad::train {

/// save_safetensors with checksums (SaveOptions::checksums).
void save_checked(const Destination& to, const NamedTensors& tensors,
                  const std::map<std::string, std::string>& metadata);

/// Error for a file without checksums, for a damaged one, and for files that load_safetensors rejects. Files of
/// tapegrad 0.1.0, whose checksum was a different one, are read without a check.
SafeTensors load_checked(const std::string& path);

}  // namespace tapegrad::train
