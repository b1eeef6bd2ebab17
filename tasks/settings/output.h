// Standard output, whose loss is an error: of a full disk, or where it is closed.
#pragma once

#include <string_view>

namespace tapegrad::tasks {

/// Where standard streams are closed, makes input and output fail and messages go nowhere, instead of into the next
/// file that is opened.
void hold_standard_streams();

/// Writes to standard output, at once. Error with the system's reason if that fails.
void print_now(std::string_view text);
/// Error where anything that was printed could not be written.
void check_output();

}  // namespace tapegrad::tasks
