// A session of measurement: its beginning and end. What is measured in between is in recorder.cpp.
#include <tapegrad/autograd/detail/profile_log.h>
#include <tapegrad/autograd/internal/events.h>
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/pool_peak.h>
#include <tapegrad/autograd/profiler.h>

#include <algorithm>

namespace tapegrad {

using detail::ProfileSession;

Profiler::Profiler(const ProfilerOptions& options) : options_(options) {
  require(options.max_events >= 0, "profiler", "expected max_events of 0 or more, got {}", options.max_events);
  ProfileSession& session = ProfileSession::get();
  {
    const std::lock_guard lock(session.mutex);
    if (session.alive)
      fail("profiler", "expected one profiler at a time, got a second one (end the first one's scope)");
    session.alive = true;
    session.logs.clear();
    session.step_ends.clear();
    session.texts = std::make_shared<detail::Texts>();
    session.steps = session.end = session.interruptions = session.peak_bytes = 0;
    session.events_left_out = 0;
    session.products_before = product_counts();
    session.begin = detail::profile_clock();
    session.event_room = options.max_events;
    session.number.fetch_add(1, std::memory_order_release);
  }
  detail::join_session();  // this thread is the first
  pool::reset_peak();
  detail::profiling = true;
}

Profiler::~Profiler() {
  stop();
  ProfileSession& session = ProfileSession::get();
  const std::lock_guard lock(session.mutex);
  session.logs.clear();
  session.alive = false;
}

void Profiler::stop() {
  detail::profiling = false;
  ProfileSession& session = ProfileSession::get();
  const std::lock_guard lock(session.mutex);
  if (session.end != 0) return;
  session.end = detail::profile_clock();
  session.peak_bytes = std::max(session.peak_bytes, pool::peak());
}

}  // namespace tapegrad
