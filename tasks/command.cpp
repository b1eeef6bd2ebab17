// Reads the arguments, by CLI11, and calls the verb.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <tapegrad/autograd/parallel.h>
#include <tapegrad/tasks/command.h>
#include <tapegrad/tasks/gradcheck.h>
#include <tapegrad/tasks/verbs.h>
#include <tapegrad/version.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <functional>

namespace tapegrad::tasks {
namespace {

constexpr std::string_view kVerbs[] = {"train", "test", "explain", "attention", "gradcheck", "info"};

// Everything that arguments are read into, and what shall be done with it.
struct Arguments {
  TrainRequest train;
  TestRequest test;
  ExplainRequest explain;
  AttentionRequest attention;
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
    refuse("tapegrad", fmt::format("there is no verb \"{}\": {}", verb, fmt::join(kVerbs, ", ")));
  const std::string_view task = argc > 2 ? argv[2] : "-";
  if (task.starts_with('-') || verb == "gradcheck" || verb == "info") return;
  if (!among(task, kTasks))
    refuse(fmt::format("tapegrad {}", verb), fmt::format("there is no task \"{}\": {}", task, fmt::join(kTasks, ", ")));
}

void add_threads(CLI::App* app, Arguments& a) {
  app->add_option_function<int>(
         "--threads",
         [&a](const int& n) {
           if (n < 1 || n > 1024) refuse("--threads", fmt::format("{} is out of range: from 1 to 1024 is possible", n));
           a.threads = n;
         },
         "threads to compute with (all results are the same for any number)")
      ->type_name("N");
}

// For seeds, which are any number that 64 bits hold: CLI11 would take -1 for the largest.
std::string refuse_negative(const std::string& text) { return text.starts_with('-') ? "a seed is not negative" : ""; }

// A verb whose tasks are subcommands: set(app, task) adds the options of one.
template <class F>
void add_tasks(CLI::App& top, const char* verb, const char* help, const F& set) {
  CLI::App* app = top.add_subcommand(verb, help);
  app->require_subcommand(1);
  for (const std::string_view task : kTasks) set(app->add_subcommand(std::string(task), help), std::string(task));
}

void add_train(CLI::App* app, const std::string& task, Arguments& a) {
  a.train.options.task = task;
  a.train.options.visit([&](std::string_view name, auto& value, const char* help) {
    using T = std::remove_reference_t<decltype(value)>;
    CLI::Option* option = app->add_option("--" + std::string(name), value, help);
    if (std::is_same_v<T, std::uint64_t>) option->check(refuse_negative);
    option->capture_default_str()
        ->type_name(std::is_same_v<T, std::string> ? "NAME"
                    : std::is_same_v<T, double>    ? "X"
                                                   : "N")
        ->group(name == "lr" || name == "schedule" || name == "warmup" || name == "factor" ? "Learning rate"
                                                                                           : "Model and data");
  });
  app->add_option("--out", a.train.out, "folder for the run's files (default: out/" + task + ")")
      ->type_name("DIR")
      ->group("Run");
  app->add_flag("--resume", a.train.resume, "go on from the checkpoint in --out, with the settings of that run")
      ->group("Run");
  app->add_option("--checkpoint-every", a.train.checkpoint_every, "steps between two checkpoints")
      ->capture_default_str()
      ->type_name("N")
      ->group("Run");
  app->add_flag("--no-progress", a.train.no_progress, "print no bar and no epochs")->group("Run");
  add_threads(app, a);
  app->callback([app, &a] {
    a.run = [app, &a] {
      a.train.options.visit([&](std::string_view name, auto&, std::string_view) {
        if (app->count("--" + std::string(name)) > 0) a.train.given.emplace_back(name);
      });
      return train(a.train);
    };
  });
}

void add_test(CLI::App* app, const std::string& task, Arguments& a) {
  TestRequest& r = a.test;
  app->add_option("--model", r.model, "model.safetensors of a run (default: the last run's)")->type_name("FILE");
  app->add_option("--count", r.count, "fresh sequences to test with")->capture_default_str()->type_name("N");
  app->add_option("--seed", r.seed, "of the fresh sequences (default: the run's seed + 1)")
      ->type_name("N")
      ->check(refuse_negative);
  app->add_option("--seq-length", r.seq_length, "their length (default: the run's)")->type_name("N");
  app->add_option("--target", r.target, "exit with 1 when fewer sequences are right as a whole")
      ->capture_default_str()
      ->type_name("X");
  app->add_flag("--json", r.json, "print one JSON object");
  add_threads(app, a);
  app->callback([task, &a] { a.run = [task, &a] { return a.test.task = task, test(a.test); }; });
}

void add_explain(CLI::App* app, const std::string& task, Arguments& a) {
  app->add_option("--seq-length", a.explain.seq_length, "draw an example of this length (default: the tutorial's)")
      ->type_name("N");
  app->add_option("--seed", a.explain.seed, "of the example drawn")->type_name("N")->check(refuse_negative);
  app->callback([task, &a] { a.run = [task, &a] { return a.explain.task = task, explain(a.explain); }; });
}

void add_attention(CLI::App* app, const std::string& task, Arguments& a) {
  AttentionRequest& r = a.attention;
  app->add_option("--model", r.model, "model.safetensors of a run (default: the last run's)")->type_name("FILE");
  app->add_option("--out", r.out, "folder for attention.svg and attention.html (default: that of the model)")
      ->type_name("DIR");
  app->add_option("--seed", r.seed, "of the sequence that is shown")
      ->capture_default_str()
      ->type_name("N")
      ->check(refuse_negative);
  app->add_option("--seq-length", r.seq_length, "its length (default: the run's)")->type_name("N");
  app->add_flag("--quiet", r.quiet, "write the files, and draw nothing in the terminal");
  add_threads(app, a);
  app->callback([task, &a] { a.run = [task, &a] { return a.attention.task = task, attention(a.attention); }; });
}

void add_all(CLI::App& top, Arguments& a) {
  top.set_version_flag("--version", fmt::format("tapegrad {}", kVersion));
  top.require_subcommand(1);
  add_tasks(top, "train", "train a model, with checkpoints, metrics and a report",
            [&](CLI::App* app, const std::string& task) { add_train(app, task, a); });
  add_tasks(top, "test", "test a trained model on fresh examples",
            [&](CLI::App* app, const std::string& task) { add_test(app, task, a); });
  add_tasks(top, "explain", "explain data, masks and loss of a task",
            [&](CLI::App* app, const std::string& task) { add_explain(app, task, a); });
  add_tasks(top, "attention", "show what the heads of a trained model look at",
            [&](CLI::App* app, const std::string& task) { add_attention(app, task, a); });
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

int run_or_throw(int argc, const char* const* argv) {
  check_words(argc, argv);
  Arguments arguments;
  CLI::App top("Reverse-mode automatic differentiation on a tape, and the Transformers made of it", "tapegrad");
  add_all(top, arguments);
  try {
    top.parse(argc, argv);
  } catch (const CLI::Success& e) {
    return top.exit(e);
  } catch (const CLI::ParseError& e) {
    const std::string words = words_of(top);
    refuse(words, fmt::format("{} ({} --help tells what there is)", one_line(e.what()), words));
  }
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
