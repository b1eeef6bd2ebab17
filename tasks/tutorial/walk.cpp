// Visits the parts of a page.
#include <fmt/format.h>
#include <tapegrad/tasks/tutorial/sources.h>
#include <tapegrad/tasks/tutorial/walk.h>

#include <algorithm>

namespace tapegrad::tasks::tutorial {
namespace {

// What a reader types to run the programs that the lines of a page are cut out of.
std::string commands_of_programs(const Page& page) {
  std::string out = "cp -r \"$(pkg-config --variable=tutorials tapegrad)\" . && cd tutorials\n";
  std::vector<std::string_view> programs;
  for (const Lines& lines : page.lines) {
    const std::string_view program = program_of(lines.snippet);
    if (std::find(programs.begin(), programs.end(), program) != programs.end()) continue;
    programs.push_back(program);
    out += fmt::format("g++ {}.cpp $(pkg-config --cflags --libs tapegrad)\n./a.out\n", program);
  }
  return out;
}

class Walk {
 public:
  Walk(const Computed& made, Language language, PageWriter& to)
      : made_(made), page_(*made.page), language_(language), to_(to) {}

  void run() {
    to_.title(place_of(page_), in(page_.title));
    to_.paragraph(in(page_.about));
    part(Part::lines, page_.lines, [this](std::size_t i, const Lines& lines) {
      if (i > 0) to_.gap();
      to_.paragraph(in(lines.what));
      std::vector<NamedLines> versions{{"tapegrad", made_.snippets[i]}};
      if (!lines.pytorch.empty()) versions.insert(versions.begin(), {"PyTorch", lines.pytorch});
      to_.code(versions);
    });
    if (!page_.lines.empty()) {
      to_.gap();
      to_.paragraph(in({"tapegrad 코드는 라이브러리와 함께 설치되는 프로그램의 일부입니다. 실행하려면:",
                        "tapegrad's lines are parts of programs of the library. To run them:"}));
      to_.lines(commands_of_programs(page_));
    }
    part(Part::numbers, made_.numbers, [this](std::size_t i, const Number& number) {
      if (i > 0) to_.gap();
      to_.number(number, in(wording_of(number.mark)),
                 {{in({"튜토리얼", "the tutorial"}), number.printed}, {"tapegrad", number.ours}}, in(number.why));
    });
    part(Part::figures, made_.figures,
         [this](std::size_t, const Figure& figure) { to_.figure(in(figure.caption), figure); });
    part(Part::touch, page_.touch,
         [this](std::size_t i, const Touch& touch) { to_.widget(in(touch.what), touch.widget, made_.touch[i]); });
    part(Part::faults, page_.faults, [this](std::size_t i, const Fault& fault) {
      to_.claim(i + 1, in(fault.claim), in(fault.proof), made_.proofs[i]);
    });
    std::vector<std::pair<std::string_view, std::string_view>> questions;
    for (const Exercise& one : page_.exercises) questions.emplace_back(in(one.question), in(one.answer));
    part(Part::exercises, questions.empty() ? 0 : 1, [&] {
      to_.questions(questions, in({"답", "Answer"}), in({"답 보기", "Answer"}));
    });
    part(Part::commands, page_.commands.size(), [this] { to_.lines(page_.commands); });
  }

 private:
  std::string_view in(const Text& text) const { return text.in(language_); }
  // The heading and what follows it, if there is something.
  template <class F>
  void part(Part which, std::size_t size, F write) {
    if (size == 0) return;
    to_.heading(in(heading_of(which)));
    write();
  }
  template <class T, class F>
  void part(Part which, const std::vector<T>& items, F write) {
    part(which, items.size(), [&] {
      for (std::size_t i = 0; i < items.size(); ++i) write(i, items[i]);
    });
  }

  const Computed& made_;
  const Page& page_;
  Language language_;
  PageWriter& to_;
};

}  // namespace

void walk(const Computed& made, Language language, PageWriter& to) { Walk(made, language, to).run(); }

}  // namespace tapegrad::tasks::tutorial
