#include <tapegrad/autograd/internal/thread_draws.h>

#include <utility>

namespace tapegrad {
namespace {

constinit thread_local Generator* own_of_thread = nullptr;

}  // namespace

ThreadDraws::ThreadDraws(Generator& own) : outer_(std::exchange(own_of_thread, &own)) {}

ThreadDraws::~ThreadDraws() { own_of_thread = outer_; }

Generator* ThreadDraws::current() { return own_of_thread; }

}  // namespace tapegrad
