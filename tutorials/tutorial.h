// The verb `tutorial`: pages about every section of the five tutorials, in Korean and English.
#pragma once

#include <tapegrad/tasks/settings/settings.h>

#include <optional>
#include <string>
#include <vector>

namespace tapegrad::tasks::tutorial {

struct Request {
  std::vector<std::string> words;       // a tutorial and a section or cell: "003" "8.2.5"
  std::string find;                     // lists the pages that contain it
  std::optional<std::string> language;  // "ko" or "en"; none: that of the locale
  std::string out;                      // folder for the pages; empty: out/tutorial for one page, none for a list

  void list(Fields& f);
};

/// Lists pages; prints one page, and writes it; or, without words and with `out`, writes the whole site: an index and
/// every page in both languages. BadRequest for what does not exist.
int run(const Request& request);

}  // namespace tapegrad::tasks::tutorial
