// write dict."name".
#include <tapegrad/nn/dict.h>
#include <tapegrad/nn/linear.h>

int main() {
  tapegrad::nn::Dict<tapegrad::nn::Linear> heads{{"value", tapegrad::nn::Linear(2, 1)}};
  return heads[0].weight.dim();
}
