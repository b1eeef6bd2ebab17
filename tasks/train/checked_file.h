// Model files with a checksum: safetensors whose metadata tells the damaged from the whole.
#pragma once

#include <tapegrad/autograd/io/safetensors.h>
#include <tapegrad/tasks/train/files.h>

namespace tapegrad::train {

// save_safetensors, with one string more in the metadata: "checksum", of names, types, shapes and values of the tensors
// and of all other metadata.
void save_checked(const fs::path& path, const NamedTensors& tensors, std::map<std::string, std::string> metadata);

// Error for a file without checksum, with another than its contents have, and for whatever load_safetensors refuses.
SafeTensors load_checked(const fs::path& path);

}  // namespace tapegrad::train
