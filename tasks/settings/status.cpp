// Draws the line in a thread of its own, five times per second.
#include <fmt/format.h>
#include <tapegrad/tasks/settings/status.h>
#include <tapegrad/train/drawing/terminal.h>
#include <tapegrad/train/progress.h>

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <iterator>
#include <system_error>
#include <utility>

namespace tapegrad::tasks {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kSilence{2};
constexpr std::chrono::milliseconds kBetween{200};

struct Line {
  std::mutex mutex;
  std::condition_variable ended;
  bool running = false, shown = false, line_is_open = false;
  Clock::time_point start;
  std::string what, unit;
  int64_t done = 0, total = 0;

  // Never destroyed: threads may print while the process ends.
  static Line& get() {
    static Line& line = *new Line;
    return line;
  }

  std::string text() const {
    const double spent = std::chrono::duration<double>(Clock::now() - start).count();
    std::string out = fmt::format("{}: {}", what, train::duration(spent));
    if (total > 0) out += fmt::format(", {} of {} {}", done, total, unit);
    if (done > 0 && done < total) {
      const double left = spent / static_cast<double>(done) * static_cast<double>(total - done);
      out += fmt::format(", {} left", train::duration(left));
    }
    return out.substr(0, 79);  // a longer one would take two lines, and only one is removed
  }

  void draw_until_end() {
    std::unique_lock lock(mutex);
    const auto has_ended = [this] { return !running; };
    ended.wait_for(lock, kSilence, has_ended);
    while (running) {
      if (!line_is_open) {
        drawing::rewrite_line(text());
        shown = true;
      }
      ended.wait_for(lock, kBetween, has_ended);
    }
  }

  void hide() {
    if (std::exchange(shown, false)) drawing::rewrite_line("");
  }
};

}  // namespace

Status::Status(std::span<const std::string> words) {
  if (words.empty()) return;
  if (!drawing::is_terminal(stderr)) return;
  Line& line = Line::get();
  line.what = words[0];
  if (words.size() > 1 && !words[1].starts_with('-')) line.what += " " + words[1];
  line.start = Clock::now();
  line.running = true;
  try {
    drawer_ = std::thread([&line] { line.draw_until_end(); });
  } catch (const std::system_error&) {  // no more threads: the work goes on without a line
    line.running = false;
  }
}

Status::~Status() {
  if (!drawer_.joinable()) return;
  Line& line = Line::get();
  {
    const std::lock_guard lock(line.mutex);
    line.running = false;
    line.hide();
  }
  line.ended.notify_one();
  drawer_.join();
}

void note_progress(int64_t done, int64_t total, std::string_view unit) {
  Line& line = Line::get();
  const std::lock_guard lock(line.mutex);
  line.done = done;
  line.total = total;
  line.unit = unit;
}

StatusHidden::StatusHidden(std::string_view printed) : lock_(Line::get().mutex) {
  Line& line = Line::get();
  line.hide();
  if (!printed.empty() && drawing::is_terminal(stdout)) line.line_is_open = printed.back() != '\n';
}

}  // namespace tapegrad::tasks
