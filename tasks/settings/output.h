// Standard output, whose loss is an error: of a full disk, or where it is closed; and a line on standard error that
// says that the command is at work, and how far it is.
#pragma once

#include <tapegrad/autograd/error.h>
#include <tapegrad/train/drawing/terminal.h>

#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <thread>

namespace tapegrad::tasks {

/// Where standard streams are closed, makes input and output fail and messages go nowhere, instead of into the next
/// file that is opened.
void hold_standard_streams();

/// Standard output cannot be written.
class OutputError : public Error {
 public:
  using Error::Error;
};

/// Writes to standard output, at once. OutputError with the system's reason if that fails.
void print_now(std::string_view text);
/// The same for text that people read: names, labels and samples in it cannot steer a terminal. Control characters
/// other than line feeds and tabs are written as \x1b. On a terminal with colours, headings and marks have them
/// (drawing::painted_page).
void print_text(std::string_view text);
/// The same for a line that says whether something is right: all of it is green or red.
void print_mark(std::string_view text, bool good);
/// The same for generated text, which a file or a pipe gets as it is.
void print_generated(std::string_view text);
/// OutputError where anything that was printed could not be written.
void check_output();
/// Whether standard output is a pipe or a socket that nobody reads any more, as in `tapegrad help | head -1`.
bool output_has_no_reader();

using drawing::shell_word;

/// Writes text that people read to standard error. A message that cannot be written is lost.
void print_note(std::string_view text);

/// While one lives, and standard error is a terminal, a line there shows after two seconds how long the command has
/// been at work, and what note_progress() said. Only one lives at a time.
class Status {
 public:
  /// `words` are those of the command line, beginning with the verb.
  explicit Status(std::span<const std::string> words);
  ~Status();
  Status(const Status&) = delete;
  Status& operator=(const Status&) = delete;

 private:
  std::thread drawer_;
};

/// The command has done so many of `total` units: "12 of 300 operations".
void note_progress(int64_t done, int64_t total, std::string_view unit);

/// Hides the line while it lives: for what is printed. Afterwards the line is shown again, below it, unless `printed`
/// leaves a line of a terminal without its end.
class StatusHidden {
 public:
  explicit StatusHidden(std::string_view printed);

 private:
  std::unique_lock<std::mutex> lock_;
};

}  // namespace tapegrad::tasks
