// write zeros..2, 3
#include <tapegrad/autograd/ops.h>

int main() { return tapegrad::zeros(2, 3).dim(); }
