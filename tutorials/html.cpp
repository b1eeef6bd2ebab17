// Writes pages as HTML: readable at 400 pixels, light and dark, complete without script.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <tapegrad/train/drawing/page.h>
#include <tapegrad/tutorials/find.h>
#include <tapegrad/tutorials/html.h>
#include <tapegrad/tutorials/numbers.h>
#include <tapegrad/tutorials/originals.h>
#include <tapegrad/tutorials/sources.h>
#include <tapegrad/tutorials/walk.h>
#include <tapegrad/tutorials/widgets/widget.h>

#include <regex>
#include <set>
#include <utility>

namespace tapegrad::tasks::tutorial {
namespace {

using drawing::escape_markup;

constexpr std::string_view kStyle =
    R"(a { color: var(--heat); }
nav { display: flex; flex-wrap: wrap; gap: 4px 18px; font-size: 13px; }
.pair { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(420px, 100%), 1fr)); gap: 12px; margin: 8px 0 20px; }
.pair .card { margin: 0; min-width: 0; } .card > b { display: block; color: var(--soft); font-size: 12px; margin-bottom: 6px; }
pre { font-size: 12.5px; overflow-x: auto; word-break: normal; } .card svg { min-width: 0; }
.number { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(300px, 100%), 1fr)); gap: 4px 24px; }
.number b { color: var(--soft); font-size: 12px; font-weight: 500; } .number > * { min-width: 0; } .number h3, .number p, .number h3 + :last-child { grid-column: 1 / -1; margin: 0; } h3 { font-size: 14px; font-weight: 600; }
.mark { font-weight: 400; font-size: 12px; border-radius: 4px; padding: 1px 6px; margin-left: 8px; border: 1px solid currentColor; white-space: nowrap; }
.equal { color: var(--good); } .different { color: var(--bad); } .drawn, .own { color: var(--soft); }
figure { margin: 0 0 16px; min-width: 0; } figcaption { color: var(--soft); margin: 0 0 6px; }
.comment { color: var(--soft); } .string { color: var(--good); } .keyword { color: var(--heat); } summary { color: var(--heat); } li { margin: 4px 0; } h2 + .card { margin-top: 0; }
)";

// A text whose `code` is marked.
std::string with_code(std::string_view text) {
  std::string out;
  bool code = false;
  for (const char c : escape_markup(text)) {
    if (c != '`')
      out += c;
    else
      out += (code = !code) ? "<code>" : "</code>";
  }
  return out;
}

