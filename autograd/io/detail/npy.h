// One array in NumPy's format, read from bytes and written as bytes.
#pragma once

#include <tapegrad/autograd/io/detail/byte_source.h>
#include <tapegrad/autograd/tensor.h>

#include <string>

namespace tapegrad::numpy {

// All bytes of a source as an array. Error "[numpy] WHERE: ...".
Tensor read_array(Source& source, const std::string& where);

// The header of an .npy file: all bytes before the tensor's values.
std::string array_header(const Tensor& tensor, bool fortran_order, const std::string& where);

// x with its axes in reverse order: a view.
Tensor turned(const Tensor& x);

// The bytes of a contiguous tensor; valid while `packed` exists.
std::span<const std::byte> values_of(const Tensor& packed);

}  // namespace tapegrad::numpy
