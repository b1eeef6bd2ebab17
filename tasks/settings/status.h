// A line on standard error that says that the command is at work, and how far it is.
#pragma once

#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <thread>

namespace tapegrad::tasks {

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
