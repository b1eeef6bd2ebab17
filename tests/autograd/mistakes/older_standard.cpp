// tapegrad needs C..20: add -std=c..20
// compiled with -std=c++17
#include <tapegrad/tapegrad.h>

int main() {}
