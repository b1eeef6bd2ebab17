// Reads the arguments, by CLI11, and calls the verb.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <tapegrad/autograd/kernels/family.h>
#include <tapegrad/autograd/parallel.h>
#include <tapegrad/tasks/command.h>
#include <tapegrad/tasks/data/tokenizer.h>
#include <tapegrad/tasks/drawing/tables.h>
#include <tapegrad/tasks/gpt/command.h>
#include <tapegrad/tasks/gradcheck/gradcheck.h>
#include <tapegrad/tasks/seq2seq/tasks.h>
#include <tapegrad/tasks/seq2seq/verbs.h>
#include <tapegrad/tasks/settings/command_line.h>
#include <tapegrad/tasks/settings/option_types.h>
#include <tapegrad/tasks/show/show.h>
#include <tapegrad/tasks/tokenize.h>
#include <tapegrad/tasks/train/files.h>
#include <tapegrad/version.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <sstream>

namespace tapegrad::tasks {
namespace {

constexpr std::string_view kVerbs[] = {"train",    "test",     "explain",   "attention", "show",
                                       "generate", "tokenize", "gradcheck", "info"};

// What arguments are read into, and what shall be done with it. Requests of verbs that have tasks live in `run`'s
// closures, one for every task.
struct Arguments {
  TokenizeRequest tokenize;
  GradcheckRequest gradcheck;
  InfoRequest info;
  int threads = 0;
  std::function<int()> run;
};

bool among(std::string_view word, std::span<const std::string_view> list) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

// A verb or task that does not exist is told with those that do, before anything else is read.
void check_words(int argc, const char* const* argv) {
  const std::string_view verb = argc > 1 ? argv[1] : "-";
  if (verb.starts_with('-')) return;
  if (!among(verb, kVerbs))
    bad_request("tapegrad", fmt::format("there is no verb \"{}\": {}", verb, fmt::join(kVerbs, ", ")));
  const std::string_view task = argc > 2 ? argv[2] : "-";
  if (task.starts_with('-') || verb == "tokenize" || verb == "gradcheck" || verb == "info") return;
  std::vector<std::string_view> names;
  if (verb == "show") {
    for (const Topic& topic : topics()) names.push_back(topic.name);
  } else {
    for (const TaskInfo* task : all_tasks()) {
      if (verb != "generate") names.push_back(task->name);
    }
    if (verb == "train" || verb == "test" || verb == "generate") names.push_back("gpt");
  }
  if (!among(task, names))
    bad_request(
        fmt::format("tapegrad {}", verb),
        fmt::format("there is no {} \"{}\": {}", verb == "show" ? "topic" : "task", task, fmt::join(names, ", ")));
}

void add_threads(CLI::App* app, Arguments& a) {
  app->add_option_function<int>(
         "--threads",
         [&a](const int& n) {
           if (n < 1 || n > 1024)
             bad_request("--threads", fmt::format("{} is out of range: from 1 to 1024 is possible", n));
           a.threads = n;
         },
         "threads to compute with (all results are the same for any number)")
      ->type_name("N");
}

// A verb whose tasks are subcommands: set(app, task) adds the options of one.
template <class F>
CLI::App* add_tasks(CLI::App& top, const char* verb, const char* help, const F& set) {
  CLI::App* app = top.add_subcommand(verb, help);
  app->require_subcommand(1);
  for (const TaskInfo* task : all_tasks()) set(app->add_subcommand(std::string(task->name), help), *task);
  return app;
}

// GPT under a verb.
void add_gpt(CLI::App* verb, const char* help, void (*set)(CLI::App*, std::function<int()>&), Arguments& a) {
  CLI::App* app = verb->add_subcommand("gpt", help);
  set(app, a.run);
  add_threads(app, a);
}

void add_train(CLI::App* app, const TaskInfo& task, Arguments& a) {
  const auto r = std::make_shared<TrainRequest>(task);
  r->out = default_folder(task.name).string();
  add_options(app, fields_of(r->options));
  add_options(app, fields_of<RunRequest>(*r));
  add_threads(app, a);
  app->callback([app, r, &task, &a] {
    a.run = [app, r, &task] {
      r->given = given_on(app, fields_of(r->options));
      task.adapt(r->options, r->given);
      return train(*r);
    };
  });
}

// What every verb about examples offers: their length, and one in words. `run` is called with the request.
template <class Request, class F>
void add_example(CLI::App* app, const std::shared_ptr<Request>& r, const TaskInfo& task, Arguments& a, F run) {
  constexpr bool kExplain = std::is_same_v<Request, ExplainRequest>;
  add_options(app, example_fields(r->options), kExplain ? "the tutorial's" : "the run's");
  if (task.takes_expressions)
    app->add_option("--expression", r->expression, "this example")
        ->type_name("TEXT")
        ->check([](const std::string& text) { return std::string(text.empty() ? "nothing is written there" : ""); });
  app->callback([app, r, run, &a] {
    a.run = [app, r, run] {
      r->given = given_on(app, example_fields(r->options));
      return run(*r);
    };
  });
}

void add_model(CLI::App* app, std::string& model) {
  app->add_option("--model", model,
                  fmt::format("{} of a run, or its folder (default: the last run's)", train::kModelFile))
      ->type_name("FILE_OR_DIR");
}

void add_test(CLI::App* app, const TaskInfo& task, Arguments& a) {
  const auto r = std::make_shared<TestRequest>(task);
  add_model(app, r->model);
  app->add_option("--count", r->count, "fresh examples to test with")->capture_default_str()->type_name("N");
  app->add_option("--seed", r->seed, "of the fresh examples (default: the run's seed + 1)")->type_name("SEED");
  app->add_option("--target", r->target, "exit with 1 when a smaller share is right as a whole (default: the task's)")
      ->type_name("X");
  app->add_option("--beams", r->beams, "width of the beam search that decodes (1: greedy)")
      ->capture_default_str()
      ->type_name("N");
  app->add_flag("--json", r->json, "print one JSON object");
  if (task.draws)
    app->add_option("--draw", r->draw, "draw the answer to --expression into this file, .svg or .html")
        ->type_name("FILE");
  add_example(app, r, task, a, test);
  add_threads(app, a);
}

void add_explain(CLI::App* app, const TaskInfo& task, Arguments& a) {
  const auto r = std::make_shared<ExplainRequest>(task);
  app->add_option("--seed", r->seed, "draw another example than the tutorial's")->type_name("SEED");
  add_example(app, r, task, a, explain);
}

void add_attention(CLI::App* app, const TaskInfo& task, Arguments& a) {
  const auto r = std::make_shared<AttentionRequest>(task);
  add_model(app, r->model);
  app->add_option("--out", r->out, "folder for attention.svg and attention.html (default: that of the model)")
      ->type_name("DIR");
  app->add_option("--seed", r->seed, "of the example that is shown")->capture_default_str()->type_name("SEED");
  app->add_flag("--quiet", r->quiet, "write the files, and draw nothing in the terminal");
  add_example(app, r, task, a, attention);
  add_threads(app, a);
}

void add_show(CLI::App& top, Arguments& a) {
  CLI::App* verb = top.add_subcommand("show", "print the tutorials' tables, and draw what they plot");
  verb->require_subcommand(1);
  for (const Topic& topic : topics()) {
    CLI::App* app = verb->add_subcommand(std::string(topic.name), std::string(topic.help));
    const auto r = std::make_shared<ShowRequest>();
    r->topic = topic.name;
    const auto option = [&](const char* name, auto& value, std::string_view help, const char* type) {
      if (!help.empty()) app->add_option(name, value, std::string(help))->type_name(type);
    };
    option("--length", r->length, topic.length, "N");
    option("--dim", r->dim, topic.dim, "N");
    option("--seed", r->seed, topic.seed, "SEED");
    option("--example", r->example, topic.example, "NAME");
    app->add_option("--out", r->out, "folder for the pictures")->capture_default_str()->type_name("DIR");
    app->add_flag("--quiet", r->quiet, "write the pictures, and print no tables");
    app->callback([r, &a] { a.run = [r] { return show(*r); }; });
  }
}

void add_tokenize(CLI::App* app, Arguments& a) {
  TokenizeRequest& r = a.tokenize;
  app->add_option("--tokenizer", r.tokenizer,
                  "folder with tokenizer.json, or vocab.json and merges.txt, or encoder.json and vocab.bpe")
      ->type_name("DIR");
  app->add_flag("--decode", r.decode, "read ids, print their text");
  app->add_option("--text", r.text, "read this file (default: standard input)")->type_name("FILE");
  app->add_option("--save", r.save,
                  "write the ids of --text into a token file, which is read piece by piece when it is used")
      ->type_name("FILE");
  app->add_option("--train", r.train, "make a tokenizer of the text: bpe (byte pairs) or char (characters)")
      ->type_name("KIND")
      ->group("New tokenizer");
  app->add_option("--vocab-size", r.vocab_size, "tokens of a bpe one (default: 1000)")
      ->type_name("N")
      ->group("New tokenizer");
  app->add_option("--out", r.out, "folder for its tokenizer.json")->type_name("DIR")->group("New tokenizer");
  app->callback([&a] { a.run = [&a] { return tokenize(a.tokenize); }; });
}

void add_all(CLI::App& top, Arguments& a) {
  top.set_version_flag("--version", fmt::format("tapegrad {}", kVersion));
  top.require_subcommand(1);
  CLI::App* training = add_tasks(top, "train", "train a model, with checkpoints, metrics and a report",
                                 [&](CLI::App* app, const TaskInfo& task) { add_train(app, task, a); });
  add_gpt(training, "train a GPT on a text", add_gpt_train, a);
  CLI::App* testing = add_tasks(top, "test", "test a trained model on fresh examples",
                                [&](CLI::App* app, const TaskInfo& task) { add_test(app, task, a); });
  add_gpt(testing, "the loss of a GPT on a text", add_gpt_test, a);
  CLI::App* generating = top.add_subcommand("generate", "continue a text");
  generating->require_subcommand(1);
  add_gpt(generating, "continue a text with a GPT", add_gpt_generate, a);
  add_tasks(top, "explain", "explain data, masks and loss of a task",
            [&](CLI::App* app, const TaskInfo& task) { add_explain(app, task, a); });
  add_tasks(top, "attention", "show what the heads of a trained model look at",
            [&](CLI::App* app, const TaskInfo& task) { add_attention(app, task, a); });
  add_show(top, a);
  add_tokenize(top.add_subcommand("tokenize", "text to token ids and back"), a);
  CLI::App* check = top.add_subcommand("gradcheck", "check every gradient against differences of values");
  auto* op = check->add_option("--op", a.gradcheck.op, "only this operation")->type_name("NAME");
  check->add_option("--module", a.gradcheck.module, "only this module")->type_name("NAME")->excludes(op);
  add_threads(check, a);
  check->callback([&a] { a.run = [&a] { return gradcheck(a.gradcheck); }; });
  CLI::App* about = top.add_subcommand("info", "processor, kernels in use, and how fast they are here");
  about->add_flag("--json", a.info.json, "print one JSON object");
  add_threads(about, a);
  about->callback([&a] { a.run = [&a] { return info(a.info); }; });
}

// CLI11's texts may have several lines; ours have one.
std::string one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  while (!text.empty() && text.back() == ' ') text.pop_back();
  return text;
}

// "train copy", as far as the arguments name verbs.
std::string words_of(const CLI::App& top) {
  std::string words = "tapegrad";
  for (const CLI::App* app = &top; !app->get_subcommands().empty();) {
    app = app->get_subcommands().front();
    words.append(" ").append(app->get_name());
  }
  return words;
}

// An option that the task asked for does not have, but others of the same verb: told with its owners.
void refuse_options_of_others(const CLI::App& top, int argc, const char* const* argv) {
  if (top.get_subcommands().empty() || top.get_subcommands().front()->get_subcommands().empty()) return;
  const CLI::App* verb = top.get_subcommands().front();
  const CLI::App* task = verb->get_subcommands().front();
  for (int i = 3; i < argc; ++i) {
    const std::string word(argv[i]), option = word.substr(0, word.find('='));
    if (!option.starts_with("--") || option.size() < 3 || task->get_option_no_throw(option) != nullptr) continue;
    const auto has = [&](const CLI::App* other) { return other->get_option_no_throw(option) != nullptr; };
    std::vector<std::string> owners;
    for (const CLI::App* other : verb->get_subcommands([&](const CLI::App* app) { return has(app); }))
      owners.push_back(other->get_name());
    if (owners.empty()) continue;
    const std::string_view kind = verb->get_name() == "show" ? "topic" : "task";
    std::string named = owners.back();
    if (owners.size() > 1) {
      owners.pop_back();
      named = fmt::format("{} and {}", fmt::join(owners, ", "), named);
    }
    bad_request(option,
                fmt::format("is an option of the {}{} {}, not of {} ({} --help tells what there is)", kind,
                            named.find(' ') == std::string::npos ? "" : "s", named, task->get_name(), words_of(top)));
  }
}

int run_or_throw(int argc, const char* const* argv) {
  check_words(argc, argv);
  Arguments arguments;
  CLI::App top("Reverse-mode automatic differentiation on a tape, and the Transformers made of it", "tapegrad");
  add_all(top, arguments);
  check_values(top);
  try {
    top.parse(argc, argv);
  } catch (const CLI::Success& e) {
    std::ostringstream told;
    const int code = top.exit(e, told, told);
    fmt::print("{}", drawing::wrapped(told.str()));
    return code;
  } catch (const CLI::ParseError& e) {
    refuse_options_of_others(top, argc, argv);
    const std::string words = words_of(top);
    bad_request(words, fmt::format("{} ({} --help tells what there is)", one_line(e.what()), words));
  }
  if (std::getenv("TAPEGRAD_KERNELS") != nullptr) as_bad_request("kernels", [] { return kernel_family(); });
  if (arguments.threads > 0) set_num_threads(arguments.threads);
  const int code = arguments.run();
  if (std::fflush(stdout) != 0) fail("output", fmt::format("cannot write: {}", std::strerror(errno)));
  return code;
}

}  // namespace

int run_command(int argc, const char* const* argv) {
  std::signal(SIGXFSZ, SIG_IGN);  // a file that reaches the limit is an Error, not the end of the process
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
  } catch (const Error& e) {
    message = e.what();
  } catch (const std::bad_alloc&) {
    message = "[memory] the system has no more memory";
  } catch (const std::exception& e) {
    message = fmt::format("[tapegrad] {}", e.what());
  }
  std::fflush(stdout);
  fmt::print(stderr, "{}\n", one_line(message));
  return code;
}

}  // namespace tapegrad::tasks
