// Visits the parts of a page.
#include <fmt/format.h>
#include <tapegrad/autograd/error.h>
#include <tapegrad/tutorials/find.h>
#include <tapegrad/tutorials/pages.h>
#include <tapegrad/tutorials/sources.h>
#include <tapegrad/tutorials/walk.h>

#include <algorithm>
#include <sstream>

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
    part(Part::about, page_.about.empty() ? 0 : 1, [this] { to_.paragraph(in(page_.about)); });
    part(Part::figures, made_.figures,
         [this](std::size_t, const Figure& figure) { to_.figure(in(figure.caption), figure); });
    part(Part::touch, page_.touch,
         [this](std::size_t i, const Touch& touch) { to_.widget(in(touch.what), touch.widget, made_.touch[i]); });
    part(Part::lines, page_.lines, [this](std::size_t i, const Lines& lines) {
      if (i > 0) to_.gap();
      to_.paragraph(in(lines.what));
      std::vector<NamedLines> versions{{"tapegrad", made_.snippets[i]}};
      if (!lines.pytorch.empty()) versions.insert(versions.begin(), {"PyTorch", lines.pytorch});
      to_.code(versions);
    });
    if (!page_.lines.empty()) {
      to_.gap();
      to_.paragraph(in(
          {"tapegrad 코드는 라이브러리와 함께 설치되는 프로그램의 일부입니다(소스에서 설치하려면 `sudo cmake --install "
           "build/release`). 실행하려면:",
           "tapegrad's lines are parts of programs that are installed with the library (from a checkout "
           "by `sudo cmake --install build/release`). To run them:"}));
      to_.lines(commands_of_programs(page_));
    }
    part(Part::faults, page_.faults, [this](std::size_t i, const Fault& fault) {
      to_.claim(i + 1, in(fault.claim), in(fault.proof), made_.proofs[i]);
    });
    part(Part::numbers, made_.numbers.size(), [this] {
      to_.fold(equal_numbers());
      for (std::size_t i = 0; i < made_.numbers.size();) i = number(i);
      to_.unfold();
    });
    std::vector<std::pair<std::string_view, std::string_view>> questions;
    for (const Exercise& one : page_.exercises) questions.emplace_back(in(one.question), in(one.answer));
    part(Part::exercises, questions.empty() ? 0 : 1, [&] {
      to_.questions(questions, in({"답", "Answer"}), in({"답 보기", "Answer"}));
    });
    next();
    pages();
  }

 private:
  std::string_view in(const Text& text) const { return text.in(language_); }
  // Writes the number, with those after it that share its table; returns the next one.
  std::size_t number(std::size_t i) {
    if (i > 0) to_.gap();
    const std::string_view theirs = in({"튜토리얼", "the tutorial"});
    std::vector<PageWriter::Scalar> scalars;
    for (std::size_t j = i; j < made_.numbers.size() && is_scalar(made_.numbers[j]); ++j)
      scalars.push_back({made_.numbers[j].label, made_.numbers[j].printed, made_.numbers[j].ours});
    if (scalars.size() > 1) {
      to_.scalars(in(wording_of(Mark::equal)), {theirs, "tapegrad"}, scalars);
      return i + scalars.size();
    }
    const Number& one = made_.numbers[i];
    if (one.mark == Mark::own) {
      to_.number(in(one.why), one, in(wording_of(one.mark)), {{"tapegrad", one.ours}}, {});
    } else {
      to_.number(one.label, one, in(wording_of(one.mark)), {{theirs, one.printed}, {"tapegrad", one.ours}},
                 in(one.why));
    }
    return i + 1;
  }
  static bool is_scalar(const Number& one) {
    return one.mark == Mark::equal && one.why.empty() && one.columns.empty() && one.ours.find('\n') == one.ours.npos;
  }
  // "9 of 10: equal", of those that the tutorial prints.
  std::string equal_numbers() const {
    const auto count = [&](Mark mark) {
      return std::count_if(made_.numbers.begin(), made_.numbers.end(),
                           [mark](const Number& one) { return one.mark == mark; });
    };
    const auto printed = std::ssize(made_.numbers) - count(Mark::own), equal = count(Mark::equal);
    if (printed == 0) return std::string(in(wording_of(Mark::own)));
    return language_ == Language::ko ? fmt::format("{}개 가운데 {}개가 같음", printed, equal)
                                     : fmt::format("{} of {}: equal", equal, printed);
  }
  // The heading, and what follows it, or why there is nothing.
  template <class F>
  void part(Part which, std::size_t size, F write) {
    const Text heading = heading_of(which);
    to_.heading(in(heading));
    if (size > 0) return write();
    const auto reason = std::find_if(page_.without.begin(), page_.without.end(),
                                     [which](const Without& one) { return one.part == which; });
    if (reason == page_.without.end())
      fail("tutorial", fmt::format("page {}: expected something under \"{}\", got nothing (Page::without explains an "
                                   "empty part)",
                                   place_of(page_), heading.en));
    to_.paragraph(in(reason->why));
  }
  template <class T, class F>
  void part(Part which, const std::vector<T>& items, F write) {
    part(which, items.size(), [&] {
      for (std::size_t i = 0; i < items.size(); ++i) write(i, items[i]);
    });
  }

  // What a reader may do now: topics of `show`, experiments, exercises, and the other commands.
  void next() {
    to_.heading(in(heading_of(Part::commands)));
    std::string shows, others;
    std::istringstream commands{std::string(page_.commands)};
    for (std::string line; std::getline(commands, line);)
      (line.starts_with("tapegrad show ") ? shows : others) += line + '\n';
    to_.paragraph(in({"보기: 위에서 직접 움직여 보십시오. 명령을 쓰면 더 크게, 다른 크기로 그릴 수 있습니다.",
                      "See it: move what is above. Commands plot it larger, and in other sizes."}));
    if (!shows.empty()) to_.lines(shows);
    for (const Experiment& one : page_.experiments) {
      to_.gap(), to_.paragraph(fmt::format("{}: {}", in({"바꾸기", "Break it"}), in(one.what)));
      if (!one.table.empty())
        to_.number(in({"저장한 실행", "A stored run"}), {.mark = Mark::own}, in(wording_of(Mark::own)),
                   {{"tapegrad", in(one.table)}}, {});
      to_.lines(fmt::format("tapegrad show {}\n", one.topic));
    }
    for (const Programming& one : page_.programming) {
      to_.gap(), to_.paragraph(fmt::format("{}: {}", in({"작성하기", "Write it"}), in(one.title)));
      to_.lines(fmt::format("tapegrad exercise {0}\ntapegrad exercise {0} --hint\n", one.id));
    }
    if (others.empty()) return;
    to_.gap(), to_.paragraph(in({"이어서:", "Next:"}));
    to_.lines(others);
  }

  void pages() {
    std::vector<PageLink> links;
    for (const Page* page : sections_of(tutorial::pages(), page_)) links.push_back({"", page, in(page->title)});
    if (!links.empty()) to_.heading(in(heading_of(Part::sections))), to_.pages(links);
    links.clear();
    const auto [before, after] = pages_around(tutorial::pages(), page_);
    if (before != nullptr) links.push_back({in({"이전", "previous"}), before, in(before->title)});
    if (after != nullptr) links.push_back({in({"다음", "next"}), after, in(after->title)});
    if (!links.empty()) to_.heading(in(heading_of(Part::around))), to_.pages(links);
  }

  const Computed& made_;
  const Page& page_;
  Language language_;
  PageWriter& to_;
};

}  // namespace

void walk(const Computed& made, Language language, PageWriter& to) { Walk(made, language, to).run(); }

}  // namespace tapegrad::tasks::tutorial
