// The words that all pages share.
#include <fmt/format.h>
#include <tapegrad/tutorials/page.h>

#include <algorithm>

namespace tapegrad::tasks::tutorial {

Text heading_of(Part part) {
  switch (part) {
    case Part::about: return {"이 절의 내용", "What this section is about"};
    case Part::lines: return {"PyTorch 코드와 tapegrad 코드", "PyTorch's lines and tapegrad's"};
    case Part::numbers: return {"튜토리얼의 수치와 지금 계산한 수치", "The tutorial's numbers and tapegrad's"};
    case Part::figures: return {"그림", "Figures"};
    case Part::touch: return {"직접 움직여 보기", "Something to touch"};
    case Part::faults: return {"바로잡을 점과 확인한 주장", "Bugs, and claims put to the test"};
    case Part::exercises: return {"연습 문제", "Exercises"};
    case Part::commands: return {"보고, 바꾸고, 작성하기", "See it, break it, write it"};
    case Part::sections: return {"이 절에 속한 절", "Sections of this section"};
    case Part::around: return {"앞뒤 페이지", "Pages before and after"};
  }
  return {};
}

Text wording_of(Mark mark) {
  switch (mark) {
    case Mark::equal: return {"같음", "equal"};
    case Mark::different: return {"의도적으로 다름", "different on purpose"};
    case Mark::drawn: return {"시드 없이 뽑은 값", "sampled without a seed"};
    case Mark::own: return {"튜토리얼에는 없는, tapegrad의 수치", "tapegrad's; the tutorial prints none"};
  }
  return {};
}

std::string place_of(const Page& page) {
  const bool cells = page.section.find('.') == std::string_view::npos && page.tutorial == "004";
  return fmt::format("{} {}{}{}", page.tutorial, cells ? "[" : "", page.section, cells ? "]" : "");
}

std::string command_of(const Page& page) { return fmt::format("tapegrad tutorial {} {}", page.tutorial, page.section); }

std::string file_stem(const Page& page) {
  std::string stem = fmt::format("{}-{}", page.tutorial, page.section);
  std::replace(stem.begin(), stem.end(), '/', '-');
  return stem;
}

}  // namespace tapegrad::tasks::tutorial
