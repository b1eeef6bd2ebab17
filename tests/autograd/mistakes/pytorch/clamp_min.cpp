// write clamp.x, low.
#include <tapegrad/autograd/ops.h>

int main() { return tapegrad::clamp_min(tapegrad::ones({4}), 0.5).dim(); }
