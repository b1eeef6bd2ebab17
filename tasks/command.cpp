// The verbs, the words and options of the command line, read by CLI11, and the exit code.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <tapegrad/autograd/internal/machine.h>
#include <tapegrad/autograd/parallel.h>
#include <tapegrad/distributed/world.h>
#include <tapegrad/tasks/command.h>
#include <tapegrad/tasks/compare/positions.h>
#include <tapegrad/tasks/completion.h>
#include <tapegrad/tasks/data/tokenizer.h>
#include <tapegrad/tasks/drawing/tables.h>
#include <tapegrad/tasks/exercises/command.h>
#include <tapegrad/tasks/gpt/command.h>
#include <tapegrad/tasks/gradcheck/gradcheck.h>
#include <tapegrad/tasks/help_texts.h>
#include <tapegrad/tasks/info.h>
#include <tapegrad/tasks/manual.h>
#include <tapegrad/tasks/plot/plot.h>
#include <tapegrad/tasks/run/command.h>
#include <tapegrad/tasks/settings/bad_request.h>
#include <tapegrad/tasks/settings/command_line.h>
#include <tapegrad/tasks/settings/nearest.h>
#include <tapegrad/tasks/settings/output.h>
#include <tapegrad/tasks/settings/status.h>
#include <tapegrad/tasks/show/show.h>
#include <tapegrad/tasks/step/step.h>
#include <tapegrad/tasks/text/compare.h>
#include <tapegrad/tasks/text/corpus/data_verb.h>
#include <tapegrad/tasks/tokenize.h>
#include <tapegrad/tasks/tutorial/find.h>
#include <tapegrad/tasks/tutorial/tutorial.h>
#include <tapegrad/version.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <sstream>
#include <thread>

namespace tapegrad::tasks {
namespace {

// What parsing found: each verb's callback stores what to run.
struct Parsed {
  std::optional<int64_t> threads;
  Run run;

