// The words and options of the command line, read by CLI11, and the exit code.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <tapegrad/autograd/internal/machine.h>
#include <tapegrad/autograd/parallel.h>
#include <tapegrad/command/help_style.h>
#include <tapegrad/command/verbs.h>
#include <tapegrad/distributed/world.h>
#include <tapegrad/tasks/settings/bad_request.h>
#include <tapegrad/tasks/settings/nearest.h>
#include <tapegrad/tasks/settings/output.h>
#include <tapegrad/tasks/settings/verb_options.h>
#include <tapegrad/train/data/tokenizer.h>
#include <tapegrad/train/drawing/tables.h>
#include <tapegrad/version.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <sstream>
#include <thread>

namespace tapegrad::tasks {
namespace {

// What the subcommands of `app` are called.
std::string_view kind_of_parts(const CLI::App& app) {
  if (app.get_parent() == nullptr) return "verb";
  const Verb* const verb = verb_named(app.get_name());
  return verb == nullptr ? "task" : verb->parts;
}

void add_all(CLI::App& top, Parsed& parsed) {
  set_help_style(top, "verb");
  top.set_version_flag("--version", fmt::format("tapegrad {}", kVersion), "print the version and exit");
  top.set_help_flag("-h,--help", "print this help and exit");
  for (const Verb& verb : verbs()) {
    CLI::App* app = top.add_subcommand(verb.name, verb.summary)->group(std::string(verb.group));
    set_help_style(*app, kind_of_parts(*app), verb.examples());
    verb.add(app, parsed);
    const auto parts = app->get_subcommands({});
    const std::string_view kind = kind_of_parts(*app);
    for (CLI::App* part : parts)
      part->group(fmt::format("{}{}s", static_cast<char>(std::toupper(kind[0])), kind.substr(1)));
    app->require_subcommand(parts.empty() ? 0 : 1);
  }
  top.footer(
      "Begin with:\n  tapegrad train copy\n"
      "It trains a Transformer to copy tokens, which takes about a minute, and writes\n"
      "a report with the loss curve and attention maps.\n\n"
      "'tapegrad help train copy' shows the options of a verb and a task.\n"
      "--lang ko and a Korean locale choose Korean help.\n"
      "Exit status: 0 success; 1 the run failed or missed its target; 2 invalid\n"
      "arguments.");
}

// --- words that are wrong ---

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
  bad_request(words_of(app), "{} (see {} --help)", message, words_of(app));
}

// The app that the leading words name. BadRequest for a verb, task or topic that does not exist.
const CLI::App& named_app(const CLI::App& top, std::span<const std::string> words) {
  const CLI::App* app = &top;
  for (const std::string& word : words) {
    const std::vector<const CLI::App*> parts = parts_of(*app);
    if (!parts.empty() && word == "--") {
      bad_request(words_of(*app), "expected a {}, got \"--\" (see {} --help)", kind_of_parts(*app), words_of(*app));
    }
    if (parts.empty() || word.starts_with('-')) break;
    const auto part = std::ranges::find_if(parts, [&](const auto* p) { return p->get_name() == word; });
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
  return fmt::format("unknown option {}{}", option, did_you_mean(nearest_options(option, known)));
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
  bad_request(option, "expected one value, got {} (the option was given more than once)",
              text.substr(text.rfind(' ') + 1));
}

// CLI11's texts may have several lines; ours have one.
std::string one_line(std::string text) {
  std::ranges::replace(text, '\n', ' ');
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
  resolve_verb(words);
  if (words.empty()) words.emplace_back("--help");
  const CLI::App& app = named_app(top, words);
  try {
    std::ranges::reverse(words);
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
  const auto end = std::ranges::find(words, "--");
  const auto verb = std::find_if(words.begin(), end, [](const std::string& w) { return !w.starts_with('-'); });
  const auto option =
      std::find_if(words.begin(), end, [](const std::string& w) { return w == "--lang" || w.starts_with("--lang="); });
  if (option == end) return;
  const Verb* const named = verb < option ? verb_named(*verb) : nullptr;
  if (named != nullptr && named->has(kOwnLanguage)) return;
  const bool joined = *option != "--lang";
  require(joined || std::next(option) != end, "--lang", "expected a value, got none");
  const std::string code = joined ? option->substr(option->find('=') + 1) : *std::next(option);
  set_language(language_named(code));
  words.erase(option, std::next(option, joined ? 1 : 2));
}

constexpr std::string_view kAbout = "Deep learning on CPUs in C++20, reproducible to the last bit";

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
  const Verb* const verb = words.empty() ? nullptr : verb_named(words.front());
  std::optional<Status> status;
  if (verb != nullptr && !verb->has(kNoStatus)) status.emplace(words);
  const int code = parsed.run();
  check_output();
  return code;
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
  for (const char* const word :
       {"Usage", "Arguments", "options", "default", "verb", "task", "topic", "source", "Examples"})
    texts.emplace_back(word);
  return texts;
}

int command_main(int argc, const char* const* argv) {
  // Writing a file beyond the size limit, or to a pipe that nobody reads, becomes an Error instead of a signal: a
  // training run first gets all of its files.
  for (const int number : {SIGXFSZ, SIGPIPE}) std::signal(number, SIG_IGN);
  hold_standard_streams();
  const Verb* const verb = argc > 1 ? verb_named(argv[1]) : nullptr;
  const bool distributed = verb != nullptr && verb->has(kDistributed);
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
