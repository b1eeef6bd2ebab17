// Writes the files of the verb `attention`.
#include <fmt/format.h>
#include <tapegrad/tasks/attention/files.h>
#include <tapegrad/tasks/language/messages.h>
#include <tapegrad/tasks/settings/bad_request.h>
#include <tapegrad/train/drawing/tables.h>
#include <tapegrad/train/files.h>

namespace tapegrad::tasks {

void AttentionFiles::write(const drawing::Drawing& maps, std::string_view html) const {
  as_bad_request("--out", [&] {
    if (!folder.empty()) train::create_folder(folder);
    for (const char* name : {"attention.svg", "attention.html", "analysis.svg"}) check_replaceable({folder, name});
    train::replace_file({folder, "attention.svg"}, drawing::svg_file(maps));
    train::replace_file({folder, "attention.html"}, html);
    if (!figures.empty()) train::replace_file({folder, "analysis.svg"}, drawing::svg_file(draw_analysis(figures)));
  });
}

std::string AttentionFiles::text() const {
  return figures.empty() ? "" : fmt::format("\n{}\n\n{}\n", said("Analysis of the heads"), analysis_text(figures));
}

std::string AttentionFiles::told(std::size_t heads) const {
  std::string out = said("Heatmaps of {} heads: {}, {}\n", heads, (folder / "attention.svg").string(),
                         (folder / "attention.html").string());
  if (!figures.empty()) out += said("Charts of the analysis: {}\n", (folder / "analysis.svg").string());
  return drawing::wrapped(out, 4);
}

}  // namespace tapegrad::tasks
