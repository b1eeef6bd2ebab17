// The option --data of the examples that read a file.
#pragma once

#include <tapegrad/train.h>

#include <algorithm>
#include <string>
#include <string_view>

/// Takes `--data FILE` out of the arguments. Without it: the file `name` that comes with tapegrad.
inline std::string data_option(int& argc, char** argv, std::string_view name) {
  char** const end = argv + argc;
  char** const option = std::find(argv, end, std::string_view("--data"));
  if (end - option < 2) return tapegrad::data::shipped_file(name);
  const std::string file = option[1];
  std::copy(option + 2, end, option);
  argc -= 2;
  return file;
}