  void list(Fields& f) {  // of all verbs that compute
    f.add({.name = "threads",
           .help = "number of threads; results do not depend on it",
           .limits = {.least = 1, .most = 1024},
           .otherwise = "all"},
          threads);
  }
};

// --- the verbs ---

void add_threads(CLI::App* app, Parsed& parsed) { add_options(app, fields_of(parsed)); }

// A verb, or a part of one, whose request lists its options.
template <class Request, class Act>
CLI::App* add_request(CLI::App* app, Parsed& parsed, Act act) {
  add_verb(app, parsed.run, std::make_shared<Request>(), act);
  return app;
}

// The kinds of runs that a verb has.
void add_kinds(CLI::App* verb, Parsed& parsed) {
  const std::string word = verb->get_name();
  for (const Kind& kind : kinds()) {
    const auto own = std::find_if(kind.verbs.begin(), kind.verbs.end(), [&](const auto& v) { return v.first == word; });
    const bool trains = word == "train", draws = word == "graph";
    if (own == kind.verbs.end() && !trains && !draws) continue;
    CLI::App* app = verb->add_subcommand(std::string(kind.name), std::string(kind.help));
    trains ? add_train(app, kind, parsed.run) : draws ? add_graph(app, kind, parsed.run) : own->second(app, parsed.run);
    add_threads(app, parsed);
  }
}

void add_explanations(CLI::App* verb, Parsed& parsed) {
  add_kinds(verb, parsed);
  CLI::App* app = verb->add_subcommand("step", "every number of one training step of your own model, on a page");
  add_threads(add_request<step::Request>(app, parsed, step::explain_step), parsed);
}

void add_topics(CLI::App* verb, Parsed& parsed) {
  for (const Topic& topic : topics()) {
    CLI::App* app = verb->add_subcommand(std::string(topic.name), std::string(topic.help));
    const auto r = std::make_shared<ShowRequest>();
    r->topic = topic.name;
    add_verb(app, parsed.run, r, show);
    if (topic.threads) add_threads(app, parsed);
  }
}

void add_data(CLI::App* verb, Parsed& parsed) {
  add_request<DebianRequest>(
      verb->add_subcommand("debian", "the package descriptions in Debian's archive, downloaded by apt-get"), parsed,
      data_debian);
  add_request<DataRequest>(verb->add_subcommand("sample", "200 synthetic records in the same format, to try the tasks"),
                           parsed, data_sample);
}

void add_compare(CLI::App* verb, Parsed& parsed) {
  CLI::App* positions =
      verb->add_subcommand("positions", "compare positional encodings (tutorial 003, 8.3.2, deep dive 7)");
  add_threads(add_request<ComparePositionsRequest>(positions, parsed, compare_positions), parsed);
  CLI::App* text =
      verb->add_subcommand("text", "compare text encoders, summarisers with and without copying, and baselines");
  add_threads(add_request<CompareTextRequest>(text, parsed, compare_text), parsed);
}

void add_info(CLI::App* app, Parsed& parsed) {
  add_threads(add_request<InfoRequest>(app, parsed, info), parsed);
  app->footer(
      "The environment variable TAPEGRAD_KERNELS chooses the kernels: avx512, avx2\n"
      "or portable (default: the widest vectors that the processor has); neon is the\n"
      "only one on arm64.\n"
      "TAPEGRAD_PRODUCTS chooses what computes matrix products: blis (all of them),\n"
      "own (never BLIS) or auto (default: the faster one for each shape).");
}

void add_completion(CLI::App* verb, Parsed& parsed) {
  const CLI::App* top = verb->get_parent();
  for (const std::string_view shell : completion_shells()) {
    CLI::App* app = verb->add_subcommand(std::string(shell), fmt::format("the script for {}", shell));
    on_parsed(app, [top, shell, &parsed] {
      parsed.run = [top, shell] {
        print_now(completion_script(*top, shell));
        return 0;
      };
    });
  }
}

void add_manual(CLI::App* app, Parsed& parsed) {
  on_parsed(app, [top = app->get_parent(), &parsed] {
    parsed.run = [top] {
      print_now(man_page(*top));
      return 0;
    };
  });
}

// One verb of the command: the one list of them.
struct Verb {
  const char *name, *summary;
  void (*add)(CLI::App*, Parsed&);
  bool distributed = false;  // the processes that a launcher starts work together; otherwise each works for itself
};
constexpr Verb kVerbs[] = {
    {"train", "train a model; writes checkpoints and a report", add_kinds, true},
    {"test", "test a trained model on new examples", add_kinds},
    {"data", "make text datasets", add_data},
    {"generate", "continue a text with a trained model", add_kinds},
    {"chat", "chat with a trained model at the terminal",
     [](CLI::App* app, Parsed& parsed) {
       add_chat(app, parsed.run);
       add_threads(app, parsed);
     }},
    {"explain", "explain a task's data, masks and loss, or every number of a training step", add_explanations},
    {"attention", "draw a trained model's attention weights", add_kinds},
    {"graph", "write the operations of a training step as a graph, for Graphviz", add_kinds},
    {"show", "print the tutorials' tables, draw their figures", add_topics},
    {"tutorial", "read the tutorials section by section, in Korean or English, with numbers computed now",
     [](CLI::App* app, Parsed& parsed) {
       add_threads(add_request<tutorial::Request>(app, parsed, tutorial::run), parsed);
     }},
    {"plot", "draw the curves of several runs over one another",
     [](CLI::App* app, Parsed& parsed) { add_request<PlotRequest>(app, parsed, plot); }},
    {"exercise", "programming exercises about the tutorials, checked number by number",
     [](CLI::App* app, Parsed& parsed) { add_request<exercises::Request>(app, parsed, exercises::run); }},
    {"compare", "train variants of a model, and tabulate accuracy, time and memory", add_compare},
    {"tokenize", "tokenize text, or train a new tokenizer",
     [](CLI::App* app, Parsed& parsed) { add_threads(add_request<TokenizeRequest>(app, parsed, tokenize), parsed); }},
    {"gradcheck", "check every gradient against finite differences",
     [](CLI::App* app, Parsed& parsed) { add_threads(add_request<GradcheckRequest>(app, parsed, gradcheck), parsed); }},
    {"info", "show processor, kernels and measured speed", add_info},
    {"completion", "print a script that completes verbs, options and values in a shell", add_completion},
    {"manual", "print this help as a man page: all verbs, tasks and options", add_manual},
    {"help", "show the help of a verb or task", [](CLI::App*, Parsed&) {}},
};

// What the subcommands of `app` are called.
std::string_view kind_of_parts(const CLI::App& app) {
  if (app.get_parent() == nullptr) return "verb";
  if (app.get_name() == "show" || app.get_name() == "compare") return "topic";
  if (app.get_name() == "completion") return "shell";
  return app.get_name() == "data" ? "source" : "task";
}

void add_all(CLI::App& top, Parsed& parsed) {
  set_help_style(top, "verb");
  top.set_version_flag("--version", fmt::format("tapegrad {}", kVersion), "print the version and exit");
  top.set_help_flag("-h,--help", "print this help and exit");
  for (const Verb& verb : kVerbs) {
    CLI::App* app = top.add_subcommand(verb.name, verb.summary)->group("Verbs");
    set_help_style(*app, kind_of_parts(*app));
    verb.add(app, parsed);
    const auto parts = app->get_subcommands({});
    const std::string_view kind = kind_of_parts(*app);
    for (CLI::App* part : parts)
      part->group(fmt::format("{}{}s", static_cast<char>(std::toupper(kind[0])), kind.substr(1)));
    app->require_subcommand(parts.empty() ? 0 : 1);
  }
  top.footer(
      "'tapegrad help train copy' shows the options of a verb and a task.\n"
      "--lang ko and a Korean locale choose Korean help.\n"
      "Exit status: 0 success; 1 the run failed or missed its target; 2 invalid\n"
      "arguments.");
}

// --- words that are wrong ---

std::vector<const CLI::App*> parts_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

std::vector<std::string> names_of(const std::vector<const CLI::App*>& apps) {
  std::vector<std::string> names;
  for (const CLI::App* app : apps) names.push_back(app->get_name());
  return names;
}

// "tapegrad train copy".
std::string words_of(const CLI::App& app) {
  return app.get_parent() == nullptr ? app.get_name() : words_of(*app.get_parent()) + " " + app.get_name();
}

[[noreturn]] void wrong_request(const CLI::App& app, std::string_view message) {
  bad_request(words_of(app), fmt::format("{} (see {} --help)", message, words_of(app)));
}

// The app that the leading words name. BadRequest for a verb, task or topic that does not exist.
const CLI::App& named_app(const CLI::App& top, std::span<const std::string> words) {
  const CLI::App* app = &top;
  for (const std::string& word : words) {
    const std::vector<const CLI::App*> parts = parts_of(*app);
    if (!parts.empty() && word == "--") {
      bad_request(words_of(*app),
                  fmt::format("expected a {}, got \"--\" (see {} --help)", kind_of_parts(*app), words_of(*app)));
    }
    if (parts.empty() || word.starts_with('-')) break;
    const auto part = std::find_if(parts.begin(), parts.end(), [&](const auto* p) { return p->get_name() == word; });
    if (part == parts.end()) bad_request(words_of(*app), unknown(kind_of_parts(*app), word, names_of(parts)));
    app = *part;
  }
  return *app;
}

// "unknown option --sed (did you mean --seed?)", or whose option it is among the tasks of the same verb.
std::string unknown_option(const CLI::App& app, const std::string& option) {
  const auto has = [&](const CLI::App* other) { return other->get_option_no_throw(option) != nullptr; };
  if (has(&app)) return fmt::format("{} comes after \"--\", which ends the options", option);
  if (parts_of(app).empty() && app.get_parent()->get_parent() != nullptr) {
    const std::vector<std::string> owners = names_of(app.get_parent()->get_subcommands(has));
    if (!owners.empty()) {
      return fmt::format("{} is an option of the {}{} {}, not of {}", option, kind_of_parts(*app.get_parent()),
                         owners.size() > 1 ? "s" : "", listed(owners, "and"), app.get_name());
    }
  }
  std::vector<std::string> known;
  for (const CLI::Option* one : app.get_options()) known.push_back(one->get_name());
  return fmt::format("unknown option {}{}", option, did_you_mean(option, known));
}

// The arguments that CLI11 could not place, in their order.
std::string unexpected(const CLI::App& top, const CLI::App& app) {
  std::vector<std::string> faults;
  bool may_be_value = false;  // of the unknown option before it
  for (const std::string& word : top.remaining(true)) {
    const bool option = word.size() > 1 && word.starts_with('-');
    if (option) faults.push_back(unknown_option(app, word.substr(0, word.find('='))));
    if (!option && !may_be_value) faults.push_back(fmt::format("unexpected argument \"{}\"", word));
    may_be_value = option && word.find('=') == std::string::npos;
  }
  return fmt::format("{}", fmt::join(faults, "; "));
}

// What CLI11 says of an option without a value, or with several: "--seed: 1 required SEED missing", "--seed: At Most 1
// required but received 2".
[[noreturn]] void wrong_values(std::string_view text) {
  const std::string_view option = text.substr(0, text.find(':'));
  if (text.find("received") == std::string_view::npos) bad_request(option, "expected a value, got none");
  bad_request(option, fmt::format("expected one value, got {} (the option was given more than once)",
                                  text.substr(text.rfind(' ') + 1)));
}

// CLI11's texts may have several lines; ours have one.
std::string one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  while (!text.empty() && text.back() == ' ') text.pop_back();
  return text;
}

// --- from arguments to exit code ---

// Parses the arguments. Returns the exit code if they request help or the version, which it prints.
std::optional<int> parse(CLI::App& top, std::vector<std::string> words) {
  const bool of_itself = words.size() > 1 && words[1].starts_with('-') && words[1] != "--";  // help --help
  if (!words.empty() && words.front() == "help" && !of_itself) {  // help train copy = train copy --help
    words.erase(words.begin());
    words.emplace_back("--help");
  }
  if (words.size() > 1 && words[0] == "show" && tutorial::names_page(words[1])) words[0] = "tutorial";  // show 8.2.5
  if (words.empty()) words.emplace_back("--help");
  const CLI::App& app = named_app(top, words);
  try {
    std::reverse(words.begin(), words.end());
    top.parse(std::move(words));
    return {};
  } catch (const CLI::Success& e) {
    std::ostringstream text;
    const int code = top.exit(e, text, text);
    std::string shown = drawing::wrapped(text.str());
    while (shown.ends_with("\n\n")) shown.pop_back();
    print_now(shown);
    return code;
  } catch (const CLI::ExtrasError&) {
    wrong_request(app, unexpected(top, app));
  } catch (const CLI::RequiredError&) {
    wrong_request(app, fmt::format("expected a {}: {}", kind_of_parts(app), fmt::join(names_of(parts_of(app)), ", ")));
  } catch (const CLI::ArgumentMismatch& e) {
    wrong_values(e.what());
  } catch (const CLI::ParseError& e) {
    wrong_request(app, one_line(e.what()));
  }
}

// Takes --lang and its value out of the words, before a verb or after it, and makes it the language of this
// process. The verbs of texts in two languages have an option of their own.
void take_language(std::vector<std::string>& words) {
  const auto end = std::find(words.begin(), words.end(), "--");
  const auto verb = std::find_if(words.begin(), end, [](const std::string& w) { return !w.starts_with('-'); });
  const auto option =
      std::find_if(words.begin(), end, [](const std::string& w) { return w == "--lang" || w.starts_with("--lang="); });
  if (option == end) return;
  const bool has_own = verb < option && (*verb == "tutorial" || *verb == "exercise");
  if (has_own) return;
  const bool joined = *option != "--lang";
  require(joined || std::next(option) != end, "--lang", "expected a value, got none");
  const std::string code = joined ? option->substr(option->find('=') + 1) : *std::next(option);
  tutorial::set_language(tutorial::language_of(code));
  words.erase(option, std::next(option, joined ? 1 : 2));
}

constexpr std::string_view kAbout = "Automatic differentiation on a tape, and Transformers built with it";

int run_or_throw(int argc, const char* const* argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  take_language(words);
  Parsed parsed;
  CLI::App top(std::string(kAbout), "tapegrad");
  add_all(top, parsed);
  if (const auto code = parse(top, words)) {
    check_output();
    return *code;
  }
  if (std::getenv("TAPEGRAD_KERNELS") != nullptr) as_bad_request("kernels", [] { return kernels_in_use(); });
  if (std::getenv("TAPEGRAD_PRODUCTS") != nullptr) as_bad_request("products", [] { return products_in_use(); });
  check_limits(fields_of(parsed));
  if (parsed.threads) set_num_threads(static_cast<int>(*parsed.threads));
  const Status status(words);
  const int code = parsed.run();
  check_output();
  return code;
}

// Whether the first word is a verb whose processes work together.
bool is_distributed(int argc, const char* const* argv) {
  const std::string_view word = argc > 1 ? argv[1] : "";
  return std::any_of(std::begin(kVerbs), std::end(kVerbs),
                     [&](const Verb& verb) { return verb.distributed && verb.name == word; });
}

// Of several processes, the first one prints. Another one says what is wrong with it unless the first one fails, too:
// then the launcher ends this process while it waits.
void silence() {
  if (std::freopen("/dev/null", "w", stdout) == nullptr) std::fclose(stdout);
}

void report_error(const std::string& line, int rank) {
  if (rank > 0) std::this_thread::sleep_for(std::chrono::seconds(2));
  const std::string text = rank > 0 ? fmt::format("rank {}: {}\n", rank, line) : line + "\n";
  std::fputs(text.c_str(), stderr);  // where that fails, the exit code is all that can be said
}

}  // namespace

