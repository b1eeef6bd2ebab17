// What tapegrad needs of the compiler's options: each public header includes this one first.
#pragma once

#if __cplusplus <= 201703L
#error "tapegrad needs C++20: add -std=c++20"
#endif
