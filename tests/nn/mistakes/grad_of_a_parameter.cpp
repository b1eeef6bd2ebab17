// write grads.x., with the Gradients of tape.backward.loss.
#include <tapegrad/nn/linear.h>

int main() { return tapegrad::nn::Linear(2, 2).weight.grad().dim(); }
