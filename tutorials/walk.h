// One walk over the parts of a page, for every form in which a page is written. A new part is a heading in page.h and a
// step of the walk; where the writer's pieces cannot express it, also a function of the writers.
#pragma once

#include <tapegrad/tutorials/computed.h>

#include <cstddef>
#include <string_view>
#include <vector>

namespace tapegrad::tasks::tutorial {

/// Lines of a program under their name.
struct NamedLines {
  std::string_view name, text;
};

/// A page to go to: a word like "next", or "", and its title.
struct PageLink {
  std::string_view word;
  const Page* page;
  std::string_view title;
};

/// What a page is written with: its pieces, in one form. All texts are in the language of the page.
class PageWriter {
 public:
  virtual ~PageWriter() = default;

  virtual void title(std::string_view place, std::string_view title) = 0;
  virtual void heading(std::string_view text) = 0;
  /// Sentences; they may be empty.
  virtual void paragraph(std::string_view text) = 0;
  /// Between two items of a part.
  virtual void gap() = 0;
  /// One or several versions of the same lines.
  virtual void code(const std::vector<NamedLines>& versions) = 0;
  /// What follows is shown after a click on the summary, until unfold().
  virtual void fold(std::string_view summary) = 0;
  virtual void unfold() {}
  /// What the tutorial prints next to ours, or ours alone, with the reason where they differ.
  virtual void number(std::string_view label, const Number& one, std::string_view wording,
                      const std::vector<NamedLines>& sides, std::string_view why) = 0;
  /// Several numbers of one line each that are equal, in one table; `sides` are their columns.
  struct Scalar {
    std::string_view label, theirs, ours;
  };
  virtual void scalars(std::string_view wording, const std::vector<std::string_view>& sides,
                       const std::vector<Scalar>& all) = 0;
  virtual void figure(std::string_view caption, const Figure& figure) = 0;
  virtual void widget(std::string_view what, std::string_view name, std::string_view data) = 0;
  /// A claim, what proves it, and the proof's lines, which may be empty.
  virtual void claim(std::size_t number, std::string_view claim, std::string_view proof, std::string_view shown) = 0;
  /// Questions and their answers, under the word for an answer and the words of the button that shows it.
  virtual void questions(const std::vector<std::pair<std::string_view, std::string_view>>& all, std::string_view answer,
                         std::string_view show) = 0;
  /// Lines as they are.
  virtual void lines(std::string_view text) = 0;
  virtual void pages(const std::vector<PageLink>& links) = 0;
};

/// Writes the parts of a page in order, each with its heading; then the pages of its sections, if it has such, and the
/// pages before and after it. Error for a page with an empty part that Page::without does not explain.
void walk(const Computed& made, Language language, PageWriter& to);

}  // namespace tapegrad::tasks::tutorial
