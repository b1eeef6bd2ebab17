// Records the first signal.
#include <tapegrad/train/interrupts.h>

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

// What was ignored stays ignored, as `nohup` needs it.
bool is_caught(std::size_t i) { return before[i].sa_handler != SIG_IGN; }

}  // namespace

CatchInterrupts::CatchInterrupts() {
  const std::lock_guard held(lock);
  if (objects++ > 0) return;
  received = 0;
  struct sigaction action {};
  action.sa_handler = [](int) {
    received = 1;
    for (std::size_t i = 0; i < std::size(kSignals); ++i)
      if (is_caught(i)) std::signal(kSignals[i], SIG_DFL);
  };
  action.sa_flags = SA_RESTART;
  for (std::size_t i = 0; i < std::size(kSignals); ++i) sigaction(kSignals[i], nullptr, &before[i]);
  for (std::size_t i = 0; i < std::size(kSignals); ++i)
    if (is_caught(i)) sigaction(kSignals[i], &action, nullptr);
}

CatchInterrupts::~CatchInterrupts() {
  const std::lock_guard held(lock);
  if (--objects > 0) return;
  for (std::size_t i = 0; i < std::size(kSignals); ++i) sigaction(kSignals[i], &before[i], nullptr);
}

bool CatchInterrupts::interrupted() { return received != 0; }

}  // namespace tapegrad::train
