// Memory for the duration of one call.
#pragma once

#include <tapegrad/autograd/pool.h>

#include <cstddef>
#include <cstdint>

namespace tapegrad {

/// A block of the memory pool for one call; its contents are unspecified.
template <class T>
class Scratch : NonCopyable {
 public:
  explicit Scratch(int64_t size) : bytes_(static_cast<std::size_t>(size) * sizeof(T)) {
    if (size > 0) data_ = static_cast<T*>(pool::acquire(bytes_));
  }
  ~Scratch() {
    if (data_ != nullptr) pool::release(data_, bytes_);
  }
  T* get() const { return data_; }

 private:
  std::size_t bytes_;
  T* data_ = nullptr;
};

}  // namespace tapegrad
