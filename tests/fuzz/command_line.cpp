// The command line: words are the lines of the input. An option that does not exist follows them, so that nothing is
// run.
#include <tapegrad/command/verbs.h>
#include <tapegrad/tests/fuzz/fuzz.h>

#include <vector>

using namespace tapegrad::fuzz;

void fuzz(std::string_view input) {
  std::vector<std::string> words{"tapegrad"};
  std::string word;
  for (const char c : input) {
    if (c == '\n' || c == 0) {
      words.push_back(std::exchange(word, {}));
    } else {
      word += c;
    }
  }
  words.push_back(word);
  words.emplace_back("--no-such-option");
  std::vector<const char*> pointers;
  for (const std::string& each : words) pointers.push_back(each.c_str());
  const int code = tapegrad::tasks::command_main(static_cast<int>(pointers.size()), pointers.data());
  need(code == 0 || code == 2);  // 0: help
}
