// The verbs of the group Tools (info, completion, manual), `tokenize` and `new`. BadRequest and Error as in
// verbs.h.
#pragma once

#include <tapegrad/tasks/settings/settings.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}

namespace tapegrad::tasks {

struct InfoRequest {
  bool json = false;
  bool self_test = false;

  void list(Fields& fields);
};
// Prints the processor, the active kernels, and the speed of multiply-adds, matrix products and memory; returns 0.
// With `self_test`, prints the hashes of a fixed list of computations instead; returns 0 where all are the published
// ones, otherwise 1.
int info(const InfoRequest& request);

struct TokenizeRequest {
  std::string tokenizer;             // folder or tokenizer.json
  bool decode = false;               // ids to text
  std::optional<std::string> train;  // "bpe" or "char": make a tokenizer of the text
  int64_t vocab_size = 0;            // of "bpe"; 0: not given
  int64_t sample_bytes = 0;          // of --text that "bpe" is trained on; 0: all
  uint64_t seed = 0;                 // of the sample
  std::string out;                   // folder for the new tokenizer
  std::string text;                  // file; empty: standard input
  std::string save;                  // token file to write instead of printing ids
  std::string verify;                // token file to check

  void list(Fields& fields);
};
// Text to token ids and back, new tokenizers, and token files. Returns 0.
int tokenize(const TokenizeRequest& request);

struct NewRequest {
  std::string name;          // the folder of the project
  std::string kind = "csv";  // a folder of examples/projects

  void list(Fields& fields);
};
// Writes a project of a kind into a new folder, and prints how it is built. Returns 0. BadRequest for a name that is no
// target of CMake, and for a folder that exists; where writing fails, the folder is removed.
int new_project(const NewRequest& request);

/// The shells that completion_script knows: bash, zsh, fish.
const std::vector<std::string_view>& completion_shells();

/// The script that completes verbs, tasks, options and their values in a shell, of all subcommands of `top`. Error
/// unless it is one of completion_shells().
std::string completion_script(const CLI::App& top, std::string_view shell);

/// The page tapegrad(1) in the language of man: every verb and task of `top` with its options, their defaults and
/// descriptions.
std::string man_page(const CLI::App& top);

}  // namespace tapegrad::tasks
