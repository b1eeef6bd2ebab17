// The verbs of the command.
#include <fmt/format.h>
#include <tapegrad/command/optional/optional.h>
#include <tapegrad/command/tools.h>
#include <tapegrad/command/verb/add.h>
#include <tapegrad/command/verbs.h>
#include <tapegrad/tasks/gpt/verbs.h>
#include <tapegrad/tasks/plot/plot.h>
#include <tapegrad/tasks/run/certify.h>
#include <tapegrad/tasks/run/command.h>
#include <tapegrad/tasks/seq2seq/task.h>
#include <tapegrad/tasks/settings/output.h>
#include <tapegrad/tasks/text/verbs.h>
#include <tapegrad/tutorials/attention/report.h>

#include <algorithm>

namespace tapegrad::tasks {
namespace {

// The kinds of runs that a verb has.
void add_kinds(CLI::App* verb, Parsed& parsed) {
  const std::string word = verb->get_name();
  for (const Kind& kind : kinds()) {
    const auto own = std::ranges::find_if(kind.verbs, [&](const auto& v) { return v.first == word; });
    const bool trains = word == "train", draws = word == "graph";
    if (own == kind.verbs.end() && !trains && !draws) continue;
    CLI::App* app = verb->add_subcommand(std::string(kind.name), std::string(kind.help));
    trains ? add_train(app, kind, parsed.run) : draws ? add_graph(app, kind, parsed.run) : own->second(app, parsed.run);
    add_threads(app, parsed);
  }
}

void add_attention(CLI::App* verb, Parsed& parsed) {
  for (const Kind& kind : kinds()) {
    if (kind.name == kGPTTask) add_part<GPTAttentionRequest>(verb, kind.name, kind.help, parsed, attention_gpt);
    for (const TaskInfo* task : all_tasks())
      if (kind.name == task->name) add_part<AttentionRequest>(verb, kind.name, kind.help, parsed, attention, *task);
  }
}

void add_data(CLI::App* verb, Parsed& parsed) {
  add_request<DataRequest>(verb->add_subcommand("sample", "200 synthetic records, to try the tasks"), parsed,
                           data_sample);
}

void add_info(CLI::App* app, Parsed& parsed) {
  add_threads(add_request<InfoRequest>(app, parsed, info), parsed);
  app->footer(
      "The environment variable TAPEGRAD_KERNELS chooses the kernels: avx512, avx2\n"
      "or portable (default: the widest vectors that the processor has); neon is the\n"
      "only one on arm64.\n\n"
      "TAPEGRAD_PRODUCTS chooses what multiplies matrices: blis (all of them),\n"
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

// Their groups.
constexpr std::string_view kUse = "Train and use", kInside = "Look inside", kLearn = "Learn", kTools = "Tools";

// The one list of them. The examples are a session: run one after another in a folder with a book.txt, all succeed.
constexpr Verb kVerbs[] = {
    {"train", "train a model; writes checkpoints and a report", add_kinds, kUse, "train copy",
     "train gpt --text book.txt --out out/book", kDistributed | kNoStatus},
    {"test", "test a trained model on new examples", add_kinds, kUse, "test copy --count 100",
     "test gpt --text book.txt"},
    {"generate", "continue a text with a trained model", add_kinds, kUse, "generate gpt --prompt \"Once upon a time\"",
     "generate gpt --prompt Once --temperature 0.8 --seed 7"},
    {"chat", "chat with a trained model at the terminal", add_computing<ChatRequest, chat>, kUse, "chat out/book",
     "chat out/book --temperature 0 --max-new-tokens 40", kNoStatus},
    {"new", "write a project that trains, saves and tests a model on your data", add_alone<NewRequest, new_project>,
     kUse, "new plants --from csv", "new poems --from text", kNoStatus},
    {"data", "make text datasets", add_data, kUse, "data sample --out records", "data sample --out records --json",
     kPlain, "source"},
    {"tokenize", "tokenize text, or train a new tokenizer", add_computing<TokenizeRequest, tokenize>, kUse,
     "tokenize --train bpe --text book.txt --out tokenizer", "tokenize --tokenizer tokenizer < book.txt > ids.txt"},
    {"attention", "plot a trained model's attention weights", add_attention, kInside, "attention copy",
     "attention gpt --prompt \"Once upon a time\""},
    {"explain", "explain a task's data, masks and loss, or every number of a training step", add_explanations, kInside,
     "explain copy", "explain step --model out/copy"},
    {"graph", "write the operations of a training step as a graph, for Graphviz", add_kinds, kInside,
     "graph copy --out step.dot", "graph gpt --model out/book --out gpt.dot"},
    {"certify", "check the gradients of a trained model at its size, and write a page of evidence",
     add_computing<CertifyRequest, certify>, kInside, "certify out/copy", "certify out/book --directions 1"},
    {"plot", "plot the curves of several runs in one chart", add_alone<PlotRequest, plot>, kInside,
     "plot out/copy out/book", "plot out/copy --log-loss --smooth 0.95"},
    {"compare", "train variants of a model, and tabulate accuracy, time and memory", add_compare, kInside,
     "compare positions --kinds none,sinusoidal,rope", "compare text --data records", kPlain, "topic"},
    {"tutorial", "read the tutorials section by section, in Korean or English, with numbers computed now", add_tutorial,
     kLearn, "tutorial 003 8.2.5 --lang en", "tutorial --find softmax", kOwnLanguage},
    {"exercise", "programming exercises about the tutorials, checked number by number", add_exercise, kLearn,
     "exercise 004-31", "exercise 004-31 --skeleton > mine.cpp", kOwnLanguage},
    {"show", "print the tutorials' tables and plot their figures", add_topics, kLearn, "show causal-mask",
     "show positional-encoding --out figures", kPlain, "topic"},
    {"gradcheck", "check every gradient against finite differences", add_gradcheck, kTools, "gradcheck --op softmax",
     "gradcheck --module LayerNorm"},
    {"info", "show processor, kernels and measured speed", add_info, kTools, "info", "info --self-test"},
    {"completion", "print a script that completes verbs, options and values in a shell", add_completion, kTools,
     "completion bash > tapegrad.bash", "completion zsh > _tapegrad", kNoStatus, "shell"},
    {"manual", "print this help as a man page: all verbs, tasks and options", add_manual, kTools, "manual > tapegrad.1",
     "manual | man -l -", kNoStatus},
    {"help", "show the help of a verb or task", [](CLI::App*, Parsed&) {}, kTools, "help train copy", "help show",
     kNoStatus},
};

}  // namespace

std::span<const Verb> verbs() { return kVerbs; }

void resolve_verb(std::vector<std::string>& words) {
  if (words.size() > 1 && words[0] == "show" && names_page_of_tutorial(words[1])) words[0] = "tutorial";
  if (words.empty() || words[0] != "new") return;
  for (std::size_t i = 1; i < words.size(); ++i)
    if (verb_named(words[i])) words[i].insert(0, "./");  // the name of a project, not of another verb
}

const Verb* verb_named(std::string_view name) {
  const auto* found = std::ranges::find(kVerbs, name, &Verb::name);
  return found == std::end(kVerbs) ? nullptr : found;
}

}  // namespace tapegrad::tasks
