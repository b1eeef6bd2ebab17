// NumPy's files: one array (.npy), or several with names (.npz), read and written.
#pragma once

#include <tapegrad/autograd/named_tensor.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace tapegrad {

/// The array of a .npy file, versions 1.0 to 3.0 of the format, in C or Fortran order and of either byte order.
/// float32, float64, int64, int32, uint8 and bool stay what they are; float16 becomes float32; other integers of 8 to
/// 64 bits become int64. Error "[numpy] PATH: ..." for other types, for a damaged header, for fewer or more bytes than
/// the shape needs, for a bool that is neither 0 nor 1, and for numbers that int64 does not hold.
Tensor load_npy(const std::string& path);

struct SaveNpyOptions {
  bool fortran_order = false;  ///< write the first axis fastest, as MATLAB and Fortran keep arrays
};

/// Writes what numpy.save writes, byte for byte, in version 1.0 of the format. The file is replaced whole or not at all
/// (AtomicFile). Error for bfloat16, which NumPy does not have.
void save_npy(const std::string& path, const Tensor& tensor, const SaveNpyOptions& options = {});

struct LoadNpzOptions {
  /// of all compressed arrays that are read: 4 MB can expand to 4 GB
  uint64_t max_expanded_bytes = uint64_t{1} << 31;
};

/// The arrays of a .npz file, as numpy.savez and numpy.savez_compressed write them, in the order of the archive: of
/// "weight.npy" in the archive the name is "weight". Error "[numpy] PATH: ..." for an archive or array that is damaged
/// (each has a checksum, CRC-32), for anything else in the archive than arrays, and for compressed arrays that expand
/// to more bytes than `options` allow.
NamedTensors load_npz(const std::string& path, const LoadNpzOptions& options = {});
/// One array of a .npz file; the others are not read. Error if there is none of that name.
Tensor load_npz(const std::string& path, std::string_view name, const LoadNpzOptions& options = {});

/// Writes tensors as numpy.savez does, not compressed. Equal tensors give equal bytes. The file is replaced whole or
/// not at all (AtomicFile). Error for bfloat16, for a repeated name, and for one that is not UTF-8 or has NUL bytes.
void save_npz(const std::string& path, const NamedTensors& tensors);

}  // namespace tapegrad