// Lines of C++ or Python with their comments, strings and keywords in colours.
std::string coloured(std::string_view code) {
  static const std::regex kParts(
      R"re((//[^\n]*|#[^\n]*)|("(?:[^"\\\n]|\\.)*")|\b(auto|bool|class|const|def|double|else|float|for|from|if|import|in|int|int64_t|return|struct|using|void|while|with)\b)re");
  constexpr std::string_view kClasses[] = {"comment", "string", "keyword"};
  std::string out;
  const char* done = code.data();
  for (std::cregex_iterator at(code.data(), code.data() + code.size(), kParts), end; at != end; ++at) {
    const std::cmatch& found = *at;
    const std::size_t kind = found[1].matched ? 0 : found[2].matched ? 1 : 2;
    out += escape_markup({done, static_cast<std::size_t>(found[0].first - done)});
    out += fmt::format("<span class=\"{}\">{}</span>", kClasses[kind], escape_markup(found.str()));
    done = found[0].second;
  }
  return out + escape_markup({done, static_cast<std::size_t>(code.data() + code.size() - done)});
}

std::string_view class_of(Mark mark) {
  switch (mark) {
    case Mark::equal: return "equal";
    case Mark::different: return "different";
    case Mark::drawn: return "drawn";
    case Mark::own: return "own";
  }
  return {};
}

std::string link(std::string_view to, std::string_view text) {
  return fmt::format("<a href=\"{}\">{}</a>", escape_markup(to), escape_markup(text));
}

Language other(Language language) { return language == Language::ko ? Language::en : Language::ko; }

std::string language_link(std::string_view file, Language to) {
  return fmt::format("<a href=\"{}\" hreflang=\"{}\" lang=\"{}\">{}</a>", escape_markup(file), code_of(to), code_of(to),
                     to == Language::ko ? "한국어" : "English");
}

constexpr Text kLead{
    "절이나 셀 묶음마다 페이지가 하나씩 있습니다. 수와 그림은 페이지를 만들 때 계산했고, 튜토리얼이 출력한 수와 나란히 "
    "놓았습니다.",
    "One page per section, or group of cells. Numbers and figures were computed when the pages were made, next to "
    "those that the tutorials print."};

// A page in the index: its places, what its tutorial calls them, and, for the search, the names in its code.
std::string index_entry(const Page& page, const Original& original, Language language) {
  std::string sections, headings;
  std::string words(page.terms);
  for (const OriginalPlace& place : original.places) {
    if (place.section.empty() || !is_about(page, place.section)) continue;
    if (page.section.find('-') == page.section.npos)  // not cells, whose range is the place
      sections += fmt::format("{}{}", sections.empty() ? "" : ", ", place.section);
    for (const std::string_view heading : place.headings)
      headings += fmt::format("{}{}", headings.empty() ? "" : " · ", heading);
    words += fmt::format(" {}", fmt::join(place.names, " "));
  }
  return fmt::format("<li data-words=\"{}\">{} {}<br><small>{}</small></li>\n", escape_markup(words),
                     escape_markup(sections.empty() ? std::string(page.section) : sections),
                     link(file_name(page, language), page.title.in(language)), escape_markup(headings));
}

std::string whole(std::string_view title, std::string_view body, Language language, bool scripts) {
  const std::string style = fmt::format("{}{}", widget_style(), kStyle);
  return drawing::page(title, body, {.language = code_of(language), .style = style, .scripts = scripts});
}

std::string table_or_lines(std::string_view text, const Number& one) {
  const Table table = table_of(text, one.rows, one.columns);
  return table.empty() ? fmt::format("<pre>{}</pre>", escape_markup(text)) : table.html();
}

// Writes the pieces of a page; texts are escaped.
class HtmlWriter final : public PageWriter {
 public:
  HtmlWriter(Language language, Folder folder) : language_(language), folder_(folder) {}

  void title(std::string_view place, std::string_view title) override {
    out_ += fmt::format("<h1>{}</h1>\n", escape_markup(fmt::format("{} · {}", place, title)));
  }
  void heading(std::string_view text) override { out_ += fmt::format("<h2>{}</h2>\n", escape_markup(text)); }
  void paragraph(std::string_view text) override {
    if (!text.empty()) out_ += fmt::format("<p>{}</p>\n", with_code(text));
  }
  void gap() override {}
  void fold(std::string_view summary) override {
    out_ += fmt::format("<details><summary>{}</summary>\n", escape_markup(summary));
  }
  void unfold() override { out_ += "</details>\n"; }
  void code(const std::vector<NamedLines>& versions) override {
    out_ += "<div class=\"pair\">\n";
    for (const NamedLines& one : versions)
      out_ += fmt::format("<div class=\"card\"><b>{}</b><pre translate=\"no\"><code>{}</code></pre></div>\n", one.name,
                          coloured(one.text));
    out_ += "</div>\n";
  }
  void number(std::string_view label, const Number& one, std::string_view wording, const std::vector<NamedLines>& sides,
              std::string_view why) override {
    out_ += fmt::format("<div class=\"card number\"><h3>{}<span class=\"mark {}\">{}</span></h3>\n", with_code(label),
                        class_of(one.mark), escape_markup(wording));
    for (const NamedLines& side : sides)
      out_ += fmt::format("<div><b>{}</b>{}</div>\n", side.name, table_or_lines(side.text, one));
    paragraph(why);
    out_ += "</div>\n";
  }
  void scalars(std::string_view wording, const std::vector<std::string_view>& sides,
               const std::vector<Scalar>& all) override {
    out_ += fmt::format(
        "<div class=\"card scroll\"><table class=\"cells\"><tr><th><span class=\"mark equal\">{}</span></th>",
        escape_markup(wording));
    for (const std::string_view side : sides) out_ += fmt::format("<th>{}</th>", escape_markup(side));
    out_ += "</tr>\n";
    for (const Scalar& one : all)
      out_ += fmt::format("<tr><th>{}</th><td>{}</td><td>{}</td></tr>\n", with_code(one.label),
                          escape_markup(one.theirs), escape_markup(one.ours));
    out_ += "</table></div>\n";
  }
  void figure(std::string_view caption, const Figure& figure) override {
    out_ += fmt::format("<figure><figcaption>{}</figcaption>\n", with_code(caption));
    if (!figure.drawing.body.empty()) {
      drawing::card(out_, figure.drawing, figure.panels);
    } else {
      out_ += "<div class=\"maps\">\n";
      for (const drawing::Drawing& panel : figure.panels) drawing::card(out_, panel);
      out_ += "</div>\n";
    }
    out_ += "</figure>\n";
  }
  void widget(std::string_view what, std::string_view name, std::string_view data) override {
    out_ += fmt::format("<div class=\"card touch\" data-widget=\"{}\">\n", escape_markup(name));
    paragraph(what);
    out_ += fmt::format("<script type=\"application/json\">{}</script>\n</div>\n", drawing::json_in_script(data));
    widgets_.insert(name);
  }
  void claim(std::size_t number, std::string_view claim, std::string_view proof, std::string_view shown) override {
    out_ += fmt::format("<h3>{}. {}</h3>\n", number, with_code(claim));
    paragraph(proof);
    if (!shown.empty()) lines(shown);
  }
  void questions(const std::vector<std::pair<std::string_view, std::string_view>>& all, std::string_view,
                 std::string_view show) override {
    out_ += "<ol>\n";
    for (const auto& [question, answer] : all)
      out_ += fmt::format("<li>{}<details><summary>{}</summary><p>{}</p></details></li>\n", with_code(question),
                          escape_markup(show), with_code(answer));
    out_ += "</ol>\n";
  }
  void lines(std::string_view text) override {
    out_ += fmt::format("<div class=\"card\"><pre>{}</pre></div>\n", escape_markup(text));
  }

  void pages(const std::vector<PageLink>& links) override {
    out_ += "<ul>\n";
    for (const PageLink& one : links) {
      const std::string word = one.word.empty() ? "" : fmt::format("{}: ", escape_markup(one.word));
      const std::string title = fmt::format("{} {}", place_of(*one.page), one.title);
      out_ += fmt::format(
          "<li>{}{}</li>\n", word,
          folder_ == Folder::site ? link(file_name(*one.page, language_), title) : as_command(*one.page, title));
    }
    out_ += "</ul>\n";
  }

  bool has_widgets() const { return !widgets_.empty(); }
  // The page, with the scripts of its widgets.
  std::string written() const {
    if (widgets_.empty()) return out_;
    std::string all = out_ + fmt::format("<script>\n{}", script("common"));
    for (const std::string_view name : widgets_) all += script(name);
    return all + "touch.start();\n</script>\n";
  }

 private:
  static std::string as_command(const Page& page, std::string_view title) {
    return fmt::format("{}: <code>{}</code>", escape_markup(title), escape_markup(command_of(page)));
  }

  Language language_;
  Folder folder_;
  std::string out_;
  std::set<std::string_view> widgets_;
};

}  // namespace

