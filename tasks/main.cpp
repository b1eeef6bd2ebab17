// The `tapegrad` command.
#include <tapegrad/tasks/verbs.h>

int main(int argc, char** argv) { return tapegrad::tasks::command_main(argc, argv); }
