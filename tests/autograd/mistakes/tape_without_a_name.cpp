// ignoring return(ed)? value of|ignoring temporary
#include <tapegrad/autograd/tape.h>

void mistake() { tapegrad::Tape(); }  // ends at once: Tape tape; was meant
