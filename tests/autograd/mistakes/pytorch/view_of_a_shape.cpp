// write reshape.shape.
#include <tapegrad/autograd/ops.h>

int main() { return tapegrad::ones({4}).view({2, -1}).dim(); }
