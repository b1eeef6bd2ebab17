// Calls a page's functions.
#include <tapegrad/tutorials/computed.h>
#include <tapegrad/tutorials/sources.h>

namespace tapegrad::tasks::tutorial {

Computed computed(const Page& page, Language language) {
  const LanguageScope english(Language::en);  // numbers are the same text in both
  Computed out{&page, {}, {}, {}, {}, {}};
  for (const Lines& lines : page.lines) out.snippets.push_back(snippet(lines.snippet));
  if (page.numbers != nullptr) out.numbers = page.numbers();
  {
    const LanguageScope own(language);
    if (page.figures != nullptr) out.figures = page.figures();
    for (const Touch& touch : page.touch) out.touch.push_back(touch.data == nullptr ? "null" : touch.data());
    for (const Fault& fault : page.faults) out.proofs.push_back(fault.shown == nullptr ? "" : fault.shown());
  }
  return out;
}

}  // namespace tapegrad::tasks::tutorial
