// The `tapegrad` command.
#include <tapegrad/command/verbs.h>

int main(int argc, char** argv) { return tapegrad::tasks::command_main(argc, argv); }
