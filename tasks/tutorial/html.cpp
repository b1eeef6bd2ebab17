// Writes pages as HTML: readable at 400 pixels, light and dark, complete without script.
#include <fmt/format.h>
#include <tapegrad/tasks/drawing/page.h>
#include <tapegrad/tasks/tutorial/html.h>
#include <tapegrad/tasks/tutorial/sources.h>

#include <set>

namespace tapegrad::tasks::tutorial {
namespace {

using drawing::escape_markup;

constexpr std::string_view kStyle =
    R"(:root { --heat: #0b5394; } @media (prefers-color-scheme: dark) { :root { --heat: #6db8ff; } }
body { overflow-wrap: break-word; } :lang(ko) { word-break: keep-all; } a { color: var(--heat); }
nav { display: flex; flex-wrap: wrap; gap: 4px 18px; font-size: 13px; }
.pair { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(420px, 100%), 1fr)); gap: 12px; margin: 8px 0 20px; }
.pair .card { margin: 0; min-width: 0; } .card > b { display: block; color: var(--soft); font-size: 12px; margin-bottom: 6px; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; word-break: normal; } .card svg { min-width: 0; }
.number { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(300px, 100%), 1fr)); gap: 4px 24px; }
.number b { color: var(--soft); font-size: 12px; font-weight: 500; } .number > * { min-width: 0; } .number h3, .number p { grid-column: 1 / -1; margin: 0; } h3 { font-size: 14px; font-weight: 600; }
.mark { font-weight: 400; font-size: 12px; border-radius: 4px; padding: 1px 6px; margin-left: 8px; border: 1px solid currentColor; white-space: nowrap; }
.equal { color: var(--good); } .different { color: var(--bad); } .drawn { color: var(--soft); }
figure { margin: 0 0 16px; min-width: 0; } figcaption { color: var(--soft); margin: 0 0 6px; } details { margin: 6px 0 14px; }
summary { cursor: pointer; color: var(--heat); } li { margin: 4px 0; } h2 + .card { margin-top: 0; }
.touch label { display: flex; flex-wrap: wrap; gap: 8px; align-items: center; margin: 4px 0; } .touch input[type=range] { flex: 1 1 140px; min-width: 0; }
.cells { width: auto; font-size: 12px; } .cells td, .cells th { padding: 3px 6px; text-align: right; border: 1px solid var(--edge); }
.widget { overflow-x: auto; }
)";

std::string_view class_of(Mark mark) {
  return mark == Mark::equal ? "equal" : mark == Mark::different ? "different" : "drawn";
}

// JSON inside of a script element, which "</script>" in a text would end.
std::string in_script(std::string_view json) {
  std::string out;
  for (std::size_t i = 0; i < json.size(); ++i) {
    out += json[i];
    if (json[i] == '<' && i + 1 < json.size() && (json[i + 1] == '/' || json[i + 1] == '!')) {
      out.back() = '\\';
      out += "u003c";
    }
  }
  return out;
}

std::string link(std::string_view to, std::string_view text) {
  return fmt::format("<a href=\"{}\">{}</a>", escape_markup(to), escape_markup(text));
}

Language other(Language language) { return language == Language::ko ? Language::en : Language::ko; }

std::string language_link(std::string_view file, Language to) {
  return fmt::format("<a href=\"{}\" hreflang=\"{}\" lang=\"{}\">{}</a>", escape_markup(file), code_of(to), code_of(to),
                     to == Language::ko ? "한국어" : "English");
}

std::string whole(std::string_view title, std::string_view body, Language language) {
  return drawing::page(title, body, {.language = code_of(language), .style = kStyle});
}

// Writes the parts of a page that are not empty.
class HtmlWriter {
 public:
  HtmlWriter(const Computed& made, Language language) : made_(made), page_(*made.page), language_(language) {}

  std::string write() {
    out_ = fmt::format("<nav>{} {}</nav>\n<h1>{}</h1>\n", link(index_name(language_), in({"모든 절", "All sections"})),
                       language_link(file_name(page_, other(language_)), other(language_)), title());
    told(page_.about);
    lines();
    numbers();
    figures();
    touch();
    faults();
    exercises();
    if (!page_.commands.empty()) {
      heading(Part::commands);
      out_ += fmt::format("<div class=\"card\"><pre>{}</pre></div>\n", escape_markup(page_.commands));
    }
    script_of_widgets();
    return whole(fmt::format("{} {}", place_of(page_), in(page_.title)), out_, language_);
  }

 private:
  std::string_view in(const Text& text) const { return text.in(language_); }
  std::string title() const { return escape_markup(fmt::format("{} · {}", place_of(page_), in(page_.title))); }
  void heading(Part part) { out_ += fmt::format("<h2>{}</h2>\n", escape_markup(in(heading_of(part)))); }
  void told(const Text& text) {
    if (!text.empty()) out_ += fmt::format("<p>{}</p>\n", escape_markup(in(text)));
  }
  void code(std::string_view name, std::string_view text) {
    out_ += fmt::format("<div class=\"card\"><b>{}</b><pre translate=\"no\"><code>{}</code></pre></div>\n", name,
                        escape_markup(text));
  }

