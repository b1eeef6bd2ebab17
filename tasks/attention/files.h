// The files of the verb `attention`, and what it prints about them.
#pragma once

#include <tapegrad/tasks/attention/analysis.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace tapegrad::tasks {

/// attention.svg and attention.html in a folder; with figures also analysis.svg.
struct AttentionFiles {
  std::filesystem::path folder;
  const std::vector<HeadFigures>& figures;  // none: no analysis

  void write(const drawing::Drawing& maps, std::string_view html) const;
  std::string text() const;                   // the table and the verdicts, after an empty line
  std::string told(std::size_t heads) const;  // which files there are
};

}  // namespace tapegrad::tasks
