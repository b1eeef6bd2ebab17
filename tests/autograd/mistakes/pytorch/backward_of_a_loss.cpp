// write Gradients grads = tape.backward.loss.
#include <tapegrad/autograd/ops.h>

void mistake(const tapegrad::Tensor& loss) { loss.backward(); }