std::string file_name(const Page& page, Language language) {
  return fmt::format("{}.{}.html", file_stem(page), code_of(language));
}

std::string index_name(Language language) { return fmt::format("index.{}.html", code_of(language)); }

std::string html_of(const Computed& made, Language language, Folder folder) {
  const Page& page = *made.page;
  HtmlWriter writer(language, folder);
  walk(made, language, writer);
  const std::string index = link(index_name(language), Text{"모든 절", "All sections"}.in(language));
  const std::string links =
      fmt::format("<nav>{} {}</nav>\n", folder == Folder::site ? index : "<code>tapegrad tutorial</code>",
                  language_link(file_name(page, other(language)), other(language)));
  return whole(fmt::format("{} {}", place_of(page), page.title.in(language)), links + writer.written(), language,
               writer.has_widgets());
}

std::string index_html(std::span<const Page* const> all, Language language) {
  const std::string title(Text{"다섯 튜토리얼을 실행하며 읽기", "The five tutorials, executable"}.in(language));
  std::string body = fmt::format("<nav>{}</nav>\n<h1>{}</h1>\n<p>{}</p>\n",
                                 language_link(index_name(other(language)), other(language)), escape_markup(title),
                                 escape_markup(kLead.in(language)));
  for (const Original& original : originals()) {
    body += fmt::format("<section>\n<h2>{} {}: {}</h2>\n<p>{}", Text{"튜토리얼", "Tutorial"}.in(language),
                        original.tutorial, escape_markup(original.title.in(language)),
                        escape_markup(original.by.in(language)));
    if (!original.address.empty()) body += ": " + link(original.address, original.address);
    body += "</p>\n<ul>\n";
    for (const Page* page : all)
      if (page->tutorial == original.tutorial) body += index_entry(*page, original, language);
    body += "</ul>\n</section>\n";
  }
  return whole(title, fmt::format("{}<script>\n{}</script>\n", body, script("search")), language, true);
}

}  // namespace tapegrad::tasks::tutorial
