// Draws the bar on standard error and prints plain lines on standard output.
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <tapegrad/train/drawing/terminal.h>
#include <tapegrad/train/progress.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

namespace tapegrad::train {
namespace {

int terminal_width() {
  winsize size{};
  return ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

// A training does not end for a line that cannot be written: std::ferror(to) says so at its end.
void write(std::FILE* to, std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), to);
  std::fflush(to);
}

// "12.3k", "640", "1.5".
std::string rate(double per_second) {
  if (per_second >= 1000) return fmt::format("{:.1f}k", per_second * 1e-3);
  return fmt::format("{:.{}f}", per_second, per_second < 10 ? 1 : 0);
}

}  // namespace

std::string duration(double seconds) {
  const auto s = static_cast<int64_t>(seconds + 0.5);
  if (s < 60) return fmt::format("{} s", s);
  if (s < 3600) return fmt::format("{} min {:02} s", s / 60, s % 60);
  return fmt::format("{} h {:02} min", s / 3600, s % 3600 / 60);
}

Progress::Style Progress::style_here() { return drawing::is_terminal(stderr) ? Style::kBar : Style::kLines; }

Progress::Progress(Style style, int64_t done, int64_t total, std::string unit, std::FILE* lines)
    : style_(style),
      first_(done),
      total_(total),
      unit_(std::move(unit)),
      lines_(lines),
      start_(Clock::now()),
      shown_(start_) {}

Progress::~Progress() { clear_bar(); }

void Progress::step(const StepMetrics& step) {
  if (style_ == Style::kSilent) return;
  tokens_ += step.tokens;
  const Clock::time_point now = Clock::now();
  const bool bar = style_ == Style::kBar;
  if (now - shown_ < (bar ? std::chrono::milliseconds(100) : std::chrono::milliseconds(10000))) return;
  const double seconds = std::chrono::duration<double>(now - std::exchange(shown_, now)).count();
  const std::string speed = rate(static_cast<double>(std::exchange(tokens_, 0)) / seconds);
  const double per_step = std::chrono::duration<double>(now - start_).count() /
                          static_cast<double>(std::max<int64_t>(step.step - first_, 1));
  const std::string left = duration(per_step * static_cast<double>(total_ - step.step));
  const std::string accuracy = std::isnan(step.accuracy) ? "" : fmt::format(", accuracy {:.3f}", step.accuracy);
  const std::string text = fmt::format("step {} of {}: loss {:.4f}{}, {} {}/s, {} left", step.step, total_, step.loss,
                                       accuracy, speed, unit_, left);
  if (!bar) {
    write(lines_, text + "\n");
    return;
  }
  const int width = std::min(40, terminal_width() - 4 - static_cast<int>(text.size()));
  std::string blocks;
  if (width >= 8) {
    const double eighths = 8.0 * width * static_cast<double>(step.step) / static_cast<double>(total_);
    const int full = static_cast<int>(eighths) / 8, part = static_cast<int>(eighths) % 8;
    constexpr const char* kParts[] = {" ", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    for (int i = 0; i < full; ++i) blocks += "█";
    if (full < width) blocks += kParts[part] + std::string(static_cast<std::size_t>(width - full - 1), ' ');
    blocks = fmt::format("|{}| ", drawing::painted(blocks, drawing::Paint::bar, stderr));
  }
  const auto most = static_cast<std::size_t>(std::max(1, terminal_width() - 1));
  drawing::rewrite_line(blocks + text.substr(0, most));
  bar_shown_ = true;
}

void Progress::line(std::string_view text) {
  if (style_ != Style::kSilent) print(lines_, text);
}

void Progress::result(std::string_view text) { print(stdout, text); }

void Progress::print(std::FILE* to, std::string_view text) {
  clear_bar();
  write(to, drawing::painted_page(text, to) + "\n");
}

void Progress::clear_bar() {
  if (!bar_shown_) return;
  drawing::rewrite_line("");
  bar_shown_ = false;
}

void Progress::finish() {
  clear_bar();
  style_ = Style::kSilent;
}

std::string evaluation_text(const StepMetrics& m) {
  const std::string training = m.train_loss ? fmt::format("training loss {:.4f}, ", *m.train_loss) : "";
  return fmt::format("step {}: {}validation loss {:.4f}", m.step, training, *m.validation_loss);
}

std::string epoch_text(const EpochMetrics& m, const StepMetrics& last) {
  const std::string accuracy = std::isnan(m.accuracy) ? "" : fmt::format("accuracy {:.4f}, ", m.accuracy);
  return fmt::format("epoch {}: loss {:.4f}, {}learning rate {:.3g}", m.epoch + 1, m.loss, accuracy, last.lr);
}

}  // namespace tapegrad::train
