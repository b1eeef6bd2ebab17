// A page together with what is computed while it is made.
#pragma once

#include <tapegrad/tutorials/page.h>

#include <string>
#include <vector>

namespace tapegrad::tasks::tutorial {

struct Computed {
  const Page* page;
  std::vector<std::string> snippets;  // one per Page::lines
  std::vector<Number> numbers;
  std::vector<Figure> figures;
  std::vector<std::string> touch;   // the JSON of each widget
  std::vector<std::string> proofs;  // one per Page::faults; empty where none is computed
};

/// Computes everything that the page shows, with figures and names in widgets in this language. The page must outlive
/// it.
Computed computed(const Page& page, Language language);

}  // namespace tapegrad::tasks::tutorial
