// TensorBoard event files: numbers, histograms and texts of a run, one record per call.
#pragma once

#include <tapegrad/autograd/tensor.h>
#include <tapegrad/train/files.h>
#include <tapegrad/train/metrics.h>

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

namespace tapegrad::train {

/// The name of the event file that a run writes. TensorBoard reads every file with "tfevents" in its name.
inline constexpr std::string_view kEventFile = "events.out.tfevents";

/// Writes an event file, which `tensorboard --logdir FOLDER` shows:
///
///     train::EventWriter events("out/mine/own/events.out.tfevents");
///     events.add_scalar("loss", 0.5, 1);
///     events.add_histogram("weight", model.weight, 1);
///
/// A record survives the end of the process as soon as it is added. TensorBoard shows one file per folder, the last one
/// by name, and a chart per tag; tags with the same text before a slash are a group. Bytes of tags and texts that are
/// not UTF-8 become U+FFFD. (The format: github.com/tensorflow/tensorboard, compat/proto/event.proto and
/// summary.proto; records as in TFRecord files.)
class EventWriter {
 public:
  /// Opens the file, which is created where it is missing; its folder must exist. Of a file that is there, the records
  /// of steps up to `steps` are kept, and all from the first one of a later step on are removed, as is an incomplete
  /// one at the end: a run that resumes has no step twice. Error if a record is damaged or the file cannot be written.
  /// `now` is the time of a record in seconds since 1970; without it, the system's clock.
  explicit EventWriter(const Destination& file, int64_t steps = 0, std::function<double()> now = {});

  /// A point of a curve. It is written as float32; NaN and infinities are allowed. Error for a negative step, here and
  /// below.
  void add_scalar(std::string_view tag, double value, int64_t step);
  /// A point of several curves in one record; their names are the tags. Nothing is written for none.
  void add_scalars(std::span<const Figure> values, int64_t step);
  /// The distribution of a tensor's elements, of any shape and numeric type, in 30 bins of equal width from the
  /// smallest to the largest. Elements that are not finite are left out.
  void add_histogram(std::string_view tag, const Tensor& values, int64_t step);
  /// A text, which TensorBoard shows as Markdown.
  void add_text(std::string_view tag, std::string_view text, int64_t step);
  /// Returns when everything is on the disk.
  void sync() { file_.sync(); }

 private:
  void write(int64_t step, std::string_view summary);

  std::function<double()> now_;
  AppendFile file_;
};

}  // namespace tapegrad::train
