// A generator that a thread uses instead of the default one.
#pragma once

#include <tapegrad/autograd/compiler.h>

namespace tapegrad {

class Generator;

/// As long as it lives, default_generator() is `own` on this thread: for work on a thread other than the one that
/// trains, whose numbers must not depend on which of them draws first. They nest.
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
