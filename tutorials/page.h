// One page of `tapegrad tutorial`: what it says about a section, or a group of cells, of one of the five tutorials. All
// that it tells is in sections/<tutorial>-<section>.txt; its numbers and figures are computed while it is made.
#pragma once

#include <tapegrad/tasks/language/language.h>
#include <tapegrad/train/drawing/svg.h>

#include <string>
#include <string_view>
#include <vector>

namespace tapegrad::tasks::tutorial {

/// PyTorch's lines, as a reader would write them (in our words), next to the C++ for the same.
struct Lines {
  Text what = {};                 ///< one line that introduces them
  std::string_view pytorch = {};  ///< lines of Python
  /// "003_words_and_masks:similarity": the lines between `// [similarity]` and `// [/similarity]` of
  /// tutorials/programs/003_words_and_masks.cpp, a program that is compiled and run (or of a header there,
  /// "roles.h:basic").
  std::string_view snippet = {};
};

/// How our number relates to the tutorial's.
enum class Mark {
  equal,      ///< the same digits; the tests compare each one
  different,  ///< on purpose; `why` says why
  drawn,      ///< drawn without a seed in the tutorial: only shape and range can agree
  own,        ///< ours alone: the tutorial prints none
};

/// Something that the tutorial prints, next to ours. numbers.h makes them; what is printed, and why, is in the file.
struct Number {
  std::string label = {};    ///< as the tutorial has it; none of numbers that are ours alone
  std::string printed = {};  ///< as the tutorial prints it: digits separated by spaces, one line per row
  std::vector<std::string> rows = {}, columns = {};  ///< the words of rows and columns, as the tutorial has them
  std::string ours = {};                             ///< computed while the page is made, in the same form
  Mark mark = Mark::equal;
  Text why = {};  ///< of numbers that are ours alone: what they are
};

struct Figure {
  drawing::Drawing drawing = {};  ///< one drawing,
  /// or several, side by side where the page is wide enough. With both, the panels are the drawing on a narrow page.
  std::vector<drawing::Drawing> panels = {};
  Text caption = {};  ///< in the file
};

/// Something to touch: an element with data-widget="<widget>", which the script tutorials/widgets/<widget>.js fills.
/// The page is complete without script: what a widget shows first is in the numbers or the figures, too.
struct Touch {
  std::string_view widget = {};
  Text what = {};                   ///< what there is to try, and what to look for
  std::string (*data)() = nullptr;  ///< JSON for the script; nullptr: null
};

/// A fault of the tutorial, and what proves it.
struct Fault {
  Text claim = {};
  Text proof = {};
  std::string (*shown)() = nullptr;  ///< the proof computed, as lines for a terminal; nullptr: none
};

struct Exercise {
  Text question = {}, answer = {};
};

/// A topic of `show` that leaves something out, to see what happens.
struct Experiment {
  std::string_view topic = {};
  Text what = {};
  Text table = {};  ///< of a run that is stored: lines, whose cells are divided by several spaces; may be empty
};

/// A programming exercise: what to write, after `tapegrad exercise <id>`.
struct Programming {
  std::string_view id = {};
  Text title = {};
};

/// The parts of a page, in order. The last two are lists of pages.
enum class Part { about, figures, touch, lines, faults, numbers, exercises, commands, sections, around };

/// A part that makes no sense for the section, and one sentence that says why.
struct Without {
  Part part = Part::about;
  Text why = {};
};

struct Page {
  std::string_view tutorial = {};  ///< "003"
  std::string_view section = {};   ///< "8.2.5", or a range of cells: "30-33"
  /// Further sections or ranges of cells that lead here: "8.2.3/4.1" is deep dive 4.1 of section 8.2.3.
  std::vector<std::string_view> also = {};
  Text title = {};
  Text about = {};                             ///< (1) three sentences
  std::vector<Lines> lines = {};               ///< (2)
  std::vector<Number> (*numbers)() = nullptr;  ///< (3)
  std::vector<Number> printed = {};            ///< the same numbers, with what the file has about them
  std::vector<Figure> (*figures)() = nullptr;  ///< (4) first with the tutorial's data, then a better one
  std::vector<Text> captions = {};             ///< one per figure
  std::vector<Touch> touch = {};               ///< (5)
  std::vector<Fault> faults = {};              ///< (6)
  std::vector<Exercise> exercises = {};
  std::vector<Experiment> experiments = {};
  std::vector<Programming> programming = {};  ///< those of the page's places, from exercises/set
  std::vector<Without> without = {};          ///< for each part up to the exercises that has nothing above
  std::string_view commands = {};  ///< commands that go on from here, one per line: "tapegrad show causal-mask"
  std::string_view terms = {};     ///< further words for --find, separated by spaces, in both languages
};

Text heading_of(Part part);
Text wording_of(Mark mark);
/// "003 8.2.5", "004 [30-33]".
std::string place_of(const Page& page);
/// What shows the page: "tapegrad tutorial 003 8.2.5".
std::string command_of(const Page& page);
/// What a page's files are called, without language and extension: "003-8.2.5", "004-30-33".
std::string file_stem(const Page& page);

}  // namespace tapegrad::tasks::tutorial
