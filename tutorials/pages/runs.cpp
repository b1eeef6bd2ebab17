// Reads runs.txt, and draws its runs.
#include <fmt/format.h>
#include <tapegrad/autograd/error.h>
#include <tapegrad/tasks/language/messages.h>
#include <tapegrad/tasks/seq2seq/task.h>
#include <tapegrad/train/drawing/charts.h>
#include <tapegrad/tutorials/pages/runs.h>
#include <tapegrad/tutorials/texts.h>

#include <algorithm>
#include <sstream>

namespace tapegrad::tasks::tutorial {
namespace {

std::vector<StoredRun> read_runs() {
  EntryReader file("pages/runs");
  std::vector<StoredRun> all;
  while (const Entry* const run = file.take_if("run")) {
    StoredRun one{.task = run->text};
    one.command = file.take("command").text;
    one.bits = file.take("bits").text;
    one.seconds = file.take("seconds").text;
    std::istringstream epochs(file.take("epochs").lines);
    for (double loss = 0, accuracy = 0; epochs >> loss >> accuracy;) {
      one.loss.push_back(loss);
      one.accuracy.push_back(accuracy);
    }
    one.last = file.take("last").text;
    one.tests = file.take("tests").lines;
    all.push_back(std::move(one));
  }
  file.expect_end();
  return all;
}

}  // namespace

const std::vector<StoredRun>& stored_runs() {
  static const std::vector<StoredRun> kRuns = read_runs();
  return kRuns;
}

const StoredRun& stored_run(std::string_view task) {
  const auto found =
      std::find_if(stored_runs().begin(), stored_runs().end(), [&](const StoredRun& run) { return run.task == task; });
  if (found == stored_runs().end()) fail("tutorial", fmt::format("there is no stored run of {}", task));
  return *found;
}

std::string numbers_of_epoch(const StoredRun& run, std::size_t epoch) {
  return fmt::format("{:.4f} {:.4f}", run.loss.at(epoch), run.accuracy.at(epoch));
}

drawing::Drawing curve_of(const StoredRun& run) {
  const TaskInfo& task = task_named(run.task);
  drawing::Series printed{.name = said("the tutorial's run"), .mark = drawing::Series::Mark::dots};
  for (const auto& epoch : task.make(task.defaults())->printed())
    printed.add(static_cast<double>(epoch.epoch), epoch.loss);
  std::vector<drawing::Series> series{drawing::Series::numbered(std::string(run.command), run.loss)};
  if (!printed.y.empty()) series.push_back(printed);
  return draw(drawing::LineChart{.title = said("Mean loss of each epoch"),
                                 .x_label = said("epoch"),
                                 .y_label = said("loss"),
                                 .series = series,
                                 .log_y = true,
                                 .width = 560});
}

std::string origin_of(const StoredRun& run) {
  return fmt::format("{}\n{}\n{} s\n", run.command, run.bits, run.seconds);
}

}  // namespace tapegrad::tasks::tutorial
