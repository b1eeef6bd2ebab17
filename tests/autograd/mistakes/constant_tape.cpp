// passing .*const tapegrad::Tape|has type .*const tapegrad::Tape
#include <tapegrad/autograd/tape.h>

tapegrad::Gradients mistake(const tapegrad::Tape& tape) { return tape.backward(tapegrad::scalar(1)); }
