// passing .*const tapegrad::Tape|has type .*const tapegrad::Tape
#include <tapegrad/autograd/tape.h>

int main() {
  const tapegrad::Tape tape;
  return static_cast<int>(tape.backward(tapegrad::scalar(1)).size());
}
