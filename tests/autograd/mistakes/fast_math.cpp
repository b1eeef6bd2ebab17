// tapegrad's results are reproducible to the last bit, which -ffast-math .also as a part of -Ofast. breaks
// flags: -Ofast
#include <tapegrad/autograd/tensor.h>