std::vector<std::string> help_texts() {
  Parsed parsed;
  CLI::App top(std::string(kAbout), "tapegrad");
  add_all(top, parsed);
  std::vector<std::string> texts = texts_of_help(top);
  for (const char* const word : {"Usage", "Arguments", "options", "default", "verb", "task", "topic", "source"})
    texts.emplace_back(word);
  return texts;
}

int run_command(int argc, const char* const* argv) {
  // Writing a file beyond the size limit, or to a pipe that nobody reads, becomes an Error instead of a signal: a
  // training run first gets all of its files.
  for (const int number : {SIGXFSZ, SIGPIPE}) std::signal(number, SIG_IGN);
  hold_standard_streams();
  const bool distributed = is_distributed(argc, argv);
  const int rank = distributed ? distributed::World::launched_rank() : 0;
  if (rank > 0) silence();
  int code = 1;
  std::string message;
  try {
    return run_or_throw(argc, argv);
  } catch (const BadRequest& e) {
    code = 2;
    message = e.what();
  } catch (const data::EncodeError& e) {
    code = 2;
    message = e.what();
  } catch (const OutputError& e) {
    // A user who quits a pager knows why the output ends; one who trains learns why the run failed.
    if (!distributed && output_has_no_reader()) return code;
    message = e.what();
  } catch (const Error& e) {
    message = e.what();
  } catch (const std::bad_alloc&) {
    message = "[memory] the system has no more memory";
  } catch (const std::exception& e) {
    message = error_text("tapegrad", e.what());
  }
  std::fflush(stdout);
  report_error(one_line(message), rank);
  return code;
}

}  // namespace tapegrad::tasks
