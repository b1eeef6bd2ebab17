// Recording and replaying of draws.
#include <tapegrad/autograd/error.h>
#include <tapegrad/autograd/internal/draw_log.h>

#include <algorithm>
#include <atomic>

namespace tapegrad::detail {

namespace {

thread_local DrawLog::Recording* recording = nullptr;
thread_local DrawLog::Replay* replay = nullptr;
std::atomic<uint64_t> last_version{0};

}  // namespace

DrawLog::Recording::Recording(DrawLog& log) : log_(log), outer_(recording) {
  recording = this;
  update_redirection();
}
DrawLog::Recording::~Recording() {
  recording = outer_;
  update_redirection();
}

DrawLog::Replay::Replay(std::string_view where, DrawLog& log) : where_(where), log_(log), outer_(replay) {
  replay = this;
  update_redirection();
}
DrawLog::Replay::~Replay() {
  replay = outer_;
  update_redirection();
}

void DrawLog::Replay::require_end() const {
  if (next_ < log_.draws_.size()) fail(where_, "the function samples fewer random numbers in backward than in forward");
}

bool DrawLog::replaying() { return replay != nullptr; }

void DrawLog::update_redirection() { Generator::redirect_ = recording || replay ? draw : nullptr; }

Generator::State& DrawLog::draw(Generator::State& state) {
  Generator::State* from = &state;
  if (replay) {
    DrawLog& log = replay->log_;
    if (replay->next_ == log.draws_.size()) {
      fail(replay->where_, "the function samples more random numbers in backward than in forward");
    }
    from = &log.runs_[log.draws_[replay->next_++]].state;
  }
  const uint64_t version = ++last_version;
  for (Recording* r = recording; r; r = r->outer_) r->log_.enter(*from, version);
  from->version = version;
  return *from;
}

void DrawLog::enter(const Generator::State& state, uint64_t version_after) {
  auto run = std::find_if(runs_.begin(), runs_.end(),
                          [&](const Run& r) { return state.version != 0 && r.version == state.version; });
  if (run == runs_.end()) run = runs_.insert(run, Run{state, 0});
  run->version = version_after;
  draws_.push_back(static_cast<uint32_t>(run - runs_.begin()));
}

}  // namespace tapegrad::detail
