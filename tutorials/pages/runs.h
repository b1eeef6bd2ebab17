// Whole runs of the tutorial's three tasks that were made once, as runs.txt has them.
#pragma once

#include <tapegrad/tutorials/page.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tapegrad::tasks::tutorial {

struct StoredRun {
  std::string_view task = {}, command = {}, bits = {};  ///< "copy"; what made it; the fingerprint of its model
  std::string_view seconds = {};                        ///< of processor time
  std::vector<double> loss = {}, accuracy = {};         ///< by epoch
  std::string_view last = {}, tests = {};  ///< loss and accuracy of the last step; what `test` printed, one per line
};
/// In the order of their sections.
const std::vector<StoredRun>& stored_runs();
const StoredRun& stored_run(std::string_view task);

/// "6.2010 0.0053": loss and accuracy as the tutorial prints them.
std::string numbers_of_epoch(const StoredRun& run, std::size_t epoch);
/// Losses by epoch, and those that the tutorial prints as dots.
drawing::Drawing curve_of(const StoredRun& run);
/// What made the run, its fingerprint and its seconds, a line each.
std::string origin_of(const StoredRun& run);

}  // namespace tapegrad::tasks::tutorial