  void lines() {
    if (page_.lines.empty()) return;
    heading(Part::lines);
    for (std::size_t i = 0; i < page_.lines.size(); ++i) {
      told(page_.lines[i].what);
      out_ += "<div class=\"pair\">\n";
      if (!page_.lines[i].pytorch.empty()) code("PyTorch", page_.lines[i].pytorch);
      code("tapegrad", made_.snippets[i]);
      out_ += "</div>\n";
    }
  }
  void numbers() {
    if (made_.numbers.empty()) return;
    heading(Part::numbers);
    for (const Number& number : made_.numbers) {
      out_ +=
          fmt::format("<div class=\"card number\"><h3>{}<span class=\"mark {}\">{}</span></h3>\n",
                      escape_markup(number.label), class_of(number.mark), escape_markup(in(wording_of(number.mark))));
      out_ += fmt::format("<div><b>{}</b><pre>{}</pre></div>\n", in({"튜토리얼", "the tutorial"}),
                          escape_markup(number.printed));
      out_ += fmt::format("<div><b>tapegrad</b><pre>{}</pre></div>\n", escape_markup(number.ours));
      told(number.why);
      out_ += "</div>\n";
    }
  }
  void figures() {
    if (made_.figures.empty()) return;
    heading(Part::figures);
    for (const Figure& figure : made_.figures) {
      out_ += fmt::format("<figure><figcaption>{}</figcaption>\n", escape_markup(in(figure.caption)));
      if (!figure.drawing.body.empty()) {
        drawing::card(out_, figure.drawing, figure.panels);
      } else {
        out_ += "<div class=\"maps\">\n";
        for (const drawing::Drawing& panel : figure.panels) drawing::card(out_, panel);
        out_ += "</div>\n";
      }
      out_ += "</figure>\n";
    }
  }
  void touch() {
    if (page_.touch.empty()) return;
    heading(Part::touch);
    for (std::size_t i = 0; i < page_.touch.size(); ++i) {
      out_ += fmt::format("<div class=\"card touch\" data-widget=\"{}\">\n", escape_markup(page_.touch[i].widget));
      told(page_.touch[i].what);
      out_ += fmt::format("<script type=\"application/json\">{}</script>\n</div>\n", in_script(made_.touch[i]));
    }
  }
  void faults() {
    if (page_.faults.empty()) return;
    heading(Part::faults);
    for (std::size_t i = 0; i < page_.faults.size(); ++i) {
      out_ += fmt::format("<h3>{}. {}</h3>\n", i + 1, escape_markup(in(page_.faults[i].claim)));
      told(page_.faults[i].proof);
      if (!made_.proofs[i].empty())
        out_ += fmt::format("<div class=\"card\"><pre>{}</pre></div>\n", escape_markup(made_.proofs[i]));
    }
  }
  void exercises() {
    if (page_.exercises.empty()) return;
    heading(Part::exercises);
    out_ += "<ol>\n";
    for (const Exercise& one : page_.exercises) {
      out_ += fmt::format("<li>{}<details><summary>{}</summary><p>{}</p></details></li>\n",
                          escape_markup(in(one.question)), in({"답 보기", "Answer"}), escape_markup(in(one.answer)));
    }
    out_ += "</ol>\n";
  }
  void script_of_widgets() {
    if (page_.touch.empty()) return;
    std::set<std::string_view> used;
    for (const Touch& one : page_.touch) used.insert(one.widget);
    out_ += fmt::format("<script>\n{}", script("common"));
    for (const std::string_view name : used) out_ += script(name);
    out_ += "touch.start();\n</script>\n";
  }

  const Computed& made_;
  const Page& page_;
  Language language_;
  std::string out_;
};

}  // namespace

std::string file_name(const Page& page, Language language) {
  return fmt::format("{}.{}.html", file_stem(page), code_of(language));
}

std::string index_name(Language language) { return fmt::format("index.{}.html", code_of(language)); }

std::string html_of(const Computed& made, Language language) { return HtmlWriter(made, language).write(); }

std::string index_html(std::span<const Page* const> all, Language language) {
  const std::string title(Text{"다섯 튜토리얼을 실행하며 읽기", "The five tutorials, executable"}.in(language));
  std::string body = fmt::format("<nav>{}</nav>\n<h1>{}</h1>\n",
                                 language_link(index_name(other(language)), other(language)), escape_markup(title));
  std::string_view tutorial;
  for (const Page* page : all) {
    if (page->tutorial != tutorial) {
      body += fmt::format("{}<h2>{} {}</h2>\n<ul>\n", tutorial.empty() ? "" : "</ul>\n",
                          Text{"튜토리얼", "Tutorial"}.in(language), page->tutorial);
      tutorial = page->tutorial;
    }
    body += fmt::format("<li>{} {}</li>\n", escape_markup(page->section),
                        link(file_name(*page, language), page->title.in(language)));
  }
  return whole(title, body + "</ul>\n", language);
}

}  // namespace tapegrad::tasks::tutorial
