// Composes records of packages that do not exist.
#include <fmt/format.h>
#include <tapegrad/autograd/random.h>
#include <tapegrad/tasks/text/corpus/corpus.h>

#include <iterator>

namespace tapegrad::tasks {
namespace {

constexpr int kRecords = 200;

// What the packages of one section are about.
struct Subject {
  std::string_view section;
  std::string_view kinds[4];  // "a small ... for ..."
  std::string_view purposes[4];
  std::string_view details[4];  // sentences
};
constexpr Subject kSubjects[] = {
    {"editors",
     {"text editor", "outline editor", "hex editor", "editor plugin"},
     {"plain text", "structured documents", "program sources", "binary data"},
     {"Several buffers can be open at the same time, each with its own cursor.",
      "Syntax is highlighted while you type, and every change can be undone.",
      "Regular expressions find and replace words in all open buffers.", "Key bindings are read from a file."}},
    {"games",
     {"puzzle game", "card game", "racing game", "strategy game"},
     {"one player", "two players", "children", "players of all ages"},
     {"Each level has a time limit and a hidden bonus.", "The high scores are kept between sessions.",
      "The computer opponent has three levels of skill.", "Enemies become faster from round to round."}},
    {"mail",
     {"mail reader", "mail filter", "mailing list manager", "mail server"},
     {"large inboxes", "shared mailboxes", "newsletters", "small offices"},
     {"Messages are sorted into folders by their senders.", "Unwanted mail is marked by a statistical filter.",
      "Attachments can be saved or removed from stored messages.", "Mailboxes are fetched over IMAP and POP3."}},
    {"math",
     {"matrix library", "computer algebra system", "equation solver", "plotting program"},
     {"sparse systems", "polynomials", "differential equations", "functions of two variables"},
     {"Integrals and derivatives are computed in symbolic form.", "Eigenvalues are found by an iterative method.",
      "Numbers have as many digits as memory allows.", "Linear equations are solved by factorization."}},
    {"net",
     {"download manager", "packet sniffer", "proxy server", "remote shell"},
     {"slow connections", "local networks", "many clients", "embedded routers"},
     {"Packets are captured from any interface and shown by protocol.", "Broken transfers continue where they stopped.",
      "Connections are encrypted, and hosts are known by their keys.", "Bandwidth can be limited per address."}},
    {"sound",
     {"audio player", "synthesizer", "sound recorder", "drum machine"},
     {"compressed audio", "live concerts", "voice notes", "home studios"},
     {"Tracks are mixed without gaps, at any sample rate.", "The equalizer has ten bands and a spectrum display.",
      "Notes come from a MIDI keyboard or from a score.", "Volume is normalized over a whole album."}},
    {"graphics",
     {"image viewer", "drawing program", "photo converter", "icon editor"},
     {"large photographs", "vector drawings", "camera raw files", "small icons"},
     {"Pictures can be cropped, rotated and scaled.", "Layers and paths can be combined with masks.",
      "Colours are corrected with curves and profiles.", "Thumbnails of a whole folder are shown as a contact sheet."}},
    {"database",
     {"relational database", "query tool", "key-value store", "backup tool"},
     {"medium-sized tables", "several servers", "web services", "nightly dumps"},
     {"Transactions are isolated, and survive a loss of power.", "Queries are written in SQL and can be prepared.",
      "Tables can be exported with their indexes.", "Rows are replicated to a second server."}},
};

constexpr std::string_view kQualities[] = {"small", "fast", "simple", "portable", "flexible", "modern"};
// Sentences that say nothing about the section.
constexpr std::string_view kCommon[] = {"It is written in C and has few dependencies.",
                                        "The manual explains every option with an example.",
                                        "Settings are stored in the home directory of the user.",
                                        "It runs on a terminal as well as on a desktop.",
                                        "The program has been translated into twelve languages.",
                                        "Other programs can use it as a library.",
                                        "Messages can be written to a log file.",
                                        "Old versions of its files can still be read.",
                                        "A test suite comes with the sources.",
                                        "It starts within a fraction of a second."};
constexpr std::string_view kSyllables[] = {"ba", "co", "di", "fe", "go", "ka", "li", "mo",
                                           "nu", "pe", "ra", "so", "ti", "ve", "wo", "zu"};
constexpr std::string_view kPriorities[] = {"optional", "standard", "important"};
constexpr std::string_view kLibraries[] = {"libbase2", "libwidget4", "libnote1", "libtable7", "libstream3"};

// Draws below n.
int64_t draw(Generator& generator, int64_t n) {
  return static_cast<int64_t>(generator.random64() % static_cast<uint64_t>(n));
}

template <class List>
auto one_of(Generator& generator, const List& list) {
  return list[draw(generator, static_cast<int64_t>(std::size(list)))];
}

// Each draw is a separate statement, because the order in which a call's arguments are evaluated is unspecified.
std::string record(Generator& g, const Subject& subject) {
  std::string name;
  for (int i = 0; i < 4; ++i) name += one_of(g, kSyllables);
  const std::string_view kind = one_of(g, subject.kinds);
  const std::string_view purpose = one_of(g, subject.purposes);
  const std::string_view quality = one_of(g, kQualities);
  std::string out = fmt::format("Package: {}\n", name);
  const auto field = [&](std::string_view key, std::string_view value) { out += fmt::format("{}: {}\n", key, value); };
  const auto number = [&](int64_t least, int64_t count) { return std::to_string(least + draw(g, count)); };
  std::string value = number(0, 9);
  value += "." + number(0, 30);
  value += "-" + number(1, 5);
  field("Version", value);
  field("Installed-Size", number(20, 9000));
  field("Architecture", draw(g, 3) == 0 ? "all" : "amd64");
  value = one_of(g, kLibraries);
  value += " (>= " + number(1, 4) + ")";
  value += fmt::format(", {}", one_of(g, kLibraries));
  field("Depends", value);
  if (draw(g, 2) == 0) field("Suggests", name + "-doc");
  field("Homepage", "example.org/" + name);
  field("Section", subject.section);
  field("Priority", one_of(g, kPriorities));
  field("Description", fmt::format("{} {} for {}", quality, kind, purpose));
  out += fmt::format(" {} is a {} {} for {}.\n", name, quality, kind, purpose);
  const auto sentences = [&](int64_t count, const auto& list) {
    for (int64_t i = 0; i < count; ++i) out += fmt::format(" {}\n", one_of(g, list));
  };
  sentences(2 + draw(g, 4), kCommon);
  out += " .\n";
  sentences(2, subject.details);
  sentences(draw(g, 3), kCommon);
  return out + "\n";
}

}  // namespace

std::string made_packages() {
  Generator generator(0);
  std::string all;
  for (int i = 0; i < kRecords; ++i)
    all += record(generator, kSubjects[static_cast<std::size_t>(i) % std::size(kSubjects)]);
  return all;
}

}  // namespace tapegrad::tasks
