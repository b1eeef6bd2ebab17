// Records the first signal.
#include <tapegrad/tasks/train/interrupts.h>

namespace tapegrad::train {
namespace {

volatile std::sig_atomic_t received = 0;

}  // namespace

CatchInterrupts::CatchInterrupts() {
  received = 0;
  struct sigaction action {};
  action.sa_handler = [](int) {
    received = 1;
    for (const int each : kSignals) std::signal(each, SIG_DFL);
  };
  action.sa_flags = SA_RESTART;
  for (int i = 0; i < 2; ++i) sigaction(kSignals[i], &action, &before_[i]);
}

CatchInterrupts::~CatchInterrupts() {
  for (int i = 0; i < 2; ++i) sigaction(kSignals[i], &before_[i], nullptr);
}

bool CatchInterrupts::interrupted() { return received != 0; }

}  // namespace tapegrad::train
