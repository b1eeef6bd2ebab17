// Lists, prints and checks exercises.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <tapegrad/tapegrad.h>
#include <tapegrad/tasks/settings/bad_request.h>
#include <tapegrad/tasks/settings/output.h>
#include <tapegrad/tasks/settings/verb_options.h>
#include <tapegrad/train/drawing/tables.h>
#include <tapegrad/tutorials/exercises/check.h>
#include <tapegrad/tutorials/exercises/command.h>
#include <tapegrad/tutorials/exercises/compile.h>
#include <tapegrad/tutorials/exercises/exercises.h>
#include <tapegrad/tutorials/find.h>

#include <csignal>
#include <filesystem>

namespace tapegrad::tasks::exercises {

namespace fs = std::filesystem;
namespace {

constexpr int kMostSeconds = 60;  // of processor time for the reader's program

std::string lines_of(const Exercise& exercise, Language language) {
  return drawing::padded(std::string(exercise.id), 24) + std::string(exercise.title.in(language)) + '\n';
}

void list_exercises(Language language) {
  std::string text;
  for (const Exercise& exercise : all_exercises()) text += lines_of(exercise, language);
  const Text more{"\ntapegrad exercise 004-31은 문제를, --skeleton은 시작할 파일을 출력합니다.\n",
                  "\ntapegrad exercise 004-31 prints an exercise, --skeleton the file to begin with.\n"};
  print_text(drawing::wrapped(text) + std::string(more.in(language)));
}

void print_exercise(const Exercise& exercise, Language language) {
  const Text next{
      "시작: tapegrad exercise {0} --skeleton > mine.cpp\n채점: tapegrad exercise {0} mine.cpp\n"
      "막히면: tapegrad exercise {0} --hint, 그다음 --solution\n",
      "Begin: tapegrad exercise {0} --skeleton > mine.cpp\nCheck: tapegrad exercise {0} mine.cpp\n"
      "Stuck: tapegrad exercise {0} --hint, and --solution\n"};
  print_text(fmt::format("{}\n{}\n{}\n{}",
                         drawing::wrapped(fmt::format("=== {}  {} ===", exercise.id, exercise.title.in(language))),
                         drawing::wrapped(exercise.task.in(language)), exercise.skeleton,
                         fmt::format(fmt::runtime(next.in(language)), exercise.id)));
}

// The full name of the reader's file, which a line of the program includes.
std::string full_name(const std::string& file) {
  require(as_bad_request("exercise", [&] { return kind_of_file(file); }) == FileKind::file, "exercise",
          fmt::format("expected a C++ file, found none at {}", file));
  const std::string name = fs::absolute(file).string();
  require(name.find_first_of("\"\\\n") == std::string::npos, "exercise",
          fmt::format("expected a path without quotes and backslashes, got {}", name));
  return name;
}

// What is wrong with how the program ended; empty if nothing.
std::string fault_of(const Ended& ended, Language language) {
  if (ended.signal == SIGXCPU || ended.signal == SIGKILL) {
    const Text text{"프로그램이 {}초 안에 끝나지 않았습니다", "the program did not end within {} seconds"};
    return fmt::format(fmt::runtime(text.in(language)), kMostSeconds);
  }
  if (ended.signal != 0) {
    const Text text{"신호 {}이(가) 프로그램을 중단했습니다", "signal {} ended the program"};
    return fmt::format(fmt::runtime(text.in(language)), ended.signal);
  }
  if (ended.code == kThrew)
    return std::string(Text{"예외가 발생했습니다 (위의 메시지)", "it threw an exception (see above)"}.in(language));
  if (ended.code != 0) {
    const Text text{"프로그램이 종료 코드 {}로 끝났습니다", "the program ended with exit code {}"};
    return fmt::format(fmt::runtime(text.in(language)), ended.code);
  }
  return {};
}

int64_t numbers_in(const NamedTensors& tensors) {
  int64_t count = 0;
  for (const NamedTensor& one : tensors) count += one.tensor.numel();
  return count;
}

int check_file(const Exercise& exercise, const std::string& file, const std::string& compiler, Language language) {
  const std::string name = full_name(file);
  const WorkFolder folder;
  replace_file(folder / "check.cpp", program_of(exercise, name));
  save_safetensors(folder / "given.safetensors", exercise.numbers().given);
  compile(compiler, folder / "check.cpp", folder / "check");
  const std::string answers = folder / "answers.safetensors";
  const Ended ended = run_process("exercise", {folder / "check", folder / "given.safetensors", answers}, kMostSeconds);
  std::string fault = fault_of(ended, language);
  if (fault.empty()) fault = first_difference(exercise, load_safetensors(answers).tensors, language);
  if (!fault.empty()) {
    const Text wrong{"{}: 틀렸습니다. {}\n", "{}: wrong. {}\n"};
    print_mark(fmt::format(fmt::runtime(wrong.in(language)), exercise.id, fault), false);
    return 1;
  }
  const Text right{"{}: 맞았습니다. 수 {}개가 모두 일치합니다.\n", "{}: right. All {} numbers agree.\n"};
  print_mark(fmt::format(fmt::runtime(right.in(language)), exercise.id, numbers_in(exercise.numbers().expected)), true);
  return 0;
}

}  // namespace

void Request::list(Fields& f) {
  Options add(f);
  add("exercise-and-file",
      "an exercise, or the section or cell that it is about, and a C++ file to check: 004-31 mine.cpp, 8.2.5", words)
      .type("EXERCISE [FILE]")
      .positional();
  add("skeleton", "print the file to begin with", skeleton);
  add("hint", "print how to begin, and what to mind", hint);
  add("solution", "print a file that is right", solution);
  add("compiler", "program that compiles the file", compiler).type("PROGRAM");
  add("lang", "language of the text", language).choices(kLanguageCodes).otherwise("by the locale");
}

int run(const Request& request) {
  const Language language = language_named(request.language.value_or(""));
  std::vector<std::string> words = request.words;
  const auto digits = [](std::string_view word) { return word.find_first_not_of("0123456789") == word.npos; };
  if (words.size() > 1 && digits(words[0]) && (digits(words[1]) || tutorial::is_section(words[1]))) {  // 003 8.2.5
    words[0] += ' ' + words[1];
    words.erase(words.begin() + 1);
  }
  require(words.size() <= 2, "exercise",
          fmt::format("expected an exercise and a file, got {} words", request.words.size()));
  const std::string option = request.skeleton   ? "--skeleton"
                             : request.hint     ? "--hint"
                             : request.solution ? "--solution"
                                                : "";
  require(request.skeleton + request.hint + request.solution <= 1, option,
          "cannot be combined with --skeleton, --hint or --solution");
  if (words.empty()) {
    require(option.empty(), option, "expected an exercise, got none");
    list_exercises(language);
    return 0;
  }
  const std::vector<const Exercise*> found = find_exercises(words[0]);
  if (found.size() > 1) {
    std::string text;
    std::vector<std::string_view> ids;
    for (const Exercise* one : found) text += lines_of(*one, language), ids.push_back(one->id);
    require(option.empty() && words.size() == 1, "exercise",
            fmt::format("expected one exercise, got {} for \"{}\": {}", ids.size(), words[0], fmt::join(ids, ", ")));
    print_text(drawing::wrapped(text));
    return 0;
  }
  const Exercise& exercise = *found.front();
  require(option.empty() || words.size() == 1, option, "prints a text, and cannot be combined with a file to check");
  if (words.size() == 2) return check_file(exercise, words[1], request.compiler, language);
  if (request.skeleton || request.solution)
    print_now(request.skeleton ? exercise.skeleton : exercise.solution);
  else if (request.hint)
    print_text(drawing::wrapped(exercise.hint.in(language)));
  else
    print_exercise(exercise, language);
  return 0;
}

}  // namespace tapegrad::tasks::exercises
