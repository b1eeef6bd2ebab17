// What every file that includes tapegrad must be compiled with, and the base class of what cannot be copied; the first
// header of all others.
#pragma once

#if __cplusplus < 202002L
#error "tapegrad needs C++20: add -std=c++20 (CMake: target_compile_features(NAME PRIVATE cxx_std_20))"
#endif
#ifdef __FAST_MATH__
#error \
    "tapegrad's results are reproducible to the last bit, which -ffast-math (also as a part of -Ofast) breaks: remove it"
#endif

namespace tapegrad {

/// The base of classes whose objects can be neither copied nor moved.
class NonCopyable {
 public:
  NonCopyable(const NonCopyable&) = delete;
  NonCopyable& operator=(const NonCopyable&) = delete;

 protected:
  NonCopyable() = default;
  ~NonCopyable() = default;
};

}  // namespace tapegrad
