// write grads.x., with the Gradients of tape.backward.loss.
#include <tapegrad/autograd/ops.h>

int mistake(const tapegrad::Tensor& w) { return w.grad().dim(); }
