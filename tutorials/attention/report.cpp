// Declares the options of all kinds of models, writes the files, and prints what they show.
#include <fmt/format.h>
#include <tapegrad/autograd/io/internal/json.h>
#include <tapegrad/tasks/language/messages.h>
#include <tapegrad/tasks/settings/output.h>
#include <tapegrad/train.h>
#include <tapegrad/tutorials/attention/analysis.h>
#include <tapegrad/tutorials/attention/report.h>
#include <tapegrad/tutorials/widgets/widget.h>

namespace tapegrad::tasks {

void AttentionOutput::list(Fields& f) {
  Options add(f);
  add("out", "folder for attention.svg and attention.html", out).type("DIR").otherwise("the model's");
  add("quiet", "write the files, and print nothing in the terminal", quiet);
  add("analyze",
      "also compute singular values, entropy, frequencies and energy of every head, and check the "
      "tutorial's claims",
      analyze);
  add("json", "print the metrics of --analyze as one JSON object", json);
  add("only", "plot in attention.svg only the heads whose name contains this, as \"layer 1\"", only).type("TEXT");
}

void AttentionOutput::check() const {
  require(!json || analyze, "--json", "expected --analyze, whose metrics it prints");
}

std::vector<HeadMap> heads_named(std::vector<HeadMap> heads, std::string_view only) {
  std::vector<HeadMap> found;
  for (const HeadMap& head : heads)
    if (head.name.find(only) != std::string::npos || head.label.find(only) != std::string::npos) found.push_back(head);
  if (found.empty() && !heads.empty()) {
    bad_request("--only", fmt::format("expected a part of a head's name, from \"{}\" to \"{}\", got \"{}\"",
                                      heads.front().name, heads.back().name, only));
  }
  return found;
}

int report_attention(const AttentionReport& r, const AttentionOutput& request,
                     const std::filesystem::path& model_folder) {
  const std::filesystem::path folder = request.out.empty() ? model_folder : std::filesystem::path(request.out);
  const std::vector<HeadFigures> figures = request.analyze ? analyse(r.heads) : std::vector<HeadFigures>();
  const std::string body = fmt::format("<h1>{}</h1>\n{}{}{}", r.heading, figures.empty() ? "" : analysis_html(figures),
                                       player_html(r.drawn, r.decoding), r.maps);
  const std::string svg = drawing::svg_file(draw(heads_named(r.drawn, request.only)));
  as_bad_request("--out", [&] {
    if (!folder.empty()) train::create_folder(folder);
    for (const char* name : {"attention.svg", "attention.html", "analysis.svg"}) check_replaceable({folder, name});
    train::replace_file({folder, "attention.svg"}, svg);
    train::replace_file({folder, "attention.html"}, drawing::page(r.title, body, tutorial::widget_page()));
    if (!figures.empty()) train::replace_file({folder, "analysis.svg"}, drawing::svg_file(draw_analysis(figures)));
  });
  if (request.json) {
    Json json = r.json;
    json.update(analysis_json(figures));
    print_now(json::text_of(json) + "\n");
    return 0;
  }
  print_text(said("=== Attention: {} ===\nModel: {}\n{}", r.task, r.model, drawing::wrapped(r.example, 4)));
  std::string text = "\n" + heads_text(r.drawn, r.shaded, r.about);
  if (!figures.empty()) text += fmt::format("\n{}\n\n{}\n", said("Analysis of the heads"), analysis_text(figures));
  if (!request.quiet) print_text(text);
  std::string files = said("Heatmaps of {} heads: {}, {}\n", r.heads.size(), (folder / "attention.svg").string(),
                           (folder / "attention.html").string());
  if (!figures.empty()) files += said("Charts of the analysis: {}\n", (folder / "analysis.svg").string());
  print_text(drawing::wrapped(files, 4));
  return 0;
}

}  // namespace tapegrad::tasks
