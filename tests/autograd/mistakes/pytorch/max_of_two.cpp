// write maximum.a, b.
#include <tapegrad/autograd/ops.h>

int main() { return tapegrad::max(tapegrad::ones({4}), tapegrad::zeros({4})).dim(); }
