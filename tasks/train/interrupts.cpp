// Records the first signal.
#include <tapegrad/tasks/train/interrupts.h>

#include <csignal>
#include <mutex>

namespace tapegrad::train {
namespace {

constexpr int kSignals[] = {SIGINT, SIGTERM};
volatile std::sig_atomic_t received = 0;

// The objects of all threads share one handler: the first one installs it, the last one restores what was before.
std::mutex lock;
int objects = 0;
struct sigaction before[std::size(kSignals)];

}  // namespace

CatchInterrupts::CatchInterrupts() {
  const std::lock_guard held(lock);
  if (objects++ > 0) return;
  received = 0;
  struct sigaction action {};
  action.sa_handler = [](int) {
    received = 1;
    for (const int each : kSignals) std::signal(each, SIG_DFL);
  };
  action.sa_flags = SA_RESTART;
  for (std::size_t i = 0; i < std::size(kSignals); ++i) {
    sigaction(kSignals[i], nullptr, &before[i]);
    if (before[i].sa_handler != SIG_IGN) sigaction(kSignals[i], &action, nullptr);  // ignored: as `nohup` wants it
  }
}

CatchInterrupts::~CatchInterrupts() {
  const std::lock_guard held(lock);
  if (--objects > 0) return;
  for (std::size_t i = 0; i < std::size(kSignals); ++i) sigaction(kSignals[i], &before[i], nullptr);
}

bool CatchInterrupts::interrupted() { return received != 0; }

}  // namespace tapegrad::train
