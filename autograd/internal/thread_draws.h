// A generator that a thread uses instead of the default one.
#pragma once

#include <tapegrad/autograd/compiler.h>

namespace tapegrad {

class Generator;

/// While one is in scope, default_generator() is `own` on this thread: for a thread that works next to the training
/// thread, so that random numbers do not depend on which of the two samples first. They nest.
class ThreadDraws : NonCopyable {
 public:
  explicit ThreadDraws(Generator& own);
  ~ThreadDraws();
  /// nullptr if none is in scope on this thread.
  static Generator* current();

 private:
  Generator* const outer_;
};

}  // namespace tapegrad
