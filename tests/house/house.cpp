// The rules of ARCHITECTURE.md, checked on the sources: which layer may include which, no circles, private folders, one
// file that includes each library, sizes, no results of the C library. exceptions.txt has what does not keep them yet,
// with reasons; that list may only shrink.
#include <tapegrad/tests/house/sources.h>
#include <tapegrad/tests/support/patterns.h>

namespace tapegrad::tests {
namespace {

namespace fs = std::filesystem;

using Includes = std::map<std::string, std::vector<std::string>>;  // paths by path
using Breaches = std::vector<std::string>;

constexpr std::size_t kMostLines = 450, kMostLinesOfFunction = 60, kMostFiles = 26, kMostLinesOfBuild = 99;

const std::map<std::string, std::set<std::string>> kBelow{
    {"autograd", {}},
    {"nn", {"autograd"}},
    {"optim", {"autograd"}},
    {"distributed", {"autograd", "optim"}},
    {"train", {"autograd", "nn", "optim", "distributed"}},
    {"checks", {"autograd", "nn", "optim", "distributed"}},
    {"tasks", {"autograd", "nn", "optim", "distributed", "train", "checks"}},
    {"tutorials", {"autograd", "nn", "optim", "distributed", "train", "checks", "tasks"}},
    {"command", {"autograd", "nn", "optim", "distributed", "train", "checks", "tasks", "tutorials"}},
    {"examples", {"autograd", "nn", "optim", "distributed", "train"}}};
struct Library {
  std::string name, header;  // what its include begins with
};
const std::vector<Library> kLibraries{
    {"TBB", "tbb/"},    {"TBB", "oneapi/"},  {"BLIS", "blis"},         {"MPI", "mpi.h"},
    {"zlib", "zlib.h"}, {"libpng", "png.h"}, {"libjpeg", "jpeglib.h"}, {"nlohmann-json", "nlohmann/"}};

// The files of the build: its parts in cmake/, and those next to what they build or test.
Texts read_build(const fs::path& checkout) {
  Texts files = texts_of({".cmake", ".txt"}, {"cmake", "tests"}, checkout);
  std::erase_if(
      files, [](const auto& file) { return file.first.ends_with(".txt") && !file.first.ends_with("/CMakeLists.txt"); });
  files.emplace("CMakeLists.txt", slurp(checkout / "CMakeLists.txt"));
  return files;
}

std::string layer_of(const std::string& path) { return path.substr(0, path.find('/')); }
std::string folder_of(const std::string& path) { return path.substr(0, path.rfind('/')); }
std::string name_of(const std::string& path) { return path.substr(path.rfind('/') + 1); }
std::string unit_of(const std::string& path) { return path.substr(0, path.rfind('.')); }

// The folder in a layer, with its private parts: "nn/layers" for nn/layers/norm/detail/x.h, "nn" for nn/x.h. The
// folders of autograd, which the engine and its foundations share, count as one.
std::string folder_in_layer(const std::string& path) {
  static const Pattern kFolder("autograd|[a-z]+/(?!detail/|internal/|kernels/)[a-z0-9_]+(?=/)|[a-z]+");
  const Match folder = kFolder.first(path);
  return folder.empty() ? "" : folder[0];
}

// The folder to which a private file belongs: "nn/layers" for nn/layers/detail/x.h; empty for a public one.
std::string owner_of(const std::string& path) {
  for (const std::string_view folder : {"/detail/", "/kernels/"}) {
    const std::size_t at = path.find(folder);
    if (at != std::string::npos) return path.substr(0, at);
  }
  return {};
}

bool is_public_header(const std::string& path) {
  static const Pattern kPublic("(autograd|nn|optim|distributed|train)/.*\\.h");
  return kPublic.matches(path) && owner_of(path).empty() && path.find("/internal/") == std::string::npos;
}

// Without the folder: nn/layers/linear.h is nn/linear.h, train/data/tables/table.h is train/data/table.h.
std::string installed_name(const std::string& path) {
  static const Pattern kOuter("(train/(data|drawing|metrics)|[a-z]+)/.*");
  const Match outer = kOuter.whole(path);
  return (outer.empty() ? "" : outer[1]) + "/" + name_of(path);
}

std::vector<std::string> included_names(const std::string& text) {
  constexpr std::string_view kInclude = "#include <";
  std::vector<std::string> names;
  for (std::size_t at = text.find(kInclude); at != std::string::npos; at = text.find(kInclude, at + 1)) {
    const std::size_t name = at + kInclude.size();
    if (at == 0 || text[at - 1] == '\n') names.push_back(text.substr(name, text.find('>', name) - name));
  }
  return names;
}

// A public header is included by its installed name: <tapegrad/nn/linear.h> is nn/layers/linear.h.
Includes includes_of(const Texts& sources) {
  std::map<std::string, std::string> installed;
  for (const auto& [path, text] : sources)
    if (is_public_header(path)) installed.emplace(installed_name(path), path);
  Includes includes;
  for (const auto& [path, text] : sources) {
    for (std::string name : included_names(text)) {
      if (!name.starts_with("tapegrad/")) continue;
      name.erase(0, name.find('/') + 1);
      if (!sources.contains(name) && installed.contains(name)) name = installed.at(name);
      if (sources.contains(name)) includes[path].push_back(name);
    }
  }
  return includes;
}

// Examples include public headers alone.
Breaches arrows_up(const Includes& includes) {
  Breaches found;
  for (const auto& [path, names] : includes) {
    const std::string layer = layer_of(path);
    for (const std::string& name : names)
      if (layer_of(name) != layer &&
          (!kBelow.at(layer).contains(layer_of(name)) || (layer == "examples" && !is_public_header(name))))
        found.push_back(path + " -> " + name);
  }
  return found;
}

Breaches foreign_parts(const Includes& includes) {
  Breaches found;
  for (const auto& [path, names] : includes)
    for (const std::string& name : names)
      if (const std::string owner = owner_of(name); !owner.empty() && !path.starts_with(owner + "/"))
        found.push_back(path + " -> " + name);
  return found;
}

// Public headers, which are installed, that include private ones, which are not.
Breaches private_parts_of_public_headers(const Includes& includes) {
  Breaches found;
  for (const auto& [path, names] : includes)
    for (const std::string& name : names)
      if (is_public_header(path) && !is_public_header(name)) found.push_back(path + " -> " + name);
  return found;
}

using Graph = std::map<std::string, std::set<std::string>>;

// Groups of nodes that reach each other: "a b c".
Breaches knots_of(const Graph& graph) {
  const auto reached_from = [&](const std::string& start) {
    std::set<std::string> seen;
    std::vector<std::string> todo{start};
    while (!todo.empty()) {
      const std::string node = todo.back();
      todo.pop_back();
      if (const auto at = graph.find(node); at != graph.end())
        for (const std::string& next : at->second)
          if (seen.insert(next).second) todo.push_back(next);
    }
    return seen;
  };
  Graph reached;
  for (const auto& [node, next] : graph) reached[node] = reached_from(node);
  std::set<std::string> found;
  for (const auto& [node, seen] : reached) {
    if (!seen.contains(node)) continue;
    std::string knot;
    for (const std::string& other : seen)
      if (reached.contains(other) && reached.at(other).contains(node)) knot += (knot.empty() ? "" : " ") + other;
    found.insert(knot);
  }
  return {found.begin(), found.end()};
}

// The includes from one part of the sources to another, where part_of(path) is the part of a file.
Graph graph_of(const Includes& includes, std::string (*part_of)(const std::string&)) {
  Graph graph;
  for (const auto& [path, names] : includes)
    for (const std::string& name : names)
      if (part_of(name) != part_of(path)) graph[part_of(path)].insert(part_of(name));
  return graph;
}

// Units (a header and its .cpp), and folders, that reach each other.
Breaches circles(const Includes& includes) { return knots_of(graph_of(includes, unit_of)); }
Breaches circles_of_folders(const Includes& includes) { return knots_of(graph_of(includes, folder_in_layer)); }

Breaches second_doors(const Texts& sources) {
  std::map<std::string, std::vector<std::string>> doors;
  Breaches found;
  for (const auto& [path, text] : sources) {
    std::set<std::string> used;
    for (const std::string& name : included_names(text)) {
      for (const Library& library : kLibraries)
        if (name.starts_with(library.header)) used.insert(library.name);
      if (name.starts_with("hwy/") && path.find("/kernels/") == std::string::npos)
        found.push_back(path + " includes Highway");
    }
    for (const std::string& library : used) doors[library].push_back(path);
  }
  for (const auto& [library, paths] : doors)
    for (std::size_t i = 1; i < paths.size(); ++i) found.push_back(paths[i] + " includes " + library);
  return found;
}

std::size_t lines_of(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

Breaches long_files(const Texts& sources, std::size_t most) {
  Breaches found;
  for (const auto& [path, text] : sources)
    if (lines_of(text) > most) found.push_back(path);
  return found;
}

// What clang-format leaves: the first line and the closing brace of a definition are indented alike, what is between
// them deeper. Definitions in a namespace and in a class are looked at.
Breaches long_functions(const Texts& sources, std::size_t most) {
  static const Pattern kOther("(namespace|class|struct|enum|union|extern)\\b.*");
  Breaches found;
  for (const auto& [path, text] : sources) {
    std::map<std::size_t, std::pair<std::size_t, std::string>> begun;  // number and text of a line, by indentation
    std::size_t number = 0;
    for (const std::string& line : lines(text)) {
      ++number;
      const std::size_t indentation = line.find_first_not_of(' ');
      if (indentation == std::string::npos || indentation > 2 || line[indentation] == '#') continue;
      if (line[indentation] != '}') {
        begun[indentation] = {number, line.substr(indentation)};
      } else if (line.size() == indentation + 1) {
        const auto& [first, declaration] = begun[indentation];
        const std::size_t bracket = declaration.find('(');
        if (bracket == std::string::npos || kOther.matches(declaration) || number - first + 1 <= most) continue;
        const std::string name = declaration.substr(0, bracket);
        found.push_back(path + ": " + name.substr(name.find_last_of(" *&") + 1));
      }
    }
  }
  return found;
}

Breaches full_folders(const Texts& sources, std::size_t most) {
  std::map<std::string, std::size_t> files;
  for (const auto& [path, text] : sources) ++files[folder_of(path)];
  Breaches found;
  for (const auto& [folder, count] : files)
    if (count > most) found.push_back(folder);
  return found;
}

// Functions of the C and C++ libraries whose results differ between versions: autograd/internal/fixed_math.h has ours.
// sqrt, fma, fmod, floor, ldexp and the like are exact. Free are folders whose numbers are positions in a picture, or
// are printed with few digits, and programs as users write them.
Breaches functions_of_the_library(const Texts& sources) {
  static const Pattern kFunction(
      "\\bstd::((exp|exp2|expm1|log|log2|log10|log1p|pow|cbrt|hypot|a?(sin|cos|tan)h?|atan2|erfc?|[lt]gamma)[fl]?\\(|"
      "shuffle\\(|sample\\(|[a-z_]+_distribution)");
  static const Pattern kFree("(train/drawing|tutorials/show|tutorials/programs|examples)/.*");
  Breaches found;
  for (const auto& [path, text] : sources) {
    if (kFree.matches(path)) continue;
    for (const std::string& line : lines(text)) {
      const Match word = line.find("std::") == std::string::npos ? Match() : kFunction.first(line);
      if (word.empty()) continue;
      found.push_back(path + " calls std::" + word[1]);
      break;
    }
  }
  return found;
}

int opened(char c) { return c == '(' || c == '[' || c == '{' ? 1 : c == ')' || c == ']' || c == '}' ? -1 : 0; }

// Where the arguments end of the list that opens at `open`.
std::vector<std::size_t> ends_of_arguments(const std::string& text, std::size_t open) {
  std::vector<std::size_t> ends;
  int depth = 0;
  for (std::size_t at = open + 1; at < text.size() && depth >= 0; ++at) {
    depth += opened(text[at]);
    if (depth < 0 || (depth == 0 && text[at] == ',')) ends.push_back(at);
  }
  return ends;
}

// Calls of which one argument moves what another one reads: compilers differ in which comes first.
Breaches moved_and_read(const Texts& sources) {
  static const Pattern kMove(R"(std::move\((\w+)\))"), kText(R"(//[^\n]*|"(\\.|[^"\\\n])*")");
  Breaches found;
  for (const auto& [path, source] : sources) {
    const std::string text = kText.replaced(source, "");
    for (const Match& move : kMove.in(text)) {
      const std::string name = move[1];
      const Pattern read("(^|[^\\w.>])" + name + "\\b");
      const std::size_t here = static_cast<std::size_t>(move.position);
      int depth = 0;  // of text[open]; -1: it opens a list that surrounds `here`
      for (std::size_t open = here; open-- > 0 && (depth > 0 || (text[open] != ';' && text[open] != '{'));) {
        depth -= opened(text[open]);
        if (depth >= 0) continue;
        depth = 0;
        std::size_t begin = open + 1;
        for (std::size_t stop : text[open] == '(' ? ends_of_arguments(text, open) : std::vector<std::size_t>()) {
          const bool moves = begin <= here && here < stop;
          if (!moves && read.found(text.substr(begin, stop - begin)))
            found.push_back(path + " reads and moves " + name);
          begin = stop + 1;
        }
      }
    }
  }
  return found;
}

// The lines "rule | breach | reason" of exceptions.txt.
std::map<std::string, std::string> exceptions_to(const std::string& rule) {
  std::ifstream file(fs::path(kTestsDir) / "house/exceptions.txt");
  EXPECT_TRUE(file) << "tests/house/exceptions.txt is missing";
  std::map<std::string, std::string> reasons;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line.starts_with("#")) continue;
    const std::size_t first = line.find(" | "), second = line.find(" | ", first + 1);
    if (second == std::string::npos) {
      ADD_FAILURE() << "expected \"rule | breach | reason\", got: " << line;
    } else if (line.substr(0, first) == rule) {
      reasons.emplace(line.substr(first + 3, second - first - 3), line.substr(second + 3));
    }
  }
  return reasons;
}

void expect_kept(const std::string& rule, const Breaches& found) {
  const std::map<std::string, std::string> allowed = exceptions_to(rule);
  for (const std::string& breach : found) EXPECT_TRUE(allowed.contains(breach)) << rule << ": " << breach;
  for (const auto& [breach, reason] : allowed) {
    EXPECT_TRUE(std::find(found.begin(), found.end(), breach) != found.end())
        << rule << ": delete this line of exceptions.txt, the rule is kept now: " << breach;
    EXPECT_GT(reason.size(), 10U) << rule << ": expected a reason for " << breach;
  }
}

const Texts& house() {
  static const Texts kTexts = texts_of(kSources, kLayers);
  return kTexts;
}

Texts with_tests() {
  Texts all = texts_of(kSources, {"bench", "tests"});
  all.insert(house().begin(), house().end());
  return all;
}

TEST(House, ArrowsRunOneWay) { expect_kept("arrow up", arrows_up(includes_of(house()))); }
TEST(House, NoUnitsInACircle) { expect_kept("circle", circles(includes_of(house()))); }
TEST(House, NoFoldersInACircle) { expect_kept("circle of folders", circles_of_folders(includes_of(house()))); }
TEST(House, PrivateFoldersAreTheirOwners) { expect_kept("private folder", foreign_parts(includes_of(house()))); }
TEST(House, PublicHeadersIncludePublicOnes) {
  expect_kept("private part of a public header", private_parts_of_public_headers(includes_of(house())));
}
TEST(House, OneFileIncludesALibrary) { expect_kept("second door", second_doors(house())); }
TEST(House, FilesAreShort) { expect_kept("long file", long_files(with_tests(), kMostLines)); }
TEST(House, FilesOfTheBuildAreShort) {
  expect_kept("long file of the build", long_files(read_build(kSourceDir), kMostLinesOfBuild));
}
TEST(House, FunctionsAreShort) { expect_kept("long function", long_functions(house(), kMostLinesOfFunction)); }
TEST(House, ResultsDoNotDependOnTheCLibrary) {
  expect_kept("function of the library", functions_of_the_library(house()));
}
TEST(House, ArgumentsDoNotReadWhatOneMoves) { expect_kept("moved and read", moved_and_read(with_tests())); }
TEST(House, FoldersHaveFewFiles) { expect_kept("full folder", full_folders(with_tests(), kMostFiles)); }

// Pages are complete without scripts, so scripts stay a small part: those of pages, and those that test them.
TEST(House, ScriptsAreFewLines) {
  constexpr std::ptrdiff_t kMostLinesOfScripts = 1600;  // step.js computes 45 operations
  std::ptrdiff_t lines = 0;
  for (const auto& [path, text] : texts_of({".js"}, {"tasks", "tests", "train", "tutorials"}))
    lines += std::count(text.begin(), text.end(), '\n');
  EXPECT_GT(lines, 0);
  EXPECT_LE(lines, kMostLinesOfScripts);
}

TEST(House, PublicHeadersOfALayerHaveDifferentNames) {  // they are installed into one folder
  std::map<std::string, std::string> paths;
  for (const auto& [path, text] : house()) {
    if (!is_public_header(path) || path.starts_with("autograd/io/")) continue;
    const auto [at, fresh] = paths.emplace(installed_name(path), path);
    EXPECT_TRUE(fresh) << path << " and " << at->second;
  }
}

// --- the rules bite ---

const Texts kPlanted{
    {"autograd/ops/loss/loss.h", "#include <tapegrad/nn/linear.h>\n"},
    {"autograd/kernels/simd.h", "#include <hwy/highway.h>\n"},
    {"autograd/internal/fail.h", ""},
    {"autograd/tape.cpp", "#include <hwy/highway.h>\n#include <tbb/parallel_for.h>\n"},
    {"autograd/threads/parallel.cpp", "#include <oneapi/tbb/task_arena.h>\n"},
    {"nn/layers/linear.h", "#include <tapegrad/nn/gpt.h>\n"},
    {"nn/layers/detail/weights.h", "int f() {\n  return 1;\n}\nvoid g(int x) {\n  if (x) {\n  }\n  f();\n}\n"},
    {"nn/models/gpt.cpp",
     "#include <tapegrad/nn/linear.h>\ndouble f(double x) { return std::sqrt(x) + std::tanh(x); }\n"},
    {"examples/own.cpp", "#include <tapegrad/autograd/internal/fail.h>\n"},
    {"train/loop.cpp",
     "void f(T x) { g(1, std::move(x)), x.h(); k(std::move(x), (l)(x)); m(y.x, {[x = std::move(x)] {}}); }"},
    {"train/drawing/charts.cpp", "double f(double x) { return std::log10(x); }\n"},
    {"nn/models/gpt.h", "#include <tapegrad/nn/layers/detail/weights.h>\n\n\n\n\n\n\n\n\n"},
};

TEST(House, AWrongOfEachKindIsFound) {
  const Includes includes = includes_of(kPlanted);
  EXPECT_EQ(arrows_up(includes), (Breaches{"autograd/ops/loss/loss.h -> nn/layers/linear.h",
                                           "examples/own.cpp -> autograd/internal/fail.h"}));
  EXPECT_EQ(circles(includes), Breaches{"nn/layers/linear nn/models/gpt"});
  EXPECT_EQ(circles_of_folders(includes), Breaches{"nn/layers nn/models"});
  EXPECT_EQ(foreign_parts(includes), Breaches{"nn/models/gpt.h -> nn/layers/detail/weights.h"});
  EXPECT_EQ(private_parts_of_public_headers(includes), Breaches{"nn/models/gpt.h -> nn/layers/detail/weights.h"});
  EXPECT_EQ(second_doors(kPlanted),
            (Breaches{"autograd/tape.cpp includes Highway", "autograd/threads/parallel.cpp includes TBB"}));
  EXPECT_EQ(long_files(kPlanted, 8), Breaches{"nn/models/gpt.h"});
  EXPECT_EQ(long_functions(kPlanted, 3), Breaches{"nn/layers/detail/weights.h: g"});
  EXPECT_EQ(functions_of_the_library(kPlanted), Breaches{"nn/models/gpt.cpp calls std::tanh("});
  EXPECT_EQ(moved_and_read(kPlanted), Breaches{"train/loop.cpp reads and moves x"});
  EXPECT_EQ(full_folders(kPlanted, 1), Breaches{"nn/models"});
}

TEST(House, ALongFileOfTheBuildIsFound) {
  const TemporaryFolder checkout;
  const std::string short_enough(kMostLinesOfBuild, '\n');
  fs::create_directories(checkout.path() / "cmake");
  fs::create_directories(checkout.path() / "tests/consumer");
  const Breaches files{"CMakeLists.txt", "cmake/tests.cmake", "tests/consumer/CMakeLists.txt"};
  for (const std::string& file : files) spill(checkout / file, short_enough);
  EXPECT_EQ(long_files(read_build(checkout.path()), kMostLinesOfBuild), Breaches());
  for (const std::string& file : files) spill(checkout / file, short_enough + '\n');
  EXPECT_EQ(long_files(read_build(checkout.path()), kMostLinesOfBuild), files);
}

}  // namespace
}  // namespace tapegrad::tests
