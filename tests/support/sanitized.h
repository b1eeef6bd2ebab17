// Whether a sanitizer is compiled in: GCC defines macros, clang answers __has_feature (clang 14 has no such macros).
#pragma once

#ifdef __has_feature
#define TAPEGRAD_HAS_FEATURE(name) __has_feature(name)
#else
#define TAPEGRAD_HAS_FEATURE(name) 0
#endif

namespace tapegrad::tests {

#if defined(__SANITIZE_ADDRESS__) || TAPEGRAD_HAS_FEATURE(address_sanitizer)
inline constexpr bool kAddressSanitizer = true;
#else
inline constexpr bool kAddressSanitizer = false;
#endif

#if defined(__SANITIZE_THREAD__) || TAPEGRAD_HAS_FEATURE(thread_sanitizer)
inline constexpr bool kThreadSanitizer = true;
#else
inline constexpr bool kThreadSanitizer = false;
#endif

inline constexpr bool kSanitized = kAddressSanitizer || kThreadSanitizer;

}  // namespace tapegrad::tests

#undef TAPEGRAD_HAS_FEATURE
