// Composes records of packages that do not exist.
#include <fmt/format.h>
#include <tapegrad/autograd/random.h>
#include <tapegrad/tasks/language/texts.h>
#include <tapegrad/tasks/text/corpus/corpus.h>

namespace tapegrad::tasks {
namespace {

constexpr std::size_t kRecords = 200;

using Lines = std::vector<std::string_view>;

Lines list(std::string_view name) { return lines_of_file("tasks/text/corpus/made_packages.txt", name); }

// What the packages of one section are about.
struct Subject {
  explicit Subject(std::string_view section)
      : section(section),
        kinds(list(fmt::format("{} kinds", section))),
        purposes(list(fmt::format("{} purposes", section))),
        details(list(fmt::format("{} details", section))) {}

  std::string_view section;
  Lines kinds, purposes;  // "a small ... for ..."
  Lines details;          // sentences
};

// What those of all sections have.
struct Words {
  Lines qualities = list("qualities"), syllables = list("syllables");
  Lines sentences = list("sentences");  // that say nothing about the section
  Lines priorities = list("priorities"), libraries = list("libraries");
};

// Draws below n.
int64_t draw(Generator& generator, int64_t n) {
  return static_cast<int64_t>(generator.random64() % static_cast<uint64_t>(n));
}

std::string_view one_of(Generator& generator, const Lines& lines) {
  return lines[static_cast<std::size_t>(draw(generator, static_cast<int64_t>(lines.size())))];
}

// Each draw is a separate statement, because the order in which a call's arguments are evaluated is unspecified.
std::string record(Generator& g, const Subject& subject, const Words& words) {
  std::string name;
  for (int i = 0; i < 4; ++i) name += one_of(g, words.syllables);
  const std::string_view kind = one_of(g, subject.kinds);
  const std::string_view purpose = one_of(g, subject.purposes);
  const std::string_view quality = one_of(g, words.qualities);
  std::string out = fmt::format("Package: {}\n", name);
  const auto field = [&](std::string_view key, std::string_view value) { out += fmt::format("{}: {}\n", key, value); };
  const auto number = [&](int64_t least, int64_t count) { return std::to_string(least + draw(g, count)); };
  std::string value = number(0, 9);
  value += "." + number(0, 30);
  value += "-" + number(1, 5);
  field("Version", value);
  field("Installed-Size", number(20, 9000));
  field("Architecture", draw(g, 3) == 0 ? "all" : "amd64");
  value = one_of(g, words.libraries);
  value += " (>= " + number(1, 4) + ")";
  value += fmt::format(", {}", one_of(g, words.libraries));
  field("Depends", value);
  if (draw(g, 2) == 0) field("Suggests", name + "-doc");
  field("Homepage", "example.org/" + name);
  field("Section", subject.section);
  field("Priority", one_of(g, words.priorities));
  field("Description", fmt::format("{} {} for {}", quality, kind, purpose));
  out += fmt::format(" {} is a {} {} for {}.\n", name, quality, kind, purpose);
  const auto sentences = [&](int64_t count, const Lines& from) {
    for (int64_t i = 0; i < count; ++i) out += fmt::format(" {}\n", one_of(g, from));
  };
  sentences(2 + draw(g, 4), words.sentences);
  out += " .\n";
  sentences(2, subject.details);
  sentences(draw(g, 3), words.sentences);
  return out + "\n";
}

}  // namespace

std::string made_packages() {
  Generator generator(0);
  const Words words;
  std::vector<Subject> subjects;
  for (const std::string_view section : list("sections")) subjects.emplace_back(section);
  std::string all;
  for (std::size_t i = 0; i < kRecords; ++i) all += record(generator, subjects[i % subjects.size()], words);
  return all;
}

}  // namespace tapegrad::tasks
