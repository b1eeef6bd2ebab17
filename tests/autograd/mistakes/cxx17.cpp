// tapegrad needs C.+20: add -std=c.+20
// flags: -std=c++17
#include <tapegrad/tapegrad.h>
