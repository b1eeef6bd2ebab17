// What a thread draws from in place of the default generator.
#pragma once

namespace tapegrad {

class Generator;

/// As long as it lives, default_generator() is `own` on this thread: for work of a thread beside the one that trains,
/// whose numbers must not depend on which of them draws first. They nest.
class ThreadDraws {
 public:
  explicit ThreadDraws(Generator& own);
  ~ThreadDraws();
  ThreadDraws(const ThreadDraws&) = delete;
  ThreadDraws& operator=(const ThreadDraws&) = delete;
  /// nullptr if none is alive on this thread.
  static Generator* current();

 private:
  Generator* const outer_;
};

}  // namespace tapegrad
