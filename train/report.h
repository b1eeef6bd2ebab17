// report.html: the page of a training run; it loads no other files.
#pragma once

#include <tapegrad/train/metrics.h>
#include <tapegrad/train/outcome.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace tapegrad::train {

/// The texts of a report.
struct ReportText {
  /// A row of the table.
  struct Setting {
    std::string name, value, help;  ///< texts of its cells
    bool is_default = false;        ///< folded below those that are not
  };
  /// Where and when the run took place.
  struct Made {
    std::string date = {};     ///< of its end; empty: unknown, as is all of this
    int64_t seconds = 0;       ///< that this process took
    bool resumed = false;      ///< the first part of the run took place earlier
    std::string machine = {};  ///< processor, instruction set and threads
    std::string command = {};  ///< as a shell takes it
  };
  std::string title = "Training run";  ///< of the page
  std::string about = {};              ///< a sentence below the title
  std::string loss = "Loss";           ///< the title of its curve
  std::string accuracy = "Accuracy";   ///< the title of its curve
  std::string rate = "Learning rate";  ///< the title of its curve
  std::string unit = "tokens";         ///< what BatchLoss::tokens counts, for the speed here and in the progress bar
  double guess = 0;                    ///< the loss of guessing: a line in its chart; 0: unknown
  std::optional<Target> target = {};   ///< of the run; the first line says whether it was reached
  std::vector<Setting> settings = {};  ///< the table at the end
  Made made = {};                      ///< the Loop fills it in
  /// An epoch of another run of the same task, as a paper or tutorial prints it: dots in the curves.
  struct OtherEpoch {
    int64_t epoch;    ///< its number, as it is printed
    double loss;      ///< as the curve's
    double accuracy;  ///< as the curve's
  };
  std::vector<OtherEpoch> others = {};                       ///< of one run
  std::string others_name = {};                              ///< in the legend
  std::string language = "en";                               ///< of the page, for <html lang>
  Words words = {};                                          ///< of the language; none: English
  std::function<std::string(const Metrics&)> sections = {};  ///< more HTML, made when the run has ended
};

/// What the run has reached (outcome_of), facts, curves of loss, accuracy (where it was measured) and learning rate,
/// the sections, and the settings.
std::string report_html(const ReportText& text, const Metrics& metrics, int64_t steps_per_epoch, int64_t parameters);

}  // namespace tapegrad::train
